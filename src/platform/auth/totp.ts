import { Secret, TOTP } from 'otpauth';

/** Time step of one-time codes (RFC 6238). All authenticator apps support SHA-1, six digits and 30 seconds. */
const STEP_MS = 30_000;
/** RFC 4226 4, R6: 160 bits. */
const SECRET_BYTES = 20;
/** In steps, of the clock of the app. */
const TOLERANCE = 1;

export const newTotpSecret = (): string => new Secret({ size: SECRET_BYTES }).base32;

/** The content of a QR code for the app. It contains the secret. */
export const totpUrl = (secret: string, account: string): string =>
  new TOTP({ issuer: 'Brokergraph', label: account, secret }).toString();

/** The time step of a code, or `null` if the code is wrong or outside of the tolerance. `now` in epoch milliseconds. */
export function stepOfCode(secret: string, code: string, now = Date.now()): number | null {
  if (!isTotpCode(code)) return null;
  const delta = new TOTP({ secret }).validate({ token: code, timestamp: now, window: TOLERANCE });
  return delta === null ? null : Math.floor(now / STEP_MS) + delta;
}

export const isTotpCode = (code: string): boolean => /^\d{6}$/.test(code);
