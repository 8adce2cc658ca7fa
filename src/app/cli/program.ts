import { Command, CommanderError, Option } from 'commander';
import { BUILD, textOfBuild } from '../../platform/build.ts';
import { ConfigError, readConfig } from '../../platform/config/config.ts';
import { SETTINGS } from '../../platform/config/settings.ts';
import { ServiceError } from '../../platform/errors.ts';
import { diskFaultOf } from '../../platform/storage/folder/disk-faults.ts';
import { addAccessCommands } from './access.ts';
import { addAuditCommands } from './audit.ts';
import { addBackupCommands } from './backup.ts';
import { addMigrateCommand } from './migrate.ts';
import { addProjectCommands } from './projects.ts';
import { addSecretsCommands } from './secrets.ts';
import { NegativeResult, shown, type Terminal, type ToAction } from './terminal.ts';
import { addTokenCommands } from './tokens.ts';
import { addUserCommands } from './users.ts';
import { beginStart } from './v8-flags.ts';

/** Returns the exit code: 0 success, 1 error or negative result, 2 invalid command line or setting. */
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
    terminal.err(`error: ${error instanceof ServiceError ? shown(reasonOf(error)) : explain(error)}\n`);
    return 1;
  }
}

function explain(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { code, port, syscall } = error as NodeJS.ErrnoException & { port?: number };
  if (code === 'EADDRINUSE') return `port ${port} is in use by another program; set PORT (0 selects a free port)`;
  if (code === 'EACCES' && port !== undefined)
    return `this user may not listen on port ${port}; set PORT to another port`;
  return fileProblem(error) ?? (syscall === undefined ? error.stack : undefined) ?? error.message;
}

/** Codes of file systems that the user can do something about, besides those of `diskFaultOf`. */
const FILE_PROBLEMS: Readonly<Record<string, string>> = {
  EACCES: 'this user may not use it',
  EPERM: 'this user may not use it',
  ENOENT: 'it does not exist',
  ENOTDIR: 'a part of the path is no folder',
  EEXIST: 'a file with this name exists',
};

function fileProblem(error: NodeJS.ErrnoException): string | null {
  const problem = diskFaultOf(error) ?? FILE_PROBLEMS[error.code ?? ''];
  if (problem === undefined) return null;
  return error.path === undefined ? `cannot write: ${problem}` : `${shown(error.path)} cannot be used: ${problem}`;
}

/** Large modules are loaded by the commands that need them, so that the others start fast. */
export function createProgram(terminal: Terminal): Command {
  const toAction: ToAction =
    (run) =>
    (...args) =>
      run({ ...terminal, config: readConfig(terminal.env) }, ...args);
  const program = new Command('brokergraph')
    .description('An open management plane for fleets of MQTT brokers.')
    .version(textOfBuild(BUILD))
    .exitOverride()
    .configureOutput({ writeOut: terminal.out, writeErr: terminal.err })
    .showHelpAfterError('(use --help for usage)');

  program
    .command('serve')
    .description('Start the service: GraphQL, REST and its own brokers. Settings are environment variables.')
    .addOption(new Option('--role <role>', 'what this process does; overrides ROLE').choices(['all', 'api', 'worker']))
    .addHelpText('after', settingsHelp())
    .action(
      toAction(async (cli, { role }: { readonly role?: string }) => {
        const config = role === undefined ? cli.config : readConfig({ ...cli.env, ROLE: role });
        beginStart();
        await (await import('./serve.ts')).serve({ ...cli, config });
      }),
    );
  addMigrateCommand(program, toAction);
  addBackupCommands(program, toAction);
  addUserCommands(program, toAction);
  addProjectCommands(program, toAction);
  addTokenCommands(program, toAction);
  addAccessCommands(program, toAction);
  addAuditCommands(program, toAction);
  addSecretsCommands(program, toAction);
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
    .option('--json', 'print JSON')
    .action(
      toAction(async (cli, url: string | undefined, options: object) => {
        const { doctor, examineSettings } = await import('./doctor.ts');
        await (url === undefined ? examineSettings(cli, options) : doctor(cli, url, options));
      }),
    );
  return program;
}

function settingsHelp(): string {
  const rows = Object.values(SETTINGS).map(({ env, fallback, help, ...rest }) => {
    const shown = 'shownDefault' in rest && rest.shownDefault !== undefined ? rest.shownDefault : fallback;
    return `  ${env.padEnd(21)} ${help} (default: ${shown})`;
  });
  return `\nSettings (environment variables; a secret may be in a file: SECRET_KEY_FILE):\n${rows.join('\n')}\n`;
}

/** Operators also learn why a broker cannot be reached. */
const reasonOf = ({ code, message, cause }: ServiceError): string =>
  code === 'BROKER_UNREACHABLE' && typeof cause === 'string' ? cause : message;
