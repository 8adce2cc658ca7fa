import { Command, CommanderError, Option } from 'commander';
import { type Config, ConfigError, readConfig } from '../../platform/config/config.ts';
import { SETTINGS } from '../../platform/config/settings.ts';
import { ServiceError } from '../../platform/errors.ts';
import { VERSION } from '../../platform/version.ts';
import { addAccessCommands } from './access-commands.ts';
import { addAuditCommands } from './audit-commands.ts';
import { addSecretsCommands } from './secrets-commands.ts';
import { NegativeResult, shown, type Terminal } from './terminal.ts';
import { addTokenCommands } from './token-commands.ts';
import { addUserCommands } from './user-commands.ts';

/**
 * Runs one command. Returns the exit code: 0 success, 1 error or negative result, 2 invalid command line or setting.
 */
export async function runCommand(args: readonly string[], terminal: Terminal): Promise<number> {
  try {
    await createProgram(terminal).parseAsync(args, { from: 'user' });
    return 0;
  } catch (error) {
    if (error instanceof NegativeResult) return 1;
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

/** Describes errors that users can fix. Other errors are printed with their stack. */
function explain(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { code, port } = error as NodeJS.ErrnoException & { port?: number };
  if (code === 'EADDRINUSE') return `port ${port} is in use by another program; set PORT (0 selects a free port)`;
  if (code === 'EACCES' && port !== undefined)
    return `this user may not listen on port ${port}; set PORT to another port`;
  return error.stack ?? error.message;
}

function createProgram(terminal: Terminal): Command {
  const config = (): Config => readConfig(terminal.env);
  const json = () => new Option('--json', 'print JSON');
  const program = new Command('brokergraph')
    .description('An open management plane for fleets of MQTT brokers.')
    .version(VERSION)
    .exitOverride()
    .configureOutput({ writeOut: terminal.out, writeErr: terminal.err })
    .showHelpAfterError('(use --help for usage)');

  program
    .command('serve')
    .description('Start the service: GraphQL, REST and its own brokers. Settings are environment variables.')
    .addHelpText('after', settingsHelp())
    .action(async () => (await import('./serve.ts')).serve(config(), terminal));

  program
    .command('migrate')
    .description('Migrate the database to this version and exit. `serve` does it as well.')
    .addOption(json())
    .action(async (options) => (await import('./migrate.ts')).migrate(config(), terminal, options));

  addUserCommands(program, config, terminal);

  program
    .command('project')
    .description('Projects, which contain brokers, members and tokens.')
    .command('list')
    .description('List all projects.')
    .addOption(json())
    .action(async (options) => (await import('./projects.ts')).listProjects(config(), terminal, options));

  addTokenCommands(program, config, terminal);
  addAccessCommands(program, config, terminal);
  addAuditCommands(program, config, terminal);
  addSecretsCommands(program, config, terminal);

  program
    .command('doctor [url]')
    .description(
      'Connect to a broker like the service and print what its configuration lacks. Without a URL, test the sign-in providers of the settings. Exits with code 1 if a test fails.',
    )
    .option('--username <name>', 'user name for the connection')
    .option('--password-file <file>', 'file with the password')
    .option('--ca <file>', 'certificate authority of the broker’s certificate, PEM')
    .option('--cert <file>', 'client certificate, PEM')
    .option('--key <file>', 'private key of the client certificate, PEM')
    .option('--insecure', 'accept any certificate of the broker')
    .option('--login <login>', 'without a URL: user to search for in the LDAP directory')
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
