import { randomBytes } from 'node:crypto';
import { hash, verify } from '@node-rs/argon2';
import { invalid } from '../errors.ts';

/** Shortest password of a person. */
const MIN_PASSWORD_LENGTH = 8;
/** Longest, so that one log-in cannot cost more than it should. */
const MAX_PASSWORD_LENGTH = 1_024;

// argon2id (2 is its number in the library) with OWASP's first recommendation: 19 MiB, two passes, one lane.
const ARGON2 = { algorithm: 2, memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const;

export async function hashPassword(password: string, path = 'input.password'): Promise<string> {
  if (password.length < MIN_PASSWORD_LENGTH || password.length > MAX_PASSWORD_LENGTH) {
    const reason = `must have ${MIN_PASSWORD_LENGTH} to ${MAX_PASSWORD_LENGTH} characters`;
    throw invalid([{ path, reason }]);
  }
  return hash(password, ARGON2);
}

/** Compares against a hash that nothing matches when there is none, so that an unknown account takes as long as a known one. */
export class PasswordChecker {
  #nobody: Promise<string> | null = null;
  /** What was spent on comparing so far, in KiB × passes: the same for each attempt, whoever it is. */
  work = 0;

  async matches(passwordHash: string | null, password: string): Promise<boolean> {
    this.#nobody ??= hash(randomBytes(32), ARGON2);
    const known = passwordHash ?? (await this.#nobody);
    if (password.length > MAX_PASSWORD_LENGTH) return false;
    this.work += workOf(known);
    const same = await verify(known, password);
    return same && passwordHash !== null;
  }
}

/** Of a hash as the library writes it: `$argon2id$v=19$m=19456,t=2,p=1$…`. */
function workOf(written: string): number {
  const [, memory, passes] = /\$m=(\d+),t=(\d+),/.exec(written) ?? [];
  return Number(memory) * Number(passes);
}

/** A password that a person can type: 20 characters of an alphabet without look-alikes, about 98 bits. */
export function generatePassword(): string {
  const alphabet = 'abcdefghijkmnpqrstuvwxyz23456789';
  const letters = Array.from(randomBytes(20), (byte) => alphabet[byte % alphabet.length]).join('');
  return (letters.match(/.{5}/g) ?? []).join('-');
}
