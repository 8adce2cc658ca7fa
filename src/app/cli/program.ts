import { Command, CommanderError, Option } from 'commander';
import { type Config, ConfigError, readConfig } from '../../platform/config/config.ts';
import { SETTINGS } from '../../platform/config/settings.ts';
import { ServiceError } from '../../platform/errors.ts';
import { VERSION } from '../../platform/version.ts';
import { addAccessCommands } from './access-commands.ts';
import { addAuditCommands } from './audit-commands.ts';
import { addSecretsCommands } from './secrets-commands.ts';
import { AnsweredNo, shown, type Terminal } from './terminal.ts';
import { addTokenCommands } from './token-commands.ts';
import { addUserCommands } from './user-commands.ts';

/** Runs one command; answers the exit code: 0 done, 1 refused, failed or answered with no, 2 a wrong command line or setting. */
export async function runCommand(args: readonly string[], terminal: Terminal): Promise<number> {
  try {
    await createProgram(terminal).parseAsync(args, { from: 'user' });
    return 0;
  } catch (error) {
    if (error instanceof AnsweredNo) return 1;
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    if (error instanceof ConfigError) {
      terminal.err(`${error.problems.map((problem) => `error: ${problem}`).join('\n')}\n`);
      return 2;
    }
    if (error instanceof ServiceError) terminal.err(`error: ${shown(error.message)}\n`);
    else terminal.err(`error: ${explain(error)}\n`);
    return 1;
  }
}

/** What people can act on in words, everything else whole: a bug is found by its stack. */
function explain(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { code, port } = error as NodeJS.ErrnoException & { port?: number };
  if (code === 'EADDRINUSE') return `port ${port} is taken by another program; set PORT (0 takes a free one)`;
  if (code === 'EACCES' && port !== undefined) return `this user may not listen on port ${port}; set PORT`;
  return error.stack ?? error.message;
}

function createProgram(terminal: Terminal): Command {
  const config = (): Config => readConfig(terminal.env);
  const json = () => new Option('--json', 'answer as JSON');
  const program = new Command('brokergraph')
    .description('An open management plane for fleets of MQTT brokers.')
    .version(VERSION)
    .exitOverride()
    .configureOutput({ writeOut: terminal.out, writeErr: terminal.err })
    .showHelpAfterError('(add --help for what is possible)');

  program
    .command('serve')
    .description('Start the service: GraphQL, REST, and the brokers it runs. Settings come from the environment.')
    .addHelpText('after', settingsHelp())
    .action(async () => (await import('./serve.ts')).serve(config(), terminal));

  program
    .command('migrate')
    .description('Bring the database to this version and end. `serve` does it, too.')
    .addOption(json())
    .action(async (options) => (await import('./migrate.ts')).migrate(config(), terminal, options));

  addUserCommands(program, config, terminal);

  program
    .command('project')
    .description('Where brokers, members and tokens live.')
    .command('list')
    .description('All projects.')
    .addOption(json())
    .action(async (options) => (await import('./projects.ts')).listProjects(config(), terminal, options));

  addTokenCommands(program, config, terminal);
  addAccessCommands(program, config, terminal);
  addAuditCommands(program, config, terminal);
  addSecretsCommands(program, config, terminal);

  program
    .command('doctor [url]')
    .description(
      'Connect to a broker as the service would, and tell what its configuration lacks; without a URL, try where people sign in, as the settings name it. Ends with 1 when something does not work.',
    )
    .option('--username <name>', 'user to connect as')
    .option('--password-file <file>', 'file that holds the password')
    .option('--ca <file>', 'authority that signed the broker’s certificate, PEM')
    .option('--cert <file>', 'client certificate, PEM')
    .option('--key <file>', 'its key, PEM')
    .option('--insecure', 'accept any certificate of the broker')
    .option('--login <login>', 'without a URL: somebody to look for in the directory')
    .addOption(json())
    .action(async (url: string | undefined, options) => {
      if (url === undefined) await (await import('./doctor-settings.ts')).examineSettings(config(), terminal, options);
      else await (await import('./doctor.ts')).doctor(config(), terminal, url, options);
    });

  return program;
}

function settingsHelp(): string {
  const rows = Object.values(SETTINGS).map(({ env, fallback, help, ...rest }) => {
    const shown = 'shownDefault' in rest && rest.shownDefault !== undefined ? rest.shownDefault : fallback;
    return `  ${env.padEnd(21)} ${help} (default: ${shown})`;
  });
  return `\nSettings (environment variables):\n${rows.join('\n')}\n`;
}
