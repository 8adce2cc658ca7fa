/**
 * Secrets that must be readable again (a broker's password, a client key) are stored sealed: AES-256-GCM, a random 96-bit
 * nonce for each.
 *
 * Form: `v1.<key id>.<nonce>.<ciphertext and tag>`, the last two in base64url. The key id tells a wrong key from damage.
 * The context (`brk_…/password`) is authenticated with the secret, so a sealed value moved to another row or column does
 * not open there.
 *
 * What anybody may read and nobody else may write is signed: `v1.<key id>.<HMAC-SHA-256>`, with the context in it likewise.
 *
 * Errors: ServiceError INTERNAL_ERROR for what does not open; the message names the likely cause and no secret.
 */
import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto';
import { ServiceError } from '../errors.ts';
import { KEY_BYTES, keyFromFolder, keyFromText } from './secret-key.ts';

const VERSION = 'v1';
const ALGORITHM = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const KEY_ID_BYTES = 6;

export interface Sealer {
  seal(plain: string, context: string): string;
  open(sealed: string, context: string): string;
  sign(text: string, context: string): string;
  /** `OTHER_KEY`: it was signed with a key that is not this one. */
  verify(text: string, context: string, signature: string): 'GOOD' | 'BAD' | 'OTHER_KEY';
}

export interface SealerOptions {
  /** Owned by this process: open the storage first. */
  readonly dataDir: string;
  /** Without it the key is in the data folder, and made when it is not there. */
  readonly secretKey?: string | undefined;
}

export function openSealer({ dataDir, secretKey }: SealerOptions): Sealer {
  const root = secretKey === undefined ? keyFromFolder(dataDir) : keyFromText(secretKey);
  const key = derive(root, 'seal', KEY_BYTES);
  const signingKey = derive(root, 'sign', KEY_BYTES);
  const keyId = derive(root, 'key id', KEY_ID_BYTES).toString('hex');
  const sign = (text: string, context: string): string => {
    const code = createHmac('sha256', signingKey)
      .update(JSON.stringify([context, text]))
      .digest('base64url');
    return [VERSION, keyId, code].join('.');
  };
  return {
    sign,
    verify: (text, context, signature) => {
      const [version, signedWith] = signature.split('.');
      if (version === VERSION && signedWith !== keyId) return 'OTHER_KEY';
      const [given, own] = [Buffer.from(signature), Buffer.from(sign(text, context))];
      return given.length === own.length && timingSafeEqual(given, own) ? 'GOOD' : 'BAD';
    },
    seal: (plain, context) => {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES }).setAAD(Buffer.from(context));
      const sealed = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final(), cipher.getAuthTag()]);
      return [VERSION, keyId, nonce.toString('base64url'), sealed.toString('base64url')].join('.');
    },
    open: (sealed, context) => {
      const { sealedWith, nonce, ciphertext, tag } = parse(sealed, context);
      if (sealedWith !== keyId) {
        throw unopened(
          context,
          `it was sealed with another key (${sealedWith}, this one is ${keyId}). Was SECRET_KEY changed, or secret.key of the data folder replaced?`,
        );
      }
      try {
        const decipher = createDecipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES });
        decipher.setAAD(Buffer.from(context)).setAuthTag(tag);
        return decipher.update(ciphertext, undefined, 'utf8') + decipher.final('utf8');
      } catch (error) {
        throw unopened(context, 'it was changed or moved after it was sealed. Enter it again.', error);
      }
    },
  };
}

/** One key for one purpose, so that the stored key id says nothing about the sealing key. */
function derive(root: Buffer, purpose: string, bytes: number): Buffer {
  return Buffer.from(hkdfSync('sha256', root, '', `brokergraph ${VERSION} ${purpose}`, bytes));
}

function parse(sealed: string, context: string) {
  const [version, sealedWith, nonce = '', body = '', ...rest] = sealed.split('.');
  const bytes = Buffer.from(body, 'base64url');
  const nonceBytes = Buffer.from(nonce, 'base64url');
  if (version !== VERSION || rest.length > 0 || nonceBytes.length !== NONCE_BYTES || bytes.length < TAG_BYTES) {
    throw unopened(context, 'it has a form that this version does not know. Did a newer version write it?');
  }
  const end = bytes.length - TAG_BYTES;
  return { sealedWith, nonce: nonceBytes, ciphertext: bytes.subarray(0, end), tag: bytes.subarray(end) };
}

function unopened(context: string, reason: string, cause?: unknown): ServiceError {
  return new ServiceError('INTERNAL_ERROR', `The stored secret ${context} cannot be opened: ${reason}`, { cause });
}
