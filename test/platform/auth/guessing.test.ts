import { expect, test } from 'vitest';
import { LoginThrottle, type ThrottledAttempt } from '../../../src/platform/auth/login-throttle.ts';
import { ROOT, startTestService } from '../../support/service.ts';

const LOGIN = 'mutation ($i: LoginInput!) { login(input: $i) { token } }';

test('guesses that come all at once get no further than those one by one', async () => {
  const { graphql } = await startTestService();
  const startedAt = performance.now();
  const codes = await Promise.all(
    Array.from({ length: 40 }, async (_, i) => {
      const input = { email: ROOT.email, password: `guess number ${i}` };
      return (await graphql(LOGIN, { i: input }, null)).errors?.[0]?.extensions.code;
    }),
  );
  // Five are free, one more may be under way, and on a busy machine the first waits (1, 2, 4 … s) end meanwhile.
  const waitsEnded = Math.floor(Math.log2((performance.now() - startedAt) / 1_000 + 1));
  const checked = codes.filter((code) => code === 'UNAUTHORIZED').length;
  expect(checked).toBeLessThanOrEqual(6 + waitsEnded);
  expect(codes.filter((code) => code === 'RATE_LIMITED')).toHaveLength(40 - checked);
});

test('several log-ins at once with the right password all succeed', async () => {
  const { login } = await startTestService();
  const tokens = await Promise.all(Array.from({ length: 10 }, () => login(ROOT.email, ROOT.password)));
  expect(new Set(tokens).size).toBe(10);
});

test('behind a proxy the address that counts is the one the proxy saw', async () => {
  const { url } = await startTestService({ env: { TRUST_PROXY: 'on' } });
  const codes: string[] = [];
  for (let i = 0; i < 26; i++) {
    const response = await fetch(`${url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-forwarded-for': `10.0.0.${i}, 192.0.2.1` },
      body: JSON.stringify({ query: LOGIN, variables: { i: { email: `p${i}@example.com`, password: 'guess' } } }),
    });
    const { errors } = (await response.json()) as { errors: { extensions: { code: string } }[] };
    codes.push(errors[0]?.extensions.code ?? '');
  }
  expect(codes.at(-1)).toBe('RATE_LIMITED');
});

test('a log-in that was checked against a password which was changed meanwhile opens no session', async () => {
  const { services, storage, person } = await startTestService();
  const { id } = await person(null);
  const { passwordHash } = await storage.db.user.findUniqueOrThrow({ where: { id } });
  await services.users.setPassword(id, 'a new good password');
  await expect(services.auth.sessions.open(id, { passwordHash: passwordHash ?? '' })).rejects.toMatchObject({
    code: 'UNAUTHORIZED',
  });
  expect(await storage.db.session.count({ where: { userId: id } })).toBe(0);
});

const stranger = (account: string, address: string) => ({ account, address, trust: 'NONE' }) as const;
const allows = (throttle: LoginThrottle, attempt: ThrottledAttempt): boolean => {
  try {
    throttle.check(attempt);
    return true;
  } catch {
    return false;
  }
};

test('an account counts as one with and without accents, as directories find it', () => {
  const throttle = new LoginThrottle();
  for (const account of ['jose', 'josé', 'jóse', 'j\u00f5se\u0301', 'josê'])
    throttle.failed(stranger(account, '10.0.0.1'));
  expect(allows(throttle, stranger('jòse', '10.0.0.1'))).toBe(false);
  expect(allows(throttle, stranger('joss', '10.0.0.1'))).toBe(true);
});

test('an address of IPv6 counts with its network, in whatever form it is written', () => {
  const throttle = new LoginThrottle(() => 0);
  for (let i = 0; i < 25; i++) throttle.failed(stranger(`p${i}@example.com`, `2001:db8:0:1::${i.toString(16)}`));
  const isAllowed = (address: string) => allows(throttle, stranger('x@example.com', address));
  expect(isAllowed('2001:0DB8:0000:1:ffff::1')).toBe(false);
  expect(isAllowed('2001:db8::1:0:0:0:9')).toBe(false);
  expect(isAllowed('2001:db8:0:2::1')).toBe(true);
  // The form in which some proxies send it.
  expect(isAllowed('[2001:db8:0:1::7]:51034')).toBe(false);
});

const HOUR_S = 3_600;

/** Guesses in each hour of a caller who tries every second, from the next address each time. */
function guessesByHour(hours: number, attemptAt: (second: number) => ThrottledAttempt): number[] {
  let second = 0;
  const throttle = new LoginThrottle(() => second * 1_000);
  const counts = Array<number>(hours).fill(0);
  for (; second < hours * HOUR_S; second += 1) {
    // As many as get through at once.
    for (let attempt = attemptAt(second); allows(throttle, attempt); attempt = attemptAt(second)) {
      throttle.failed(attempt);
      counts[Math.floor(second / HOUR_S)] = (counts[Math.floor(second / HOUR_S)] ?? 0) + 1;
    }
  }
  return counts;
}

test('guesses from one network are 17 in the first hour and 4 in each further one', () => {
  expect(guessesByHour(4, () => stranger('ann', '192.0.2.1'))).toEqual([17, 4, 4, 4]);
});

test('guesses from any number of networks together are at most 62 in the first hour and 4 in each further one', () => {
  let next = 0;
  const elsewhere = () => {
    next += 1;
    return stranger('ann', `10.${(next >> 16) & 255}.${(next >> 8) & 255}.${next & 255}`);
  };
  expect(guessesByHour(4, elsewhere)).toEqual([62, 4, 4, 4]);
});

test('a caller who is signed in, and tries from the next network each time, gets no further than one network', () => {
  let next = 0;
  const signedIn = () => {
    next += 1;
    return { account: 'ann', address: `10.0.${(next >> 8) & 255}.${next & 255}`, trust: 'SIGNED_IN' } as const;
  };
  expect(guessesByHour(3, signedIn)).toEqual([17, 4, 4]);
});

test('pauses give a stranger with many networks no further guesses within a day', () => {
  let now = 0;
  const throttle = new LoginThrottle(() => now);
  const guess = (i: number) => throttle.failed(stranger('ann', `10.0.${i >> 8}.${i & 255}`));
  for (let i = 0; i < 49; i++) guess(i);
  now += 5 * HOUR_S * 1_000;
  expect(allows(throttle, stranger('ann', '192.0.2.1'))).toBe(true);
  guess(50);
  expect(allows(throttle, stranger('ann', '192.0.2.1'))).toBe(false);
  expect(allows(throttle, { ...stranger('ann', '192.0.2.1'), trust: 'KNOWN_NETWORK' })).toBe(true);
  // Another account is not concerned.
  expect(allows(throttle, stranger('bob', '192.0.2.1'))).toBe(true);
  now += 25 * HOUR_S * 1_000;
  guess(51);
  expect(allows(throttle, stranger('ann', '192.0.2.1'))).toBe(true);
});
