import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { openSealer } from '../../../src/platform/storage/encryption/sealed.ts';
import { temporaryFolder } from '../../support/database.ts';

const CONTEXT = 'brk_1/password';
const PASSPHRASE = 'a passphrase of more than thirty-two characters';

function sealerOf(secretKey: string) {
  return openSealer({ dataDir: '/nowhere', secretKey });
}

test('decrypts what it encrypted, with any text and context', () => {
  const sealer = sealerOf(randomBytes(32).toString('base64'));
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.string(), (plain, context) => {
      expect(sealer.open(sealer.seal(plain, context), context)).toBe(plain);
    }),
  );
});

test('encrypts the same secret differently each time, and never shows it', () => {
  const sealer = sealerOf(PASSPHRASE);
  const sealed = [sealer.seal('hunter2', CONTEXT), sealer.seal('hunter2', CONTEXT)];
  expect(sealed[0]).not.toBe(sealed[1]);
  for (const text of sealed) {
    expect(text).toMatch(/^v1\.[0-9a-f]{12}\.[\w-]{16}\.[\w-]+$/);
    expect(text).not.toContain('hunter2');
  }
});

test.each([
  ['hex', randomBytes(32).toString('hex')],
  ['base64', randomBytes(32).toString('base64')],
  ['base64url', randomBytes(32).toString('base64url')],
  ['a passphrase', PASSPHRASE],
])('the same SECRET_KEY in %s opens it in another process', (_form, secretKey) => {
  const sealed = sealerOf(secretKey).seal('hunter2', CONTEXT);
  expect(sealerOf(secretKey).open(sealed, CONTEXT)).toBe('hunter2');
});

test('one key written in hex and in base64 is one key', () => {
  const key = randomBytes(32);
  const sealed = sealerOf(key.toString('hex')).seal('hunter2', CONTEXT);
  expect(sealerOf(key.toString('base64')).open(sealed, CONTEXT)).toBe('hunter2');
});

test('refuses a SECRET_KEY that is too short, without repeating it', () => {
  const open = () => sealerOf('too-short-key');
  expect(open).toThrow(expect.objectContaining({ code: 'INVALID' }));
  expect(open).not.toThrow('too-short-key');
});

describe('a value that cannot be decrypted is INTERNAL_ERROR with the likely cause and no secret', () => {
  const sealer = sealerOf(PASSPHRASE);
  const sealed = sealer.seal('hunter2', CONTEXT);

  test.each([
    ['another key', () => sealerOf(`${PASSPHRASE}!`).open(sealed, CONTEXT), /another key.*SECRET_KEY.*secret\.key/],
    ['another context', () => sealer.open(sealed, 'brk_2/password'), /changed or moved/],
    ['another version', () => sealer.open(sealed.replace('v1', 'v2'), CONTEXT), /format is unknown/],
    ['no sealed text', () => sealer.open('hunter2', CONTEXT), /format is unknown/],
  ])('%s', (_name, open, message) => {
    expect(open).toThrow(expect.objectContaining({ code: 'INTERNAL_ERROR', message: expect.stringMatching(message) }));
    for (const secret of ['hunter2', PASSPHRASE, sealed]) expect(open).not.toThrow(secret);
  });

  test('any changed byte', () => {
    const [version, keyId, nonce, body] = sealed.split('.');
    for (const [index, part] of [nonce, body].entries()) {
      const bytes = Buffer.from(part ?? '', 'base64url');
      for (const at of bytes.keys()) {
        const changed = Buffer.from(bytes);
        changed[at] = (changed[at] ?? 0) ^ 1;
        const text = changed.toString('base64url');
        const tampered = index === 0 ? [version, keyId, text, body] : [version, keyId, nonce, text];
        expect(() => sealer.open(tampered.join('.'), CONTEXT)).toThrow(/changed or moved/);
      }
    }
  });
});

describe('without SECRET_KEY', () => {
  test('the key is generated in the data folder for its owner only, and used again', () => {
    const dataDir = temporaryFolder();
    const sealed = openSealer({ dataDir }).seal('hunter2', CONTEXT);
    expect(openSealer({ dataDir }).open(sealed, CONTEXT)).toBe('hunter2');
    expect(readdirSync(dataDir)).toEqual(['secret.key']);
    expect(statSync(join(dataDir, 'secret.key')).mode & 0o777).toBe(0o600);
    // It can be given to other processes as it stands.
    const secretKey = readFileSync(join(dataDir, 'secret.key'), 'utf8').trim();
    expect(sealerOf(secretKey).open(sealed, CONTEXT)).toBe('hunter2');
  });

  test('a draft that a crash left is not used as key', () => {
    const dataDir = temporaryFolder();
    writeFileSync(join(dataDir, 'secret.key.new'), 'half');
    openSealer({ dataDir });
    expect(readdirSync(dataDir)).toEqual(['secret.key']);
  });

  test('an invalid key file is refused and not changed', () => {
    const dataDir = temporaryFolder();
    writeFileSync(join(dataDir, 'secret.key'), 'no key');
    expect(() => openSealer({ dataDir })).toThrow(expect.objectContaining({ code: 'INTERNAL_ERROR' }));
    expect(readFileSync(join(dataDir, 'secret.key'), 'utf8')).toBe('no key');
  });
});
