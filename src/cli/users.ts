import { generatePassword } from '../auth/passwords.ts';
import type { Config } from '../config.ts';
import { notFound } from '../errors.ts';
import { runOnGraph } from './graph.ts';
import { type Terminal, table } from './terminal.ts';

interface User {
  readonly id: string;
  readonly email: string;
  readonly name: string;
  readonly isRootAdmin: boolean;
  readonly createdAt: string;
}

const FIELDS = 'id email name isRootAdmin createdAt';

interface CreateOptions {
  readonly name?: string;
  readonly password?: string;
  readonly root?: boolean;
  readonly json?: boolean;
}

export async function createUser(
  config: Config,
  { out }: Terminal,
  email: string,
  options: CreateOptions,
): Promise<void> {
  const password = options.password ?? generatePassword();
  const { createUser: payload } = await runOnGraph<{ createUser: { user: User } }>(
    config,
    `mutation ($input: CreateUserInput!) { createUser(input: $input) { user { ${FIELDS} } } }`,
    { input: { email, name: options.name, password, isRootAdmin: options.root ?? false } },
  );
  const shown = options.password === undefined ? { password } : {};
  if (options.json) out(`${JSON.stringify({ ...payload.user, ...shown })}\n`);
  else {
    out(`Created ${payload.user.email} (${payload.user.id}).\n`);
    if (options.password === undefined) out(`Password, shown this once: ${password}\n`);
  }
}

async function allUsers(config: Config): Promise<User[]> {
  const users: User[] = [];
  for (let after: string | null = null, more = true; more; ) {
    const { users: page }: { users: { nodes: User[]; pageInfo: { hasNextPage: boolean; endCursor: string | null } } } =
      await runOnGraph(
        config,
        `query ($after: String) { users(first: 100, after: $after) { nodes { ${FIELDS} } pageInfo { hasNextPage endCursor } } }`,
        {
          after,
        },
      );
    users.push(...page.nodes);
    after = page.pageInfo.endCursor;
    more = page.pageInfo.hasNextPage;
  }
  return users;
}

export async function listUsers(config: Config, { out }: Terminal, { json }: { json?: boolean }): Promise<void> {
  const users = await allUsers(config);
  if (json) out(`${JSON.stringify(users)}\n`);
  else {
    const rows = users.map(({ id, email, name, isRootAdmin }) => [
      id,
      email,
      name,
      isRootAdmin ? 'root administrator' : '',
    ]);
    out(table([['ID', 'E-MAIL', 'NAME', ''], ...rows]));
  }
}

interface ResetOptions {
  readonly password?: string;
  readonly json?: boolean;
}

export async function resetPassword(
  config: Config,
  { out }: Terminal,
  email: string,
  options: ResetOptions,
): Promise<void> {
  const password = options.password ?? generatePassword();
  await runOnGraph(
    config,
    'mutation ($input: ResetUserPasswordInput!) { resetUserPassword(input: $input) { user { id } } }',
    { input: { email, password } },
  );
  if (options.json) out(`${JSON.stringify({ email, ...(options.password === undefined ? { password } : {}) })}\n`);
  else if (options.password === undefined) out(`New password of ${email}, shown this once: ${password}\n`);
  else out(`The password of ${email} is set, and the sessions are ended.\n`);
}

export async function resetSecondFactor(
  config: Config,
  { out }: Terminal,
  email: string,
  { json }: { json?: boolean },
): Promise<void> {
  const address = email.trim().toLowerCase();
  const user = (await allUsers(config)).find((one) => one.email === address);
  if (user === undefined) throw notFound('user', email.trim());
  await runOnGraph(config, 'mutation ($id: ID!) { resetSecondFactor(input: { userId: $id }) { user { id } } }', {
    id: user.id,
  });
  out(
    json
      ? `${JSON.stringify({ email: user.email })}\n`
      : `${user.email} signs in with the password alone now, and the sessions are ended.\n`,
  );
}
