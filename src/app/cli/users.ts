import { generatePassword } from '../../platform/auth/passwords.ts';
import type { Config } from '../../platform/config/config.ts';
import { notFound } from '../../platform/errors.ts';
import { type ArgumentNames, isServiceRunning, runOnGraph } from './graph.ts';
import { type Terminal, table } from './terminal.ts';

interface User {
  readonly id: string;
  readonly email: string;
  readonly name: string;
  readonly isRootAdmin: boolean;
  readonly verified: boolean;
  readonly ssoType: 'SSO' | 'LDAP' | null;
  readonly createdAt: string;
}

const FIELDS = 'id email name isRootAdmin verified ssoType createdAt';

const NAMES: ArgumentNames = {
  email: '<email>',
  name: '--name',
  password: 'the password',
  handOverTo: '--hand-over-to',
};

export interface CreateOptions {
  readonly name?: string;
  readonly firstName?: string;
  readonly lastName?: string;
  readonly root?: boolean;
  readonly verified?: boolean;
  readonly ssoType?: 'SSO' | 'LDAP';
  readonly askPassword?: boolean;
  readonly json?: boolean;
}

/** Errors: INVALID, ALREADY_EXISTS. */
export async function createUser(
  config: Config,
  terminal: Terminal,
  email: string,
  { root, verified, askPassword, json, ...person }: CreateOptions,
): Promise<void> {
  const generated = askPassword || person.ssoType !== undefined ? undefined : generatePassword();
  const password = askPassword ? await passwordFrom(terminal, email) : generated;
  const { createUser: payload } = await runOnGraph<{ createUser: { user: User } }>(
    config,
    `mutation ($input: CreateUserInput!) { createUser(input: $input) { user { ${FIELDS} } } }`,
    { input: { email, password, isRootAdmin: root ?? false, verified: verified ?? false, ...person } },
    NAMES,
  );
  const { user } = payload;
  if (json) terminal.out(`${JSON.stringify({ ...user, ...(generated && { password: generated }) })}\n`);
  else {
    terminal.out(`Created ${user.email} (${user.id}).\n`);
    if (generated) terminal.out(`Password, shown only once: ${generated}\n`);
  }
}

const LIST = `query ($after: String, $filter: UserFilter) {
  users(first: 1000, after: $after, filter: $filter) { nodes { ${FIELDS} } pageInfo { hasNextPage endCursor } }
}`;

interface Page {
  readonly users: {
    readonly nodes: readonly User[];
    readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null };
  };
}

/** Users whose address or name contains the text; all users if it is null. */
async function usersWith(config: Config, text: string | null): Promise<User[]> {
  const users: User[] = [];
  for (let after: string | null = null, more = true; more; ) {
    const { users: page }: Page = await runOnGraph(config, LIST, { after, filter: { text } });
    users.push(...page.nodes);
    after = page.pageInfo.endCursor;
    more = page.pageInfo.hasNextPage;
  }
  return users;
}

/** Errors: NOT_FOUND. */
async function userOf(config: Config, email: string): Promise<User> {
  const address = email.trim().toLowerCase();
  const user = (await usersWith(config, address)).find((one) => one.email === address);
  if (user === undefined) throw notFound('user', email.trim());
  return user;
}

export async function listUsers(config: Config, { out }: Terminal, { json }: { json?: boolean }): Promise<void> {
  const users = await usersWith(config, null);
  if (json) out(`${JSON.stringify(users)}\n`);
  else {
    const rows = users.map((user) => [user.id, user.email, user.name, remarksOf(user).join(', ')]);
    out(table([['ID', 'E-MAIL', 'NAME', ''], ...rows]));
  }
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
  readonly sessions: readonly {
    readonly createdAt: string;
    readonly lastUsedAt: string;
    readonly provider: string | null;
    readonly address: string | null;
  }[];
}

const SHOW = `query ($id: ID!) {
  user(id: $id) { ${FIELDS} hasSecondFactor isRemovable projectCount brokerCount }
  userSessions(userId: $id) { createdAt lastUsedAt provider address }
}`;

/** Errors: NOT_FOUND. */
export async function showUser(
  config: Config,
  { out }: Terminal,
  email: string,
  { json }: { json?: boolean },
): Promise<void> {
  const { id } = await userOf(config, email);
  const { user, userSessions: sessions } = await runOnGraph<{
    user: Omit<Shown, 'sessions'> | null;
    userSessions: Shown['sessions'];
  }>(config, SHOW, { id });
  if (user === null) throw notFound('user', email.trim());
  out(json ? `${JSON.stringify({ ...user, sessions })}\n` : textOf({ ...user, sessions }));
}

function textOf(user: Shown): string {
  const yes = (value: boolean | null) => (value ? 'yes' : 'no');
  return table([
    ['Id', user.id],
    ['E-mail', `${user.email}${user.verified ? ' (verified)' : ''}`],
    ['Name', user.name],
    ['Since', user.createdAt],
    [
      'Root administrator',
      user.isRootAdmin && !user.isRemovable ? 'the last one who can sign in' : yes(user.isRootAdmin),
    ],
    ['Signs in', user.ssoType === null ? 'with a password' : `by ${user.ssoType.toLowerCase()}`],
    ['Second factor', yes(user.hasSecondFactor)],
    ['Owns', `${user.projectCount} projects with ${user.brokerCount} brokers`],
    ...user.sessions.map(({ lastUsedAt, address, provider }, i) => [
      i === 0 ? 'Sessions' : '',
      [`used ${lastUsedAt}`, ...(address ? [`from ${address}`] : []), ...(provider ? [`by ${provider}`] : [])].join(
        ' ',
      ),
    ]),
  ]);
}

export interface DeleteOptions {
  readonly handOverTo?: string;
  readonly json?: boolean;
}

/**
 * Errors: NOT_FOUND, LAST_ADMINISTRATOR, IN_USE (the user owns projects or organisations, and `handOverTo` is missing).
 */
export async function deleteUser(
  config: Config,
  { out }: Terminal,
  email: string,
  { handOverTo, json }: DeleteOptions,
): Promise<void> {
  const user = await userOf(config, email);
  const newOwner = handOverTo === undefined ? null : await userOf(config, handOverTo);
  const { deleteUser: done } = await runOnGraph<{ deleteUser: { handedOverProjectIds: readonly string[] } }>(
    config,
    'mutation ($input: DeleteUserInput!) { deleteUser(input: $input) { handedOverProjectIds } }',
    { input: { userId: user.id, handOverTo: newOwner?.id ?? null } },
    NAMES,
  );
  const { length } = done.handedOverProjectIds;
  if (json) out(`${JSON.stringify({ id: user.id, email: user.email, ...done })}\n`);
  else if (length === 0) out(`Deleted ${user.email}.\n`);
  else {
    const projects = length === 1 ? 'the project' : `${length} projects`;
    out(`Deleted ${user.email}. ${newOwner?.email} now owns ${projects}.\n`);
  }
}

export interface ResetOptions {
  readonly askPassword?: boolean;
  readonly json?: boolean;
}

/** Errors: NOT_FOUND, INVALID. */
export async function resetPassword(
  config: Config,
  terminal: Terminal,
  email: string,
  { askPassword, json }: ResetOptions,
): Promise<void> {
  const generated = askPassword ? undefined : generatePassword();
  const password = generated ?? (await passwordFrom(terminal, email));
  await runOnGraph(
    config,
    'mutation ($input: ResetUserPasswordInput!) { resetUserPassword(input: $input) { user { id } } }',
    { input: { email, password } },
    NAMES,
  );
  if (json) terminal.out(`${JSON.stringify({ email, ...(generated && { password: generated }) })}\n`);
  else if (generated) terminal.out(`New password of ${email}, shown only once: ${generated}\n`);
  else terminal.out(`The password of ${email} is set, and the sessions are closed.\n`);
}

/** Errors: NOT_FOUND. */
export async function resetSecondFactor(
  config: Config,
  { out }: Terminal,
  email: string,
  { json }: { json?: boolean },
): Promise<void> {
  const user = await userOf(config, email);
  await runOnGraph(config, 'mutation ($id: ID!) { resetSecondFactor(input: { userId: $id }) { user { id } } }', {
    id: user.id,
  });
  out(
    json
      ? `${JSON.stringify({ email: user.email })}\n`
      : `${user.email} can sign in with the password alone, and the sessions are closed.\n`,
  );
}

/**
 * Resets the waiting times of a user after failed log-ins. They are in the memory of service processes, so nothing is
 * done unless one runs on the data folder, or others may run on the same PostgreSQL. Errors: NOT_FOUND.
 */
export async function unlockUser(
  config: Config,
  { out }: Terminal,
  email: string,
  { json }: { json?: boolean },
): Promise<void> {
  const user = await userOf(config, email);
  const unlocked = config.databaseUrl !== undefined || (await isServiceRunning(config));
  if (unlocked) {
    await runOnGraph(config, 'mutation ($id: ID!) { unlockUser(input: { userId: $id }) { user { id } } }', {
      id: user.id,
    });
  }
  if (json) out(`${JSON.stringify({ email: user.email, unlocked })}\n`);
  else if (unlocked) out(`${user.email} can sign in without waiting.\n`);
  else out(`No service runs on ${config.dataDir}: waiting times are in its memory, so there is nothing to unlock.\n`);
}

/** Returns the first line of the input without its line break. */
const passwordFrom = async ({ readInput }: Terminal, email: string): Promise<string> =>
  (await readInput(`Password for ${email}`)).split(/\r?\n/, 1)[0] ?? '';
