import { createHash } from 'node:crypto';
import { Secret, TOTP } from 'otpauth';
import { notFound, ServiceError } from '../errors.ts';
import type { Changes } from '../storage/changes/changes.ts';
import type { Database } from '../storage/database.ts';
import type { Sealer } from '../storage/encryption/sealed.ts';
import { typeableText } from './passwords.ts';

const RECOVERY_CODES = 10;

interface SecondFactorHolder {
  readonly id: string;
  readonly totpSecret: string | null;
  readonly totpSince: Date | null;
}

interface SecondFactorsOptions {
  readonly db: Database;
  readonly changes: Changes;
  readonly sealer: Pick<Sealer, 'seal' | 'open'>;
}

/**
 * Codes of an authenticator app, and recovery codes, for users with a local password. A code is accepted once over all
 * processes: a conditional update stores its time step, which must be later than the stored one.
 */
export class SecondFactors {
  readonly #options: SecondFactorsOptions;

  constructor(options: SecondFactorsOptions) {
    this.#options = options;
  }

  /** Creates a secret for the app and replaces an unconfirmed one. Errors: NOT_FOUND, ALREADY_EXISTS, NOT_ALLOWED. */
  async begin(userId: string): Promise<{ readonly secret: string; readonly url: string }> {
    const user = await this.#options.db.user.findUnique({ where: { id: userId } });
    if (user === null) throw notFound('user', userId);
    if (user.ssoType !== null) {
      throw new ServiceError('NOT_ALLOWED', 'You sign in at an external provider; set up a second factor there');
    }
    const secret = newTotpSecret();
    const { count } = await this.#options.db.user.updateMany({
      where: { id: userId, totpSince: null },
      data: { totpSecret: this.#options.sealer.seal(secret, secondFactorContext(userId)), totpStep: null },
    });
    if (count === 0) throw new ServiceError('ALREADY_EXISTS', 'You already have a second factor; remove it first');
    return { secret, url: totpUrl(secret, user.email) };
  }

  /**
   * Ends the other sessions of the user. Returns the recovery codes, or `null` if the code is wrong. Errors: NOT_FOUND
   * if no second factor waits for confirmation.
   */
  async confirm(userId: string, code: string, exceptSession: string): Promise<readonly string[] | null> {
    const user = await this.#options.db.user.findUnique({ where: { id: userId } });
    if (user === null || user.totpSecret === null || user.totpSince !== null) {
      throw new ServiceError('NOT_FOUND', 'There is no second factor to confirm; set one up first');
    }
    const step = stepOfCode(this.#open(user.id, user.totpSecret), compact(code));
    if (step === null) return null;
    const codes = newRecoveryCodes();
    await this.#options.db.$transaction(async (db) => {
      const { count } = await db.user.updateMany({
        where: { id: userId, totpSecret: user.totpSecret, totpSince: null },
        data: { totpSince: new Date(), totpStep: step },
      });
      if (count === 0) {
        const message = 'The second factor was set up again meanwhile; confirm the new one with its code';
        throw new ServiceError('NOT_FOUND', message);
      }
      await db.recoveryCode.deleteMany({ where: { userId } });
      await db.recoveryCode.createMany({ data: codes.map((one) => ({ userId, codeHash: hashOf(one) })) });
      await db.session.deleteMany({ where: { userId, id: { not: exceptSession } } });
    });
    await this.#options.changes.announce('user', userId);
    return codes;
  }

  /** Accepts a code of the app or a recovery code, each once. Returns false if the code is wrong or was used before. */
  async take({ id, totpSecret, totpSince }: SecondFactorHolder, code: string): Promise<boolean> {
    if (totpSecret === null || totpSince === null) return false;
    const given = compact(code);
    if (!isTotpCode(given)) {
      const where = { userId: id, codeHash: hashOf(given) };
      const { count } = await this.#options.db.recoveryCode.deleteMany({ where });
      return count === 1;
    }
    const totpStep = stepOfCode(this.#open(id, totpSecret), given);
    if (totpStep === null) return false;
    const { count } = await this.#options.db.user.updateMany({
      where: { id, totpSecret, totpSince, OR: [{ totpStep: null }, { totpStep: { lt: totpStep } }] },
      data: { totpStep },
    });
    return count === 1;
  }

  /** Removes the second factor. Errors: NOT_FOUND if the user has none. */
  async remove(userId: string): Promise<void> {
    if (!(await this.#clear(userId, false))) throw new ServiceError('NOT_FOUND', 'There is no second factor');
    await this.#options.changes.announce('user', userId);
  }

  /** Removes a lost second factor and ends all sessions of the user, in case the app was stolen. Errors: NOT_FOUND. */
  async reset(userId: string): Promise<void> {
    if (!(await this.#clear(userId, true))) throw notFound('user', userId);
    await this.#options.changes.announce('user', userId);
  }

  async recoveryCodesLeft(userId: string): Promise<number> {
    return this.#options.db.recoveryCode.count({ where: { userId } });
  }

  async #clear(userId: string, isReset: boolean): Promise<boolean> {
    return this.#options.db.$transaction(async (db) => {
      const { count } = await db.user.updateMany({
        where: { id: userId, ...(isReset ? {} : { totpSince: { not: null } }) },
        data: { totpSecret: null, totpSince: null, totpStep: null },
      });
      await db.recoveryCode.deleteMany({ where: { userId } });
      if (isReset) await db.session.deleteMany({ where: { userId } });
      return count === 1;
    });
  }

  #open(userId: string, sealed: string): string {
    return this.#options.sealer.open(sealed, secondFactorContext(userId));
  }
}

export const secondFactorContext = (userId: string): string => `${userId}/second-factor`;

/** Codes such as "abcd-efgh-ijkm-npqr". With 80 random bits each, their hashes cannot be reversed by guessing. */
const newRecoveryCodes = () => Array.from({ length: RECOVERY_CODES }, () => typeableText(16, 4));

/** Apps and lists show codes in groups. */
const compact = (code: string): string => code.replace(/[\s-]/g, '');

const hashOf = (code: string): string => createHash('sha256').update(compact(code).toLowerCase()).digest('hex');

/** Time step of one-time codes (RFC 6238). All authenticator apps support SHA-1, six digits and 30 seconds. */
const STEP_MS = 30_000;
/** RFC 4226 4, R6: 160 bits. */
const SECRET_BYTES = 20;
/** In steps, of the clock of the app. */
const TOLERANCE = 1;

const newTotpSecret = (): string => new Secret({ size: SECRET_BYTES }).base32;

/** The content of a QR code for the app. It contains the secret. */
const totpUrl = (secret: string, account: string): string =>
  new TOTP({ issuer: 'Brokergraph', label: account, secret }).toString();

/** The time step of a code, or `null` if the code is wrong or outside of the tolerance. `now` in epoch milliseconds. */
export function stepOfCode(secret: string, code: string, now = Date.now()): number | null {
  if (!isTotpCode(code)) return null;
  const delta = new TOTP({ secret }).validate({ token: code, timestamp: now, window: TOLERANCE });
  return delta === null ? null : Math.floor(now / STEP_MS) + delta;
}

const isTotpCode = (code: string): boolean => /^\d{6}$/.test(code);
