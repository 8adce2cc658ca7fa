/**
 * The key that encrypts stored secrets: SECRET_KEY, or generated once as `secret.key` in the data folder. A rotation
 * stores the previous key as `secret.key.previous` until the operator deletes it.
 *
 * 32 bytes in hex or base64 are used directly. Any other text may be a password, so the key is derived with scrypt
 * (about 0.1 s). The salt is fixed, because every process must derive the same key.
 *
 * Errors: ServiceError INVALID (SECRET_KEY is too short), INTERNAL_ERROR. No message contains the key.
 */
import { randomBytes, scryptSync } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf, ServiceError } from '../../errors.ts';
import { writePrivateFile } from '../folder/write-private-file.ts';

export const KEY_BYTES = 32;
const MIN_SECRET_KEY_LENGTH = 32;

const SCRYPT = { N: 2 ** 15, r: 8, p: 1, maxmem: 64 * 2 ** 20 } as const;
const SCRYPT_SALT = 'brokergraph secret key';

export function keyFromText(secretKey: string): Buffer {
  if (secretKey.length < MIN_SECRET_KEY_LENGTH) {
    throw new ServiceError(
      'INVALID',
      `SECRET_KEY is too short: use at least ${MIN_SECRET_KEY_LENGTH} characters, preferably 32 random bytes in base64`,
    );
  }
  return decodeKey(secretKey) ?? scryptSync(secretKey, SCRYPT_SALT, KEY_BYTES, SCRYPT);
}

const fileIn = (dataDir: string): string => join(dataDir, 'secret.key');
export const hasSecretKey = (dataDir: string): boolean => existsSync(fileIn(dataDir));
export const previousFileIn = (dataDir: string): string => join(dataDir, 'secret.key.previous');

/** Reads the key of the data folder, and generates a missing one. Only the owner of the folder may call it. */
export function keyFromFolder(dataDir: string): Buffer {
  const file = fileIn(dataDir);
  if (!existsSync(file)) usable(file, () => writePrivateFile(file, newKey()));
  return readKey(file);
}

export function previousKeyFromFolder(dataDir: string): Buffer | null {
  const file = previousFileIn(dataDir);
  return existsSync(file) ? readKey(file) : null;
}

/**
 * Stores the current key as the previous one. If the process is killed meanwhile, the current key is unchanged, and the
 * previous key may be equal to it; the next call continues.
 */
export function renewKeyInFolder(dataDir: string): void {
  const file = fileIn(dataDir);
  usable(file, () => {
    writePrivateFile(previousFileIn(dataDir), readFileSync(file, 'utf8'));
    writePrivateFile(file, newKey());
  });
}

function readKey(file: string): Buffer {
  return usable(file, () => {
    const key = decodeKey(readFileSync(file, 'utf8').trim());
    if (!key) throw new Error('it does not contain 32 bytes in base64');
    return key;
  });
}

function usable<T>(file: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    const reason = messageOf(error);
    throw new ServiceError('INTERNAL_ERROR', `The key file ${file} cannot be used: ${reason}`, { cause: error });
  }
}

const newKey = (): string => `${randomBytes(KEY_BYTES).toString('base64')}\n`;

function decodeKey(text: string): Buffer | null {
  if (/^[0-9a-f]{64}$/i.test(text)) return Buffer.from(text, 'hex');
  // Node decodes both base64 alphabets.
  if (/^[\w+/-]{43}=?$/.test(text)) return Buffer.from(text, 'base64');
  return null;
}
