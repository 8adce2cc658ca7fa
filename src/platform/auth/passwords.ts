import { randomBytes } from 'node:crypto';
import { hash, verify } from '@node-rs/argon2';
import { invalid } from '../errors.ts';

const MIN_PASSWORD_LENGTH = 8;
const MAX_PASSWORD_LENGTH = 1_024;

// argon2id (number 2 in @node-rs/argon2) with the first recommendation of OWASP: 19 MiB, two passes, one lane.
const ARGON2 = { algorithm: 2, memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const;

export async function hashPassword(password: string): Promise<string> {
  if (password.length < MIN_PASSWORD_LENGTH || password.length > MAX_PASSWORD_LENGTH) {
    const reason = `must have ${MIN_PASSWORD_LENGTH} to ${MAX_PASSWORD_LENGTH} characters`;
    throw invalid([{ path: 'input.password', reason }]);
  }
  return hash(password, ARGON2);
}

const { memoryCost, timeCost, parallelism } = ARGON2;
const randomText = (bytes: number) => randomBytes(bytes).toString('base64').replace(/=+$/, '');

/** Without a hash it compares with a random one, so that an unknown account takes as long as a known one. */
export class PasswordChecker {
  /** Encoded like the hash of a password, but random itself, so that it costs no work. */
  readonly #randomHash =
    `$argon2id$v=19$m=${memoryCost},t=${timeCost},p=${parallelism}$${randomText(16)}$${randomText(32)}`;
  /** Sum of the work of all comparisons, in KiB × passes. It is the same for known and unknown accounts. */
  work = 0;

  async matches(passwordHash: string | null, password: string): Promise<boolean> {
    const compared = passwordHash ?? this.#randomHash;
    if (password.length > MAX_PASSWORD_LENGTH) return false;
    this.work += workOf(compared);
    const isEqual = await verify(compared, password);
    return isEqual && passwordHash !== null;
  }
}

function workOf(encodedHash: string): number {
  const [, memory, passes] = /\$m=(\d+),t=(\d+),/.exec(encodedHash) ?? [];
  return Number(memory) * Number(passes);
}

/** 100 bits. */
export const generatePassword = (): string => typeableText(20, 5);

/** Random text in groups with hyphens, from an alphabet without similar characters: five bits per character. */
export function typeableText(length: number, groupLength: number): string {
  const alphabet = 'abcdefghijkmnpqrstuvwxyz23456789';
  const letters = Array.from(randomBytes(length), (byte) => alphabet[byte % alphabet.length]).join('');
  return letters.replace(new RegExp(`.{${groupLength}}(?=.)`, 'g'), '$&-');
}
