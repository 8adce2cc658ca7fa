import { expect, test } from 'vitest';
import { SignInAttempts } from '../../../src/domains/sign-in/sign-in-attempts.ts';
import { openSealer } from '../../../src/platform/storage/encryption/sealed.ts';
import { openTestStorage } from '../../support/database.ts';

async function attemptsOf(maxAttempts?: number) {
  const { db } = await openTestStorage();
  const sealer = openSealer({ dataDir: '', secretKey: 'a key of at least 32 characters, for tests' });
  return { db, attempts: new SignInAttempts({ db, sealer, ...(maxAttempts === undefined ? {} : { maxAttempts }) }) };
}

test('what was kept is taken once, by its secret, as what it is', async () => {
  const { db, attempts } = await attemptsOf();
  const state = await attempts.store('state', 'sso', { nonce: 'n' });
  expect(JSON.stringify(await db.signInAttempt.findMany())).not.toContain(state);
  expect(await attempts.take('code', state)).toBeNull();
  const both = await Promise.all([attempts.take('state', state), attempts.take('state', state)]);
  expect(both.filter((taken) => taken !== null)).toEqual([{ nonce: 'n' }]);
  expect(await attempts.take('state', state)).toBeNull();
});

test('what is too late is not taken, and goes with the next one', async () => {
  const { db, attempts } = await attemptsOf();
  const state = await attempts.store('state', 'sso', {});
  await attempts.store('code', 'sso', {});
  await db.signInAttempt.updateMany({ data: { expiresAt: new Date(Date.now() - 1) } });
  expect(await attempts.take('state', state)).toBeNull();
  await attempts.store('state', 'sso', {});
  expect(await db.signInAttempt.count()).toBe(1);
});

test('beyond the maximum the oldest attempts are deleted, and codes remain', async () => {
  const { db, attempts } = await attemptsOf(3);
  const code = await attempts.store('code', 'sso', 'code');
  const states: string[] = [];
  for (let n = 0; n < 5; n += 1) {
    states.push(await attempts.store('state', 'sso', n));
    // Ended by the clock, which may not have moved.
    await db.signInAttempt.updateMany({
      where: { expiresAt: { gt: new Date(Date.now() + 120_000) } },
      data: { expiresAt: { set: new Date(Date.now() + 300_000 + n) } },
    });
  }
  const taken = await Promise.all(states.map((state) => attempts.take('state', state)));
  expect(taken.filter((content) => content !== null)).toHaveLength(3);
  expect(taken.at(-1)).toBe(4);
  expect(await attempts.take('code', code)).toBe('code');
});
