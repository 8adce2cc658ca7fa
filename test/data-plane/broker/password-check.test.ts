import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import {
  ACCOUNT_COST,
  ADMINISTRATOR_COST,
  hashPassword,
  PasswordCheck,
} from '../../../src/data-plane/broker/dynamic-security/password-check.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const bytes = (text: string) => Buffer.from(text);

async function check(passwords: PasswordCheck, password: string, hash: string): Promise<string> {
  const attempt = { username: 'dev', password: bytes(password), hash, network: '192.0.2.1' };
  return (await passwords.check(attempt)).verdict;
}

test.each([ACCOUNT_COST, ADMINISTRATOR_COST])(
  'a password is checked against its hash with any cost: %o',
  async (cost) => {
    const passwords = new PasswordCheck();
    const hash = await hashPassword('right ☃', cost);
    expect(await check(passwords, 'wrong', hash)).toBe('WRONG');
    // The second time it is remembered.
    for (let turn = 0; turn < 2; turn += 1) expect(await check(passwords, 'right ☃', hash)).toBe('RIGHT');
    expect(await check(passwords, 'wrong', hash)).toBe('WRONG');
    expect(await hashPassword('right ☃', cost)).not.toBe(hash);
  },
);

test('hashes of Mosquitto are supported', async () => {
  const file = join(temporaryFolder(), 'passwords');
  execFileSync('mosquitto_passwd', ['-b', '-c', file, 'dev', 'secret ☃'], { stdio: 'ignore' });
  const hash = readFileSync(file, 'utf8').trim().slice('dev:'.length);
  expect(hash).toMatch(/^\$7\$/);
  const passwords = new PasswordCheck();
  expect(await check(passwords, 'secret ☃', hash)).toBe('RIGHT');
  expect(await check(passwords, 'secret', hash)).toBe('WRONG');
});

test.each(['', 'x', 'scrypt$1024$8$1$', '$6$salt$key'])('an invalid hash matches no password: %j', async (hash) => {
  expect(await check(new PasswordCheck(), '', hash)).toBe('WRONG');
});

test('checks beyond the limit are refused as busy, and running and waiting checks finish', async () => {
  const passwords = new PasswordCheck({ maxWaiting: 1 });
  const hash = await hashPassword('right', ACCOUNT_COST);
  const answers = await Promise.all(['a', 'b', 'right', 'c', 'a'].map((password) => check(passwords, password, hash)));
  expect(answers).toEqual(['WRONG', 'WRONG', 'RIGHT', 'BUSY', 'WRONG']);
});
