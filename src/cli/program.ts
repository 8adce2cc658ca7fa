import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { type Config, ConfigError, readConfig, SETTINGS } from '../config.ts';
import { ServiceError } from '../errors.ts';
import { VERSION } from '../version.ts';
import { addAccessCommands } from './access-commands.ts';
import { addAuditCommands } from './audit-commands.ts';
import { AnsweredNo, type Terminal } from './terminal.ts';

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
    if (error instanceof ServiceError) terminal.err(`error: ${error.message}\n`);
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

  const user = program
    .command('user')
    .description('People who may sign in. Works beside a running service and without one.');
  user
    .command('create <email>')
    .description('Add a person; without --password one is generated and shown once.')
    .option('--name <name>', 'name to show')
    .option('--password <password>', 'at least 8 characters')
    .option('--root', 'root administrator: may do everything')
    .addOption(json())
    .action(async (email, options) => (await import('./users.ts')).createUser(config(), terminal, email, options));
  user
    .command('list')
    .description('All people.')
    .addOption(json())
    .action(async (options) => (await import('./users.ts')).listUsers(config(), terminal, options));
  user
    .command('reset-password <email>')
    .description(
      'Set a new password and end the person’s sessions; without --password one is generated and shown once.',
    )
    .option('--password <password>', 'at least 8 characters')
    .addOption(json())
    .action(async (email, options) => (await import('./users.ts')).resetPassword(config(), terminal, email, options));
  user
    .command('reset-second-factor <email>')
    .description('For somebody who has lost it: the password alone signs in, and the person’s sessions end.')
    .addOption(json())
    .action(async (email, options) =>
      (await import('./users.ts')).resetSecondFactor(config(), terminal, email, options),
    );

  program
    .command('project')
    .description('Where brokers, members and tokens live.')
    .command('list')
    .description('All projects.')
    .addOption(json())
    .action(async (options) => (await import('./projects.ts')).listProjects(config(), terminal, options));

  const token = program.command('token').description('Credentials of projects for programs.');
  token
    .command('create')
    .description('Make a token; its secret is shown once.')
    .requiredOption('--project <id>', 'id of the project')
    .requiredOption('--name <name>', 'what it is for')
    .addOption(
      new Option('--role <role>', 'what it may do: viewer, editor or admin').default('viewer').argParser(projectRole),
    )
    .option('--broker <id...>', 'only these brokers')
    .option('--days <number>', 'ends after so many days; without it: when revoked')
    .addOption(json())
    .action(async (options) => (await import('./tokens.ts')).createToken(config(), terminal, options));
  token
    .command('list')
    .description('The tokens of a project, without secrets.')
    .requiredOption('--project <id>', 'id of the project')
    .addOption(json())
    .action(async (options) => (await import('./tokens.ts')).listTokens(config(), terminal, options));
  token
    .command('rotate <id>')
    .description('Give a token a new secret, shown once; the one before remains good for a while.')
    .option('--overlap <seconds>', 'how long; by default an hour, 0 ends it at once')
    .addOption(json())
    .action(async (id, options) => (await import('./tokens.ts')).rotateToken(config(), terminal, id, options));
  token
    .command('revoke <id>')
    .description('End a token at once.')
    .addOption(json())
    .action(async (id, options) => (await import('./tokens.ts')).revokeToken(config(), terminal, id, options));

  addAccessCommands(program, config, terminal);
  addAuditCommands(program, config, terminal);

  program
    .command('doctor <url>')
    .description('Connect to a broker as the service would, and tell what its configuration lacks.')
    .option('--username <name>', 'user to connect as')
    .option('--password-file <file>', 'file that holds the password')
    .option('--ca <file>', 'authority that signed the broker’s certificate, PEM')
    .option('--cert <file>', 'client certificate, PEM')
    .option('--key <file>', 'its key, PEM')
    .option('--insecure', 'accept any certificate of the broker')
    .addOption(json())
    .action(async (url, options) => (await import('./doctor.ts')).doctor(config(), terminal, url, options));

  return program;
}

/** Either spelling: the graph's and that of the REST interface. */
function projectRole(text: string): string {
  if (/^(viewer|editor|admin)$/i.test(text)) return text.toLowerCase();
  throw new InvalidArgumentError('It is viewer, editor or admin.');
}

function settingsHelp(): string {
  const rows = Object.values(SETTINGS).map(({ env, fallback, help, ...rest }) => {
    const shown = 'shownDefault' in rest && rest.shownDefault !== undefined ? rest.shownDefault : fallback;
    return `  ${env.padEnd(21)} ${help} (default: ${shown})`;
  });
  return `\nSettings (environment variables):\n${rows.join('\n')}\n`;
}
