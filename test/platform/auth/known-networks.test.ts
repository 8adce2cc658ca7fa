import { expect, test } from 'vitest';
import { runCommand } from '../../../src/app/cli/program.ts';
import { KnownNetworks } from '../../../src/platform/auth/known-networks.ts';
import { PASSWORD, startTestService, type TestService } from '../../support/service.ts';

const LOGIN = 'mutation ($i: LoginInput!) { login(input: $i) { token } }';
const CHANGE =
  'mutation ($p: String!) { changePassword(input: { currentPassword: $p, newPassword: "a newer password" }) { user { id } } }';
const UNLOCK = 'mutation ($id: ID!) { unlockUser(input: { userId: $id }) { user { id } } }';

const HOME = '198.51.100.7';
const ELSEWHERE = '203.0.113.9';
const DAY_MS = 24 * 3_600_000;

/** Behind a proxy, which says where a request comes from. */
const start = (more: Parameters<typeof startTestService>[0] = {}) =>
  startTestService({ ...more, env: { TRUST_PROXY: 'on', ...more.env } });

/** Runs an operation from an address; returns the code of its error, or IN. */
async function codeFrom(
  { url }: TestService,
  address: string,
  query: string,
  variables: object,
  token?: string,
): Promise<string> {
  const response = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-forwarded-for': address,
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify({ query, variables }),
  });
  const { errors } = (await response.json()) as { errors?: { extensions: { code: string } }[] };
  return errors?.[0]?.extensions.code ?? 'IN';
}

const loginFrom = (service: TestService, address: string, email: string, password = PASSWORD) =>
  codeFrom(service, address, LOGIN, { i: { email, password } });

let networks = 0;

/** A network that has not sent anything yet. */
function newNetwork(): string {
  networks += 1;
  return `10.${(networks >> 16) & 255}.${(networks >> 8) & 255}.${networks & 255}`;
}

/** Longer than any password, so the service counts a failure without the work of a hash. */
const guess = (service: TestService, email: string) => loginFrom(service, newNetwork(), email, 'a guess'.repeat(200));

/** Runs the work while strangers of many networks keep the account waiting. Repeats it if the wait ended before. */
async function whileLocked<T>(service: TestService, email: string, work: () => Promise<T>): Promise<T> {
  for (let guesses = 0; guesses < 1_000; guesses += 1) {
    if ((await guess(service, email)) !== 'RATE_LIMITED') continue;
    const result = await work();
    if ((await guess(service, email)) === 'RATE_LIMITED') return result;
  }
  throw new Error('The account is not kept waiting');
}

test('strangers cannot keep a person from signing in at a network from which the person signed in before', async () => {
  const service = await start();
  const { email } = await service.person(null);
  expect(await loginFrom(service, HOME, email)).toBe('IN');
  expect(await whileLocked(service, email, () => loginFrom(service, HOME, email))).toBe('IN');
  // The known network has its own count, …
  const guesses = Array.from({ length: 5 }, () => loginFrom(service, HOME, email, 'a guess'));
  expect(new Set(await Promise.all(guesses))).toEqual(new Set(['UNAUTHORIZED']));
  expect(await loginFrom(service, HOME, email)).toBe('RATE_LIMITED');
  // … and is known for this account alone.
  const known = new KnownNetworks(service.storage.db);
  const { email: other } = await service.person(null);
  expect([await known.isKnown(email, HOME), await known.isKnown(other, HOME)]).toEqual([true, false]);
});

test('known networks are known after a restart, for 30 days, and 16 of them for each person', async () => {
  const first = await start();
  const { email, id } = await first.person(null);
  expect(await loginFrom(first, HOME, email)).toBe('IN');
  await first.close();
  const { dataDir, databaseUrl } = first.config;
  const database = databaseUrl === undefined ? {} : { DATABASE_URL: databaseUrl };
  const service = await start({ dataDir, env: database });
  expect(await whileLocked(service, email, () => loginFrom(service, HOME, email))).toBe('IN');

  const { db } = service.storage;
  const known = new KnownNetworks(db);
  const [row] = await db.knownNetwork.findMany({ where: { userId: id } });
  expect(row).toMatchObject({ account: email, network: HOME });
  const age = (days: number) =>
    db.knownNetwork.updateMany({ data: { signedInAt: new Date(Date.now() - days * DAY_MS) } });
  await age(29);
  expect(await known.isKnown(email, HOME)).toBe(true);
  await age(31);
  expect(await known.isKnown(email, HOME)).toBe(false);
  for (let i = 0; i < 20; i++) {
    await known.add(id, email, `192.0.2.${i}`);
    await db.knownNetwork.updateMany({
      where: { network: `192.0.2.${i}` },
      data: { signedInAt: new Date(Date.now() - DAY_MS + i * 1_000) },
    });
  }
  await known.add(id, email, '192.0.2.20');
  const networksLeft = await db.knownNetwork.findMany({ where: { userId: id }, orderBy: { signedInAt: 'asc' } });
  expect(networksLeft.map(({ network }) => network)).toEqual(Array.from({ length: 16 }, (_, i) => `192.0.2.${i + 5}`));
  // An IPv6 address counts with its network.
  await known.add(id, email, '2001:db8:0:1::5');
  expect(await known.isKnown(email, '2001:db8:0:1:ffff::9')).toBe(true);
  await service.services.users.remove(id);
  expect(await db.knownNetwork.count({ where: { userId: id } })).toBe(0);
});

test('one network that fails does not keep the account waiting elsewhere', async () => {
  const service = await start();
  const { email } = await service.person(null);
  const codes: string[] = [];
  for (let i = 0; i < 8; i++) codes.push(await loginFrom(service, ELSEWHERE, email, 'a guess'));
  expect(codes.slice(0, 5)).toEqual(Array(5).fill('UNAUTHORIZED'));
  expect(codes[5]).toBe('RATE_LIMITED');
  expect(await loginFrom(service, newNetwork(), email)).toBe('IN');
});

test('a signed-in user changes the password while strangers keep the account waiting, and guesses no faster than they do', async () => {
  const service = await start();
  const { email, token } = await service.person(null);
  const change = (p: string) => codeFrom(service, newNetwork(), CHANGE, { p }, token);
  // Five wrong ones are free, wherever they come from.
  const codes: string[] = [];
  for (let i = 0; i < 6; i++) codes.push(await change('a guess'));
  expect(codes).toEqual([...Array(5).fill('NOT_ALLOWED'), 'RATE_LIMITED']);
  const another = await service.person(null);
  const changed = await whileLocked(service, another.email, () =>
    codeFrom(service, newNetwork(), CHANGE, { p: PASSWORD }, another.token),
  );
  // If it was tried twice, the second one has the old password.
  expect(['IN', 'NOT_ALLOWED']).toContain(changed);
  expect(await loginFrom(service, HOME, email)).toBe('IN');
});

test('root administrators end the waits of a person, at the command line of the service too', async () => {
  const service = await start();
  const { config, root } = service;
  const { email, id, token } = await service.person(null);
  const refused = () => loginFrom(service, newNetwork(), email, 'another guess');
  expect(await whileLocked(service, email, refused)).toBe('RATE_LIMITED');
  expect(await codeFrom(service, HOME, UNLOCK, { id }, token)).toBe('NOT_ALLOWED');
  expect(await codeFrom(service, HOME, UNLOCK, { id: 'usr_unknown' }, root)).toBe('NOT_FOUND');
  expect(await codeFrom(service, HOME, UNLOCK, { id }, root)).toBe('IN');
  expect(await guess(service, email)).toBe('UNAUTHORIZED');

  expect(await whileLocked(service, email, refused)).toBe('RATE_LIMITED');
  const unlock = async (...args: string[]) => {
    let out = '';
    const code = await runCommand(['user', 'unlock', ...args], {
      env: {
        DATA_DIR: config.dataDir,
        ...(config.databaseUrl === undefined ? {} : { DATABASE_URL: config.databaseUrl }),
      },
      out: (text) => {
        out += text;
      },
      err: () => undefined,
      readInput: async () => '',
      isTerminal: false,
      stop: new AbortController().signal,
      onBug: () => undefined,
    });
    return [code, out];
  };
  expect(await unlock('nobody@example.com')).toEqual([1, '']);
  expect(await unlock(email)).toEqual([0, `${email} can sign in without waiting.\n`]);
  expect(await guess(service, email)).toBe('UNAUTHORIZED');
  await service.close();
  if (config.databaseUrl !== undefined) return;
  expect(await unlock(email, '--json')).toEqual([0, `${JSON.stringify({ email, unlocked: false })}\n`]);
  expect((await unlock(email))[1]).toContain('there is nothing to unlock');
});

test('a flood of log-ins from one network delays another network by its turn, not by the flood', async () => {
  const service = await start();
  const { email } = await service.person(null);
  const finished: string[] = [];
  // One more than are checked before the network has to wait: refusals would only delay the other request.
  const flood = Array.from({ length: 26 }, async (_, i) => {
    finished.push(await loginFrom(service, ELSEWHERE, `nobody-${i}@example.com`, 'a guess'));
  });
  await Promise.race(flood);
  expect(await loginFrom(service, HOME, email)).toBe('IN');
  // First come first served, all 25 would be checked before.
  expect(finished.filter((code) => code === 'UNAUTHORIZED').length).toBeLessThan(15);
  await Promise.all(flood);
});
