import { type Command, Option } from 'commander';
import type { Config } from '../../platform/config/config.ts';
import type { Terminal } from './terminal.ts';

/** Commands `brokergraph audit …`. Their modules are loaded when they run. */
export function addAuditCommands(program: Command, config: () => Config, terminal: Terminal): void {
  const audit = program
    .command('audit')
    .description('Log of changes and refused requests. Works with and without a running service.');
  audit
    .command('export')
    .description('Write all entries as JSON lines, the oldest first, and the newest hash to standard error.')
    .option('--from <time>', 'only entries from this time, for example 2026-01-31T00:00:00Z')
    .option('--to <time>', 'only entries before this time')
    .option('--output <file>', 'write to a file')
    .addOption(new Option('--json', 'no effect: lines always are JSON'))
    .action(async (options) => (await import('./audit.ts')).exportAudit(config(), terminal, options));
  audit
    .command('verify')
    .description('Verify all entries and list changed or missing ones. Exits with code 1 if there are any.')
    .option('--expect <hash>', 'a hash that `export` or `verify` printed earlier; it must still exist')
    .addOption(new Option('--json', 'print JSON'))
    .action(async (options) => (await import('./audit.ts')).verifyAudit(config(), terminal, options));
}
