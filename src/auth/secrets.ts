import { createHash, randomBytes } from 'node:crypto';
import { ServiceError } from '../errors.ts';

/**
 * Bearer secrets: a prefix that says what it is (and that secret scanners can find), then 32 random bytes. Only the SHA-256
 * is stored; with 256 random bits a slow hash would add nothing.
 */
export const SECRET_PREFIX = { session: 'bgs_', projectToken: 'bgp_' } as const;

export type SecretKind = keyof typeof SECRET_PREFIX;

export function newSecret(kind: SecretKind): string {
  return SECRET_PREFIX[kind] + randomBytes(32).toString('base64url');
}

export function kindOfSecret(secret: string): SecretKind | null {
  if (secret.startsWith(SECRET_PREFIX.session)) return 'session';
  if (secret.startsWith(SECRET_PREFIX.projectToken)) return 'projectToken';
  return null;
}

export const hashSecret = (secret: string): string => createHash('sha256').update(secret).digest('hex');

/** The same for each of the three, so that it tells nothing about what was presented. */
export const unknownCredential = (): ServiceError =>
  new ServiceError('UNAUTHORIZED', 'The session or token is unknown, expired or revoked');
