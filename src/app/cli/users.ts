import { type Command, InvalidArgumentError, Option } from 'commander';
import { notFound } from '../../platform/errors.ts';
import { type ArgumentNames, isServiceRunning, listOnGraph, runOnGraph } from './graph.ts';
import { type Cli, type JsonOption, print, type ToAction, table } from './terminal.ts';

export function addUserCommands(program: Command, toAction: ToAction): void {
  // The password is no argument, because all users of a machine can read arguments.
  const askPassword = () =>
    new Option(
      '--ask-password',
      'prompt for the password, or read the first line of standard input if it is not a terminal; at least 8 characters',
    );
  const user = program.command('user').description('Users who may sign in. Works with and without a running service.');
  user
    .command('create <email>')
    .description('Create a user. Without --ask-password, a password is generated and shown only once.')
    .option('--name <name>', 'display name (default: first and last name, or the address up to the @)')
    .option('--first-name <name>', 'first part of the default name')
    .option('--last-name <name>', 'last part of the default name')
    .option('--root', 'root administrator, with all permissions')
    .option('--verified', 'the address is known to belong to the user')
    .option(
      '--sso-type <type>',
      'identity provider of the user, who has no password here: sso (OpenID provider) or ldap',
      provider,
    )
    .addOption(askPassword().conflicts('ssoType'))
    .option('--json', 'print JSON')
    .action(toAction(createUser));
  user.command('list').description('List all users.').option('--json', 'print JSON').action(toAction(listUsers));
  user
    .command('show <email>')
    .description('Show a user with the open sessions.')
    .option('--json', 'print JSON')
    .action(toAction(showUser));
  user
    .command('delete <email>')
    .description('Delete a user and the sessions. The last root administrator who can sign in is not deleted.')
    .option('--hand-over-to <email>', 'new owner of the projects and of organizations without another owner')
    .option('--json', 'print JSON')
    .action(toAction(deleteUser));
  user
    .command('reset-password <email>')
    .description(
      'Set a new password and close the user’s sessions. Without --ask-password, a password is generated and shown only once.',
    )
    .addOption(askPassword())
    .option('--json', 'print JSON')
    .action(toAction(resetPassword));
  user
    .command('reset-second-factor <email>')
    .description(
      'Remove a lost second factor, so that the password alone is sufficient, and close the user’s sessions.',
    )
    .option('--json', 'print JSON')
    .action(toAction(resetSecondFactor));
  user
    .command('unlock <email>')
    .description('Reset the waiting times of a user after failed log-ins, in the running service.')
    .option('--json', 'print JSON')
    .action(toAction(unlockUser));
}

function provider(text: string): string {
  if (/^(sso|ldap)$/i.test(text)) return text.toUpperCase();
  throw new InvalidArgumentError('It must be sso or ldap.');
}

interface User {
  readonly id: string;
  readonly email: string;
  readonly name: string;
  readonly isRootAdmin: boolean;
  readonly isVerified: boolean;
  readonly ssoType: 'SSO' | 'LDAP' | null;
  readonly createdAt: string;
}

const FIELDS = 'id email name isRootAdmin isVerified ssoType createdAt';

const NAMES: ArgumentNames = {
  email: '<email>',
  name: '--name',
  password: 'the password',
  handOverTo: '--hand-over-to',
};

interface PasswordOptions extends JsonOption {
  readonly askPassword?: boolean;
}

interface CreateOptions extends PasswordOptions {
  readonly name?: string;
  readonly firstName?: string;
  readonly lastName?: string;
  readonly root?: boolean;
  readonly verified?: boolean;
  readonly ssoType?: 'SSO' | 'LDAP';
}

async function createUser(cli: Cli, email: string, options: CreateOptions): Promise<void> {
  const { root = false, verified = false, askPassword, json, ...person } = options;
  const isExternal = person.ssoType !== undefined && !askPassword;
  const { password, generated } = isExternal ? {} : await newPassword(cli, email, options);
  const { createUser: created } = await runOnGraph<{ createUser: { user: User } }>(
    cli,
    `mutation ($input: CreateUserInput!) { createUser(input: $input) { user { ${FIELDS} } } }`,
    { input: { email, password, isRootAdmin: root, isVerified: verified, ...person } },
    NAMES,
  );
  const { user } = created;
  const text = `Created ${user.email} (${user.id}).\n`;
  const more = generated ? `Password, shown only once: ${generated}\n` : '';
  print(cli, options, { ...user, ...(generated && { password: generated }) }, `${text}${more}`);
}

interface NewPassword {
  readonly password?: string;
  readonly generated?: string;
}

async function newPassword({ readInput }: Cli, email: string, { askPassword }: PasswordOptions): Promise<NewPassword> {
  if (askPassword) return { password: (await readInput(`Password for ${email}`)).split(/\r?\n/, 1)[0] ?? '' };
  const { generatePassword } = await import('../../platform/auth/passwords.ts');
  const generated = generatePassword();
  return { password: generated, generated };
}

/** Users whose address or name contains the text; all users if it is null. */
const usersWith = (cli: Cli, text: string | null): Promise<User[]> =>
  listOnGraph(
    cli,
    `query ($after: String, $filter: UserFilter) {
      users(first: 1000, after: $after, filter: $filter) { nodes { ${FIELDS} } pageInfo { hasNextPage endCursor } }
    }`,
    { filter: { text } },
  );

async function userOf(cli: Cli, email: string): Promise<User> {
  const address = email.trim().toLowerCase();
  const user = (await usersWith(cli, address)).find((one) => one.email === address);
  if (user === undefined) throw notFound('user', email.trim());
  return user;
}

async function listUsers(cli: Cli, options: JsonOption): Promise<void> {
  const users = await usersWith(cli, null);
  const rows = users.map((user) => [user.id, user.email, user.name, remarksOf(user).join(', ')]);
  print(cli, options, users, table([['ID', 'E-MAIL', 'NAME', ''], ...rows]));
}

const remarksOf = ({ isRootAdmin, ssoType }: User): string[] => [
  ...(isRootAdmin ? ['root administrator'] : []),
  ...(ssoType === null ? [] : [`signs in by ${ssoType.toLowerCase()}`]),
];

interface Shown extends User {
  readonly hasSecondFactor: boolean | null;
  readonly isRemovable: boolean;
  readonly projectCount: number;
  readonly brokerCount: number;
}

interface Session {
  readonly createdAt: string;
  readonly lastUsedAt: string;
  readonly provider: string | null;
  readonly address: string | null;
}

const SHOW = `query ($id: ID!) {
  user(id: $id) { ${FIELDS} hasSecondFactor isRemovable projectCount brokerCount }
  userSessions(userId: $id) { createdAt lastUsedAt provider address }
}`;

async function showUser(cli: Cli, email: string, options: JsonOption): Promise<void> {
  const { id } = await userOf(cli, email);
  const found = await runOnGraph<{ user: Shown | null; userSessions: Session[] }>(cli, SHOW, { id });
  const { user, userSessions: sessions } = found;
  if (user === null) throw notFound('user', email.trim());
  print(cli, options, { ...user, sessions }, textOf(user, sessions));
}

function textOf(user: Shown, sessions: readonly Session[]): string {
  const yes = (value: boolean | null) => (value ? 'yes' : 'no');
  const isLast = user.isRootAdmin && !user.isRemovable;
  return table([
    ['Id', user.id],
    ['E-mail', `${user.email}${user.isVerified ? ' (verified)' : ''}`],
    ['Name', user.name],
    ['Since', user.createdAt],
    ['Root administrator', isLast ? 'the last one who can sign in' : yes(user.isRootAdmin)],
    ['Signs in', user.ssoType === null ? 'with a password' : `by ${user.ssoType.toLowerCase()}`],
    ['Second factor', yes(user.hasSecondFactor)],
    ['Owns', `${user.projectCount} projects with ${user.brokerCount} brokers`],
    ...sessions.map((session, i) => [i === 0 ? 'Sessions' : '', sessionText(session)]),
  ]);
}

const sessionText = ({ lastUsedAt, address, provider }: Session): string =>
  `used ${lastUsedAt}${address ? ` from ${address}` : ''}${provider ? ` by ${provider}` : ''}`;

/** Errors: NOT_FOUND, LAST_ADMINISTRATOR, IN_USE (the user is an owner, and `handOverTo` is missing). */
async function deleteUser(cli: Cli, email: string, options: JsonOption & { handOverTo?: string }): Promise<void> {
  const user = await userOf(cli, email);
  const newOwner = options.handOverTo === undefined ? null : await userOf(cli, options.handOverTo);
  const { deleteUser: done } = await runOnGraph<{ deleteUser: { handedOverProjectIds: readonly string[] } }>(
    cli,
    'mutation ($input: DeleteUserInput!) { deleteUser(input: $input) { handedOverProjectIds } }',
    { input: { userId: user.id, handOverTo: newOwner?.id ?? null } },
    NAMES,
  );
  const { length } = done.handedOverProjectIds;
  const projects = length === 1 ? 'the project' : `${length} projects`;
  const handedOver = length === 0 ? '' : ` ${newOwner?.email} now owns ${projects}.`;
  print(cli, options, { id: user.id, email: user.email, ...done }, `Deleted ${user.email}.${handedOver}\n`);
}

async function resetPassword(cli: Cli, email: string, options: PasswordOptions): Promise<void> {
  const { password, generated } = await newPassword(cli, email, options);
  const mutation = 'mutation ($input: ResetUserPasswordInput!) { resetUserPassword(input: $input) { user { id } } }';
  await runOnGraph(cli, mutation, { input: { email, password } }, NAMES);
  const text = generated
    ? `New password of ${email}, shown only once: ${generated}\n`
    : `The password of ${email} is set, and the sessions are closed.\n`;
  print(cli, options, { email, ...(generated && { password: generated }) }, text);
}

async function resetSecondFactor(cli: Cli, address: string, options: JsonOption): Promise<void> {
  const { id, email } = await userOf(cli, address);
  await runOnGraph(cli, 'mutation ($id: ID!) { resetSecondFactor(input: { userId: $id }) { user { id } } }', { id });
  const text = `${email} can sign in with the password alone, and the sessions are closed.\n`;
  print(cli, options, { email }, text);
}

/** Waiting times are in the memory of service processes, which may also run elsewhere on the same PostgreSQL. */
async function unlockUser(cli: Cli, address: string, options: JsonOption): Promise<void> {
  const { id, email } = await userOf(cli, address);
  const { databaseUrl, dataDir } = cli.config;
  const unlocked = databaseUrl !== undefined || (await isServiceRunning(cli.config));
  const mutation = 'mutation ($id: ID!) { unlockUser(input: { userId: $id }) { user { id } } }';
  if (unlocked) await runOnGraph(cli, mutation, { id });
  const text = unlocked
    ? `${email} can sign in without waiting.\n`
    : `No service runs on ${dataDir}: waiting times are in its memory, so there is nothing to unlock.\n`;
  print(cli, options, { email, unlocked }, text);
}
