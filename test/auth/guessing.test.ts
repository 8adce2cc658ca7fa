import { expect, test } from 'vitest';
import { LoginThrottle } from '../../src/auth/login-throttle.ts';
import { ROOT, startTestService } from '../support/service.ts';

const LOGIN = 'mutation ($i: LoginInput!) { login(input: $i) { token } }';

test('guesses that come all at once get no further than those one by one', async () => {
  const { graphql } = await startTestService();
  const codes = await Promise.all(
    Array.from({ length: 40 }, async (_, i) => {
      const input = { email: ROOT.email, password: `guess number ${i}` };
      return (await graphql(LOGIN, { i: input }, null)).errors?.[0]?.extensions.code;
    }),
  );
  // Five are free, and one more may be under way.
  expect(codes.filter((code) => code === 'UNAUTHORIZED').length).toBeLessThanOrEqual(6);
  expect(codes.filter((code) => code === 'RATE_LIMITED').length).toBeGreaterThanOrEqual(34);
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
  await expect(services.auth.openSession(id, { passwordHash: passwordHash ?? '' })).rejects.toMatchObject({
    code: 'UNAUTHORIZED',
  });
  expect(await storage.db.session.count({ where: { userId: id } })).toBe(0);
});

test('an account counts as one with and without accents, as directories find it', () => {
  const throttle = new LoginThrottle();
  for (const [n, account] of ['jose', 'josé', 'jóse', 'j\u00f5se\u0301', 'josê'].entries()) {
    throttle.failed(account, `10.0.0.${n}`);
  }
  expect(() => throttle.check('jòse', '10.0.1.1')).toThrow('Too many failed log-ins');
  expect(() => throttle.check('joss', '10.0.1.1')).not.toThrow();
});

test('an address of IPv6 counts with its network, in whatever form it is written', () => {
  const throttle = new LoginThrottle(() => 0);
  for (let i = 0; i < 25; i++) throttle.failed(`p${i}@example.com`, `2001:db8:0:1::${i.toString(16)}`);
  expect(() => throttle.check('x@example.com', '2001:0DB8:0000:1:ffff::1')).toThrow('Too many failed log-ins');
  expect(() => throttle.check('x@example.com', '2001:db8::1:0:0:0:9')).toThrow('Too many failed log-ins');
  expect(() => throttle.check('x@example.com', '2001:db8:0:2::1')).not.toThrow();
  // As some proxies tell it.
  expect(() => throttle.check('x@example.com', '[2001:db8:0:1::7]:51034')).toThrow('Too many failed log-ins');
});
