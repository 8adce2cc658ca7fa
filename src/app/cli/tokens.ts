import { type Command, InvalidArgumentError, Option } from 'commander';
import { runOnGraph } from './graph.ts';
import { type Cli, type JsonOption, print, type ToAction, table } from './terminal.ts';

/** A hundred years. Without `--days` a token is valid until it is revoked. */
const MAX_DAYS = 36_500;

export function addTokenCommands(program: Command, toAction: ToAction): void {
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
    .option('--json', 'print JSON')
    .action(toAction(createToken));
  token
    .command('list')
    .description('List the tokens of a project, without secrets.')
    .requiredOption('--project <id>', 'id of the project')
    .option('--json', 'print JSON')
    .action(toAction(listTokens));
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
    .option('--json', 'print JSON')
    .action(toAction(rotateToken));
  token
    .command('revoke <id>')
    .description('Revoke a token immediately.')
    .option('--json', 'print JSON')
    .action(toAction(revokeToken));
}

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

interface Token {
  readonly id: string;
  readonly name: string;
  readonly role: string;
  readonly type: string;
  readonly validUntil: string | null;
  readonly lastUsedAt: string | null;
  readonly brokerIds: readonly string[];
  readonly previousValidUntil?: string | null;
}

interface IssuedToken {
  readonly token: Token;
  readonly secret: string;
}

const FIELDS = 'id name role type issuer issuedAt validUntil lastUsedAt brokerIds';

interface CreateOptions extends JsonOption {
  readonly project: string;
  readonly name: string;
  readonly role: string;
  readonly broker?: readonly string[];
  readonly days?: number;
}

async function createToken(cli: Cli, options: CreateOptions): Promise<void> {
  const { project, name, role, broker, days: number } = options;
  const validUntil = number === undefined ? null : new Date(Date.now() + number * 86_400_000).toISOString();
  const { createToken: created } = await runOnGraph<{ createToken: IssuedToken }>(
    cli,
    `mutation ($input: CreateTokenInput!) { createToken(input: $input) { token { ${FIELDS} } secret } }`,
    { input: { projectId: project, name, role: role.toUpperCase(), brokerIds: broker, validUntil } },
    { projectId: '--project', name: '--name', brokerIds: '--broker', validUntil: '--days' },
  );
  const { token, secret } = created;
  print(cli, options, { ...token, secret }, `Created ${token.id}.\nSecret, shown only once: ${secret}\n`);
}

async function listTokens(cli: Cli, options: JsonOption & { readonly project: string }): Promise<void> {
  const query = `query ($id: ID!) { project(id: $id) { tokens { ${FIELDS} } } }`;
  const { project } = await runOnGraph<{ project: { tokens: Token[] } }>(cli, query, { id: options.project });
  const rows = project.tokens.map(({ id, name, role, type, brokerIds, validUntil, lastUsedAt }) => [
    id,
    name,
    role.toLowerCase(),
    type === 'RESTRICTED' ? brokerIds.join(' ') || 'none' : 'all',
    validUntil ?? 'until revoked',
    lastUsedAt ?? 'never',
  ]);
  const text = table([['ID', 'NAME', 'ROLE', 'BROKERS', 'VALID UNTIL', 'LAST USED'], ...rows]);
  print(cli, options, project.tokens, text);
}

async function revokeToken(cli: Cli, id: string, options: JsonOption): Promise<void> {
  await runOnGraph(cli, 'mutation ($id: ID!) { revokeToken(input: { tokenId: $id }) { revokedTokenId } }', { id });
  print(cli, options, { revoked: id }, `Revoked ${id}.\n`);
}

async function rotateToken(cli: Cli, id: string, options: JsonOption & { readonly overlap?: number }): Promise<void> {
  const { rotateToken: rotated } = await runOnGraph<{ rotateToken: IssuedToken }>(
    cli,
    `mutation ($input: RotateTokenInput!) { rotateToken(input: $input) { token { ${FIELDS} previousValidUntil } secret } }`,
    { input: { tokenId: id, overlapSeconds: options.overlap ?? null } },
    { tokenId: '<id>', overlapSeconds: '--overlap' },
  );
  const { token, secret } = rotated;
  const until = token.previousValidUntil;
  const state = until == null ? 'revoked' : `valid until ${until}`;
  const text = `New secret of ${id}, shown only once: ${secret}\nThe previous secret is ${state}.\n`;
  print(cli, options, { ...token, secret }, text);
}
