import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import {
  ACCOUNT_COST,
  ADMINISTRATOR_COST,
  hashPassword,
  PasswordCheck,
} from '../../src/embedded/dynamic-security/password-check.ts';
import { temporaryFolder } from './embedded.ts';

const bytes = (text: string) => Buffer.from(text);

test.each([ACCOUNT_COST, ADMINISTRATOR_COST])(
  'a password is right or wrong by its hash, whatever it cost: %o',
  async (cost) => {
    const passwords = new PasswordCheck();
    const hash = await hashPassword('right ☃', cost);
    expect(await passwords.check(bytes('wrong'), hash)).toBe('WRONG');
    // The second time it is remembered.
    for (let turn = 0; turn < 2; turn += 1) expect(await passwords.check(bytes('right ☃'), hash)).toBe('RIGHT');
    expect(await passwords.check(bytes('wrong'), hash)).toBe('WRONG');
    expect(await hashPassword('right ☃', cost)).not.toBe(hash);
  },
);

test('hashes of Mosquitto are right or wrong too', async () => {
  const file = join(temporaryFolder(), 'passwords');
  execFileSync('mosquitto_passwd', ['-b', '-c', file, 'dev', 'secret ☃'], { stdio: 'ignore' });
  const hash = readFileSync(file, 'utf8').trim().slice('dev:'.length);
  expect(hash).toMatch(/^\$7\$/);
  const passwords = new PasswordCheck();
  expect(await passwords.check(bytes('secret ☃'), hash)).toBe('RIGHT');
  expect(await passwords.check(bytes('secret'), hash)).toBe('WRONG');
});

test.each(['', 'x', 'scrypt$1024$8$1$', '$6$salt$key'])('a hash that is none lets nobody in: %j', async (hash) => {
  expect(await new PasswordCheck().check(bytes(''), hash)).toBe('WRONG');
});

test('checks beyond the bound are told to wait, and those under way are finished', async () => {
  const passwords = new PasswordCheck({ maxWaiting: 3 });
  const hash = await hashPassword('right', ACCOUNT_COST);
  const answers = await Promise.all(
    ['a', 'b', 'right', 'c', 'a'].map((password) => passwords.check(bytes(password), hash)),
  );
  expect(answers).toEqual(['WRONG', 'WRONG', 'RIGHT', 'BUSY', 'WRONG']);
});
