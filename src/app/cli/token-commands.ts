import { type Command, InvalidArgumentError, Option } from 'commander';
import type { Config } from '../../platform/config/config.ts';
import type { Terminal } from './terminal.ts';
import type { CreateOptions, ListOptions, RotateOptions } from './tokens.ts';

/** A hundred years. Without `--days` a token is valid until it is revoked. */
const MAX_DAYS = 36_500;

/** Commands `brokergraph token …`. Their modules are loaded when they run. */
export function addTokenCommands(program: Command, config: () => Config, terminal: Terminal): void {
  const json = () => new Option('--json', 'print JSON');
  const token = program
    .command('token')
    .description('Project tokens: credentials for programs. Works with and without a running service.');
  token
    .command('create')
    .description('Create a token. Its secret is shown only once.')
    .requiredOption('--project <id>', 'id of the project')
    .requiredOption('--name <name>', 'purpose of the token')
    .addOption(
      new Option('--role <role>', 'role of the token: viewer, editor or admin')
        .default('viewer')
        .argParser(projectRole),
    )
    .option('--broker <id...>', 'brokers that the token may access (default: all)')
    .option('--days <number>', 'days until the token expires (default: it does not expire)', days)
    .addOption(json())
    .action(async (options: CreateOptions) => (await import('./tokens.ts')).createToken(config(), terminal, options));
  token
    .command('list')
    .description('List the tokens of a project, without secrets.')
    .requiredOption('--project <id>', 'id of the project')
    .addOption(json())
    .action(async (options: ListOptions) => (await import('./tokens.ts')).listTokens(config(), terminal, options));
  token
    .command('rotate <id>')
    .description(
      'Create a new secret of a token, which is shown only once. The previous secret stays valid for the overlap.',
    )
    .option(
      '--overlap <seconds>',
      'validity of the previous secret; 0 revokes it immediately (default: one hour)',
      seconds,
    )
    .addOption(json())
    .action(async (id: string, options: RotateOptions) =>
      (await import('./tokens.ts')).rotateToken(config(), terminal, id, options),
    );
  token
    .command('revoke <id>')
    .description('Revoke a token immediately.')
    .addOption(json())
    .action(async (id: string, options) => (await import('./tokens.ts')).revokeToken(config(), terminal, id, options));
}

/** Accepts the spelling of the graph and of the REST interface. */
function projectRole(text: string): string {
  if (/^(viewer|editor|admin)$/i.test(text)) return text.toLowerCase();
  throw new InvalidArgumentError('It must be viewer, editor or admin.');
}

function days(text: string): number {
  const number = Number(text);
  if (number > 0 && number <= MAX_DAYS) return number;
  throw new InvalidArgumentError(`It must be a number above 0, at most ${MAX_DAYS}.`);
}

function seconds(text: string): number {
  const number = Number(text);
  if (text !== '' && Number.isInteger(number)) return number;
  throw new InvalidArgumentError('It must be an integer number of seconds.');
}
