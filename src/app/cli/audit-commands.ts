import { type Command, Option } from 'commander';
import type { Config } from '../../platform/config/config.ts';
import type { Terminal } from './terminal.ts';

/** `brokergraph audit …`; what it does is loaded when it is called. */
export function addAuditCommands(program: Command, config: () => Config, terminal: Terminal): void {
  const audit = program
    .command('audit')
    .description('What was changed and what was refused. Works beside a running service and without one.');
  audit
    .command('export')
    .description('Write all entries, the oldest first, one JSON object a line; the newest hash goes to standard error.')
    .option('--from <moment>', 'only what began from then on, as 2026-01-31T00:00:00Z')
    .option('--to <moment>', 'only what began before')
    .option('--output <file>', 'write to a file')
    .addOption(new Option('--json', 'lines always are JSON; taken for uniformity'))
    .action(async (options) => (await import('./audit.ts')).exportAudit(config(), terminal, options));
  audit
    .command('verify')
    .description('Look through all entries, and tell what is not as it was written. Ends with 1 when something is not.')
    .option('--expect <hash>', 'a hash that `export` or `verify` told earlier: it must be there still')
    .addOption(new Option('--json', 'answer as JSON'))
    .action(async (options) => (await import('./audit.ts')).verifyAudit(config(), terminal, options));
}
