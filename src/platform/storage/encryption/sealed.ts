/**
 * Encrypts ("seals") stored secrets that must be readable again: AES-256-GCM with a random 96-bit nonce.
 *
 * Form: `v1.<key id>.<nonce>.<ciphertext and tag>`, the last two in base64url. The context (`brk_…/password`) is
 * authenticated, so a value that was moved to another row or column cannot be decrypted. Text that must not be forged
 * is signed: `v1.<key id>.<HMAC-SHA-256>`, which also covers the context.
 *
 * Errors: ServiceError INTERNAL_ERROR with the likely cause and no secret.
 */
import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto';
import { ServiceError } from '../../errors.ts';
import {
  KEY_BYTES,
  keyFromFolder,
  keyFromText,
  previousFileIn,
  previousKeyFromFolder,
  renewKeyInFolder,
} from './secret-key.ts';

const VERSION = 'v1';
const ALGORITHM = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const KEY_ID_BYTES = 6;

interface SealerOptions {
  /** Must be owned by this process: open the storage first. */
  readonly dataDir: string;
  /** Default: the key in the data folder; a missing one is generated. */
  readonly secretKey?: string | undefined;
  /** Additional key for decryption only. */
  readonly previousSecretKey?: string | undefined;
}

interface KeyRing {
  readonly current: SealingKey;
  readonly byId: ReadonlyMap<string, SealingKey>;
  /** Where previous keys are stored, for messages; `null` if there are none. */
  readonly previous: string | null;
}

export type RotatableSealer = ReturnType<typeof openSealer>;
export type Sealer = Pick<RotatableSealer, 'seal' | 'open' | 'sign' | 'verify'>;

/** Previous keys open and verify. The current key also seals and signs. */
export function openSealer(options: SealerOptions) {
  let ring = readKeys(options);
  return {
    get keys() {
      const { current, byId, previous } = ring;
      return { currentPrefix: prefixOf(current.id), readablePrefixes: [...byId.keys()].map(prefixOf), previous };
    },
    /** Generates a new current key, but only in the data folder and while no rotation is in progress. */
    renewKey: () => {
      // The operator may have removed the previous key after the last rotation.
      ring = readKeys(options);
      if (options.secretKey !== undefined || ring.previous !== null) return;
      renewKeyInFolder(options.dataDir);
      ring = readKeys(options);
    },
    sign: (text: string, context: string): string => ring.current.sign(text, context),
    /** `OTHER_KEY`: signed with a key that this sealer does not have. */
    verify: (text: string, context: string, signature: string): 'GOOD' | 'BAD' | 'OTHER_KEY' => {
      const [version, signedWith = ''] = signature.split('.');
      const key = ring.byId.get(signedWith);
      if (version === VERSION && key === undefined) return 'OTHER_KEY';
      const [given, own] = [Buffer.from(signature), Buffer.from((key ?? ring.current).sign(text, context))];
      return given.length === own.length && timingSafeEqual(given, own) ? 'GOOD' : 'BAD';
    },
    seal: (plain: string, context: string): string => ring.current.seal(plain, context),
    open: (sealed: string, context: string): string => {
      const { sealedWith, nonce, ciphertext, tag } = parse(sealed, context);
      const key = ring.byId.get(sealedWith);
      if (key === undefined) {
        throw unopened(
          context,
          `it was encrypted with another key (${sealedWith}; the current key is ${ring.current.id}). SECRET_KEY was changed or secret.key in the data folder was replaced: set SECRET_KEY_PREVIOUS to the previous key.`,
        );
      }
      try {
        const decipher = createDecipheriv(ALGORITHM, key.sealing, nonce, { authTagLength: TAG_BYTES });
        decipher.setAAD(Buffer.from(context)).setAuthTag(tag);
        return decipher.update(ciphertext, undefined, 'utf8') + decipher.final('utf8');
      } catch (error) {
        throw unopened(context, 'it was changed or moved after it was encrypted. Enter it again.', error);
      }
    },
  };
}

const prefixOf = (keyId: string): string => `${VERSION}.${keyId}.`;

function readKeys({ dataDir, secretKey, previousSecretKey }: SealerOptions): KeyRing {
  const current = new SealingKey(secretKey === undefined ? keyFromFolder(dataDir) : keyFromText(secretKey));
  const inFolder = secretKey === undefined ? previousKeyFromFolder(dataDir) : null;
  const others: [place: string, key: Buffer][] = [];
  if (previousSecretKey !== undefined) others.push(['SECRET_KEY_PREVIOUS', keyFromText(previousSecretKey)]);
  if (inFolder !== null) others.push([previousFileIn(dataDir), inFolder]);
  const previous = others
    .map(([place, key]) => ({ place, key: new SealingKey(key) }))
    // The previous key may be equal to the current one: a rotation was interrupted, or the same key was set twice.
    .filter(({ key }) => key.id !== current.id);
  return {
    current,
    byId: new Map([current, ...previous.map(({ key }) => key)].map((key) => [key.id, key])),
    previous: previous.length === 0 ? null : previous.map(({ place }) => place).join(' and '),
  };
}

class SealingKey {
  readonly id: string;
  readonly sealing: Buffer;
  readonly #signing: Buffer;

  constructor(root: Buffer) {
    this.id = derive(root, 'key id', KEY_ID_BYTES).toString('hex');
    this.sealing = derive(root, 'seal', KEY_BYTES);
    this.#signing = derive(root, 'sign', KEY_BYTES);
  }

  seal(plain: string, context: string): string {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(ALGORITHM, this.sealing, nonce, { authTagLength: TAG_BYTES });
    cipher.setAAD(Buffer.from(context));
    const sealed = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final(), cipher.getAuthTag()]);
    return `${prefixOf(this.id)}${nonce.toString('base64url')}.${sealed.toString('base64url')}`;
  }

  sign(text: string, context: string): string {
    const code = createHmac('sha256', this.#signing).update(JSON.stringify([context, text]));
    return `${prefixOf(this.id)}${code.digest('base64url')}`;
  }
}

/** Derives one key per purpose, so that the stored key id reveals nothing about the encryption key. */
function derive(root: Buffer, purpose: string, bytes: number): Buffer {
  return Buffer.from(hkdfSync('sha256', root, '', `brokergraph ${VERSION} ${purpose}`, bytes));
}

function parse(sealed: string, context: string) {
  const [version, sealedWith = '', nonce = '', body = '', ...rest] = sealed.split('.');
  const bytes = Buffer.from(body, 'base64url');
  const nonceBytes = Buffer.from(nonce, 'base64url');
  if (version !== VERSION || rest.length > 0 || nonceBytes.length !== NONCE_BYTES || bytes.length < TAG_BYTES) {
    throw unopened(context, 'its format is unknown to this version. It may have been written by a newer version.');
  }
  const end = bytes.length - TAG_BYTES;
  return { sealedWith, nonce: nonceBytes, ciphertext: bytes.subarray(0, end), tag: bytes.subarray(end) };
}

function unopened(context: string, reason: string, cause?: unknown): ServiceError {
  return new ServiceError('INTERNAL_ERROR', `The stored secret ${context} cannot be decrypted: ${reason}`, { cause });
}
