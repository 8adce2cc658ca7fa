import { createHash, randomBytes } from 'node:crypto';
import { notFound, ServiceError } from '../errors.ts';
import type { Changes } from '../storage/changes.ts';
import type { Database } from '../storage/database.ts';
import type { Sealer } from '../storage/sealed.ts';
import { isTotpCode, newTotpSecret, stepOfCode, totpUrl } from './totp.ts';

/** Each opens one session in place of a code, when the app is lost. */
const RECOVERY_CODES = 10;
const ALPHABET = 'abcdefghijkmnpqrstuvwxyz23456789';

/** What is read of a person to check a code. */
export interface SecondFactorHolder {
  readonly id: string;
  readonly totpSecret: string | null;
  readonly totpSince: Date | null;
}

export interface SecondFactorsOptions {
  readonly db: Database;
  readonly changes: Changes;
  readonly sealer: Pick<Sealer, 'seal' | 'open'>;
}

/**
 * The second factor of people with a password here: codes of an authenticator app, and recovery codes for when it is lost.
 *
 * A code is taken once, whichever process it is shown to: the step that was taken last is written on condition that it was an
 * earlier one. A secret counts once a code has shown that the app has it.
 */
export class SecondFactors {
  readonly #db: Database;
  readonly #changes: Changes;
  readonly #sealer: SecondFactorsOptions['sealer'];

  constructor({ db, changes, sealer }: SecondFactorsOptions) {
    this.#db = db;
    this.#changes = changes;
    this.#sealer = sealer;
  }

  /** A secret for the app; a former one that was never confirmed is forgotten. Errors: NOT_FOUND, ALREADY_EXISTS, NOT_ALLOWED. */
  async begin(userId: string): Promise<{ readonly secret: string; readonly url: string }> {
    const user = await this.#db.user.findUnique({ where: { id: userId } });
    if (user === null) throw notFound('user', userId);
    if (user.ssoType !== null) {
      throw new ServiceError('NOT_ALLOWED', 'You sign in elsewhere; a second factor is asked for there');
    }
    const secret = newTotpSecret();
    const { count } = await this.#db.user.updateMany({
      where: { id: userId, totpSince: null },
      data: { totpSecret: this.#sealer.seal(secret, secondFactorContext(userId)), totpStep: null },
    });
    if (count === 0) throw new ServiceError('ALREADY_EXISTS', 'You have a second factor; remove it first');
    return { secret, url: totpUrl(secret, user.email) };
  }

  /**
   * With a code of the app the factor counts, and the person's other sessions end, which were opened without it. Answers the
   * recovery codes, which are told this once; null: the code is wrong. Errors: NOT_FOUND when none was begun.
   */
  async confirm(userId: string, code: string, exceptSession: string): Promise<readonly string[] | null> {
    const user = await this.#db.user.findUnique({ where: { id: userId } });
    if (user === null || user.totpSecret === null || user.totpSince !== null) {
      throw new ServiceError('NOT_FOUND', 'There is no second factor to confirm; begin with one');
    }
    const step = stepOfCode(this.#open(user.id, user.totpSecret), code.trim());
    if (step === null) return null;
    const codes = newRecoveryCodes();
    await this.#db.$transaction(async (db) => {
      const { count } = await db.user.updateMany({
        where: { id: userId, totpSecret: user.totpSecret, totpSince: null },
        data: { totpSince: new Date(), totpStep: step },
      });
      if (count === 0) throw new ServiceError('NOT_FOUND', 'The second factor was begun anew meanwhile; begin again');
      await db.recoveryCode.deleteMany({ where: { userId } });
      await db.recoveryCode.createMany({ data: codes.map((one) => ({ userId, codeHash: hashOf(one) })) });
      await db.session.deleteMany({ where: { userId, id: { not: exceptSession } } });
    });
    await this.#changes.announce('user', userId);
    return codes;
  }

  /** Takes a code of the app or a recovery code: each once. False: wrong, or taken before. */
  async take({ id, totpSecret, totpSince }: SecondFactorHolder, code: string): Promise<boolean> {
    if (totpSecret === null || totpSince === null) return false;
    const given = code.trim();
    if (!isTotpCode(given)) {
      const { count } = await this.#db.recoveryCode.deleteMany({ where: { userId: id, codeHash: hashOf(given) } });
      return count === 1;
    }
    const totpStep = stepOfCode(this.#open(id, totpSecret), given);
    if (totpStep === null) return false;
    const { count } = await this.#db.user.updateMany({
      where: { id, totpSecret, totpSince, OR: [{ totpStep: null }, { totpStep: { lt: totpStep } }] },
      data: { totpStep },
    });
    return count === 1;
  }

  /** Passwords alone are enough from now on. Errors: NOT_FOUND when there is none. */
  async remove(userId: string): Promise<void> {
    if (!(await this.#clear(userId, false))) throw new ServiceError('NOT_FOUND', 'There is no second factor');
    await this.#changes.announce('user', userId);
  }

  /**
   * As `remove`, for somebody who has lost it. The person's sessions end: whoever found the app may be signed in.
   * Errors: NOT_FOUND.
   */
  async reset(userId: string): Promise<void> {
    if (!(await this.#clear(userId, true))) throw notFound('user', userId);
    await this.#changes.announce('user', userId);
  }

  /** Recovery codes that were not used yet. */
  async recoveryCodesLeft(userId: string): Promise<number> {
    return this.#db.recoveryCode.count({ where: { userId } });
  }

  async #clear(userId: string, isReset: boolean): Promise<boolean> {
    return this.#db.$transaction(async (db) => {
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
    return this.#sealer.open(sealed, secondFactorContext(userId));
  }
}

export const secondFactorContext = (userId: string): string => `${userId}/second-factor`;

/** 80 random bits each, so that their hashes tell nothing: "abcd-efgh-ijkm-npqr". */
function newRecoveryCodes(): readonly string[] {
  return Array.from({ length: RECOVERY_CODES }, () => {
    const letters = Array.from(randomBytes(16), (byte) => ALPHABET[byte % ALPHABET.length]).join('');
    return (letters.match(/.{4}/g) ?? []).join('-');
  });
}

/** However the letters were typed. */
const hashOf = (code: string): string =>
  createHash('sha256').update(code.toLowerCase().replace(/[\s-]/g, '')).digest('hex');
