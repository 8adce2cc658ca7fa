/**
 * Seals every stored secret again with the current key, column by column and in batches. Each batch is one transaction, so a rotation
 * that is interrupted continues where it was: values with the current key are not read again. A value that was changed since it was read
 * is left as it is, and looked at once more in the next round.
 *
 * Errors: INVALID if there is no previous key, and none can be generated.
 */
import { setImmediate as others } from 'node:timers/promises';
import { ServiceError } from '../../platform/errors.ts';
import type { Database } from '../../platform/storage/database.ts';
import type { RotatableSealer } from '../../platform/storage/sealed.ts';
import type { AuditService } from '../audit/audit-service.ts';
import { type RowKey, SEALED_COLUMNS, type SealedColumn } from './sealed-columns.ts';
import { discarded, replaced, type SealedValue, valuesWithout } from './sealed-values.ts';

/** Values sealed again in one transaction. */
const BATCH = 100;
/** Further values that cannot be opened are counted and not named. */
const MAX_UNREADABLE = 100;
/** Other processes that have no new key yet may write values with the previous one; so often all columns are read at most. */
const MAX_ROUNDS = 10;

export interface UnreadableSecret {
  /** What was sealed, as `brk_…/password`. */
  readonly context: string;
  readonly reason: string;
}

export interface SecretRotation {
  /** Values that were sealed again by this call. */
  readonly resealed: number;
  /** Values that no key opens and that were deleted, because the caller said so. */
  readonly discarded: number;
  /** The first MAX_UNREADABLE values that no key opens, and that are still stored. */
  readonly unreadable: readonly UnreadableSecret[];
  readonly unreadableCount: number;
  /** Where the previous key is, which is not needed any more. `null` while values are sealed with it. */
  readonly removable: string | null;
}

export interface SecretRotatorOptions {
  readonly db: Database;
  readonly sealer: RotatableSealer;
  readonly audit: Pick<AuditService, 'resign'>;
}

export interface RotationWish {
  /** Whether values that no key opens are deleted. Default: they stay, and are reported. */
  readonly discardUnreadable?: boolean | null | undefined;
}

export class SecretRotator {
  readonly #options: SecretRotatorOptions;
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: SecretRotatorOptions) {
    this.#options = options;
  }

  /** One at a time; another call waits, and finds little left to do. */
  rotate(wish: RotationWish): Promise<SecretRotation> {
    const rotation = this.#last.then(() => this.#rotate(wish.discardUnreadable ?? false));
    this.#last = rotation.catch(() => undefined);
    return rotation;
  }

  async #rotate(discardUnreadable: boolean): Promise<SecretRotation> {
    const { sealer, audit } = this.#options;
    if (!discardUnreadable) sealer.renewKey();
    const { previous } = sealer.keys;
    if (previous === null && !discardUnreadable) throw withoutPrevious();
    const total = { resealed: 0, discarded: 0 };
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const { resealed, discarded: gone, unreadable } = await this.#round(discardUnreadable);
      total.resealed += resealed;
      total.discarded += gone;
      if (resealed + gone > 0) continue;
      await audit.resign();
      const shown = unreadable.slice(0, MAX_UNREADABLE);
      return { ...total, unreadable: shown, unreadableCount: unreadable.length, removable: previous };
    }
    return { ...total, unreadable: [], unreadableCount: 0, removable: null };
  }

  /** All columns once. */
  async #round(discardUnreadable: boolean) {
    const round = { resealed: 0, discarded: 0, unreadable: [] as UnreadableSecret[] };
    for (const column of SEALED_COLUMNS) {
      for (let after: RowKey | null = null; ; ) {
        const values = await this.#others(column, after);
        const last = values.at(-1);
        if (last === undefined) break;
        after = last.key;
        await this.#batch(column, values, discardUnreadable, round);
        // SQLite answers without a pause: other requests run here.
        await others();
      }
    }
    return round;
  }

  #others(column: SealedColumn, after: RowKey | null): Promise<SealedValue[]> {
    const { db, sealer } = this.#options;
    return valuesWithout(db, column, [sealer.keys.currentPrefix], { after, take: BATCH });
  }

  async #batch(
    column: SealedColumn,
    values: readonly SealedValue[],
    discardUnreadable: boolean,
    round: { resealed: number; discarded: number; readonly unreadable: UnreadableSecret[] },
  ): Promise<void> {
    const { db, sealer } = this.#options;
    const writes = values.flatMap((value) => {
      const context = column.contextOf(value.key);
      try {
        const write = replaced(db, column, value, sealer.seal(sealer.open(value.sealed, context), context));
        round.resealed += 1;
        return [write];
      } catch (error) {
        if (!(error instanceof ServiceError)) throw error;
        if (discardUnreadable && column.ifLost !== 'KEPT') {
          round.discarded += 1;
          return [discarded(db, column, value)];
        }
        round.unreadable.push({ context, reason: error.message });
        return [];
      }
    });
    await db.$transaction(writes);
  }
}

function withoutPrevious(): ServiceError {
  return new ServiceError(
    'INVALID',
    'There is no previous key: this service runs with SECRET_KEY alone. Set SECRET_KEY to the new key and SECRET_KEY_PREVIOUS to the one so far, start the service again, and repeat the command',
  );
}
