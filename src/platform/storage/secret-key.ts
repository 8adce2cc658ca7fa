/**
 * The key that seals stored secrets: set by the operator (SECRET_KEY), or generated once and stored in the data folder as
 * `secret.key`, mode 0600. Several processes on one database need the same SECRET_KEY.
 *
 * A rotation generates another `secret.key`; the previous one stays beside it as `secret.key.previous` until the operator removes it.
 *
 * 32 bytes in hex or base64 are taken as they are: they cannot be guessed. Any other text may have been thought up by a
 * person, so it goes through scrypt (about 0.1 s, once at start), which makes guessing it with a stolen database expensive.
 * The salt is fixed because every process must come to the same key and there is one key per installation.
 *
 * Errors: ServiceError INVALID (SECRET_KEY is too short), INTERNAL_ERROR (the key file cannot be used). None holds the key.
 */
import { randomBytes, scryptSync } from 'node:crypto';
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, renameSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { ServiceError } from '../errors.ts';

export const KEY_BYTES = 32;
const MIN_SECRET_KEY_LENGTH = 32;

const SCRYPT = { N: 2 ** 15, r: 8, p: 1, maxmem: 64 * 2 ** 20 } as const;
const SCRYPT_SALT = 'brokergraph secret key';

export function keyFromText(secretKey: string): Buffer {
  if (secretKey.length < MIN_SECRET_KEY_LENGTH) {
    throw new ServiceError(
      'INVALID',
      `SECRET_KEY is too short: it needs at least ${MIN_SECRET_KEY_LENGTH} characters, best 32 random bytes in base64`,
    );
  }
  return decodeKey(secretKey) ?? scryptSync(secretKey, SCRYPT_SALT, KEY_BYTES, SCRYPT);
}

const fileIn = (dataDir: string): string => join(dataDir, 'secret.key');
export const previousFileIn = (dataDir: string): string => join(dataDir, 'secret.key.previous');

/** The folder's key, generated if there is none. Only the owner of the folder may call it. */
export function keyFromFolder(dataDir: string): Buffer {
  const file = fileIn(dataDir);
  if (!existsSync(file)) usable(file, () => writeKey(file, newKey()));
  return readKey(file);
}

/** The key before the last rotation; `null` if there is none. */
export function previousKeyFromFolder(dataDir: string): Buffer | null {
  const file = previousFileIn(dataDir);
  return existsSync(file) ? readKey(file) : null;
}

/**
 * Generates another key for the folder; the one so far becomes the previous one. A process that is killed in between leaves the key as
 * it was, or both: then the previous one may be equal to the current one, and the next call continues.
 */
export function renewKeyInFolder(dataDir: string): void {
  const file = fileIn(dataDir);
  usable(file, () => {
    writeKey(previousFileIn(dataDir), readFileSync(file, 'utf8'));
    writeKey(file, newKey());
  });
}

function readKey(file: string): Buffer {
  return usable(file, () => {
    const key = decodeKey(readFileSync(file, 'utf8').trim());
    if (!key) throw new Error('it does not hold 32 bytes in base64');
    return key;
  });
}

function usable<T>(file: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new ServiceError('INTERNAL_ERROR', `The key file ${file} cannot be used: ${reason}`, { cause: error });
  }
}

const newKey = (): string => `${randomBytes(KEY_BYTES).toString('base64')}\n`;

/** Whole or not at all, whenever the machine stops: written elsewhere, brought to disk, then renamed. */
function writeKey(file: string, text: string): void {
  const draft = `${file}.new`;
  rmSync(draft, { force: true });
  const handle = openSync(draft, 'wx', 0o600);
  try {
    writeSync(handle, text);
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
  renameSync(draft, file);
}

function decodeKey(text: string): Buffer | null {
  if (/^[0-9a-f]{64}$/i.test(text)) return Buffer.from(text, 'hex');
  // Node reads both alphabets of base64.
  if (/^[\w+/-]{43}=?$/.test(text)) return Buffer.from(text, 'base64');
  return null;
}
