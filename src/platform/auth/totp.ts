import { Secret, TOTP } from 'otpauth';

/**
 * Codes that change with time (RFC 6238), with what every authenticator app can do: SHA-1, six digits, a new one every 30 seconds.
 */
const STEP_MS = 30_000;
/** RFC 4226 4, R6: 160 bits. */
const SECRET_BYTES = 20;
/** Steps that the clock of the app may be off, either way. */
const TOLERANCE = 1;

/** A new secret in base32, as people type it. */
export const newTotpSecret = (): string => new Secret({ size: SECRET_BYTES }).base32;

/** What an app reads from a QR code; it has the secret in it. */
export const totpUrl = (secret: string, account: string): string =>
  new TOTP({ issuer: 'Brokergraph', label: account, secret }).toString();

/** The number of the step whose code it is, within the tolerance; null: of none. Epoch milliseconds. */
export function stepOfCode(secret: string, code: string, now = Date.now()): number | null {
  if (!isTotpCode(code)) return null;
  const delta = new TOTP({ secret }).validate({ token: code, timestamp: now, window: TOLERANCE });
  return delta === null ? null : Math.floor(now / STEP_MS) + delta;
}

export const isTotpCode = (code: string): boolean => /^\d{6}$/.test(code);
