import { type Command, InvalidArgumentError, Option } from 'commander';
import type { Config } from '../../platform/config/config.ts';
import type { Terminal } from './terminal.ts';
import type { CreateOptions, ListOptions, RotateOptions } from './tokens.ts';

/** Some hundred years; without it a token ends when it is revoked. */
const MAX_DAYS = 36_500;

/** `brokergraph token …`; what it does is loaded when it is called. */
export function addTokenCommands(program: Command, config: () => Config, terminal: Terminal): void {
  const json = () => new Option('--json', 'answer as JSON');
  const token = program
    .command('token')
    .description('Credentials of projects for programs. Works beside a running service and without one.');
  token
    .command('create')
    .description('Make a token; its secret is shown once.')
    .requiredOption('--project <id>', 'id of the project')
    .requiredOption('--name <name>', 'what it is for')
    .addOption(
      new Option('--role <role>', 'what it may do: viewer, editor or admin').default('viewer').argParser(projectRole),
    )
    .option('--broker <id...>', 'only these brokers')
    .option('--days <number>', 'ends after so many days; without it: when revoked', days)
    .addOption(json())
    .action(async (options: CreateOptions) => (await import('./tokens.ts')).createToken(config(), terminal, options));
  token
    .command('list')
    .description('The tokens of a project, without secrets.')
    .requiredOption('--project <id>', 'id of the project')
    .addOption(json())
    .action(async (options: ListOptions) => (await import('./tokens.ts')).listTokens(config(), terminal, options));
  token
    .command('rotate <id>')
    .description('Give a token a new secret, shown once; the one before remains good for a while.')
    .option('--overlap <seconds>', 'how long; by default an hour, 0 ends it at once', seconds)
    .addOption(json())
    .action(async (id: string, options: RotateOptions) =>
      (await import('./tokens.ts')).rotateToken(config(), terminal, id, options),
    );
  token
    .command('revoke <id>')
    .description('End a token at once.')
    .addOption(json())
    .action(async (id: string, options) => (await import('./tokens.ts')).revokeToken(config(), terminal, id, options));
}

/** Either spelling: the graph's and that of the REST interface. */
function projectRole(text: string): string {
  if (/^(viewer|editor|admin)$/i.test(text)) return text.toLowerCase();
  throw new InvalidArgumentError('It is viewer, editor or admin.');
}

function days(text: string): number {
  const number = Number(text);
  if (number > 0 && number <= MAX_DAYS) return number;
  throw new InvalidArgumentError(`It is a number above 0, at most ${MAX_DAYS}.`);
}

function seconds(text: string): number {
  const number = Number(text);
  if (text !== '' && Number.isInteger(number)) return number;
  throw new InvalidArgumentError('It is a whole number of seconds.');
}
