/**
 * Each batch is one transaction, so an interrupted rotation continues where it stopped. A value that changes meanwhile
 * is checked again in the next round. Errors: INVALID if there is no previous key and no new one can be generated.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { ServiceError } from '../../platform/errors.ts';
import { ConcurrencyLimit } from '../../platform/scheduling/concurrency-limit.ts';
import type { Database } from '../../platform/storage/database.ts';
import type { RotatableSealer } from '../../platform/storage/encryption/sealed.ts';
import type { AuditService } from '../audit/audit-service.ts';
import { type RowKey, SEALED_COLUMNS, type SealedColumn } from './sealed-columns.ts';
import { discardValue, replaceValue, type SealedValue, valuesWithout } from './sealed-values.ts';

const BATCH = 100;
const MAX_UNREADABLE = 100;
/** Processes that still use the previous key may write values during a pass. */
const MAX_ROUNDS = 10;

export interface UnreadableSecret {
  readonly context: string;
  readonly reason: string;
}

export interface SecretRotation {
  readonly resealed: number;
  readonly discarded: number;
  readonly unreadable: readonly UnreadableSecret[];
  readonly unreadableCount: number;
  /** Location of the previous key if it is no longer needed. */
  readonly removable: string | null;
}

interface SecretRotatorOptions {
  readonly db: Database;
  readonly sealer: RotatableSealer;
  readonly audit: Pick<AuditService, 'resign'>;
}

export class SecretRotator {
  readonly #options: SecretRotatorOptions;
  readonly #limit = new ConcurrencyLimit({ maxRunning: 1 });

  constructor(options: SecretRotatorOptions) {
    this.#options = options;
  }

  /** By default values that no key opens are reported, not deleted. */
  rotate({ discardUnreadable }: { readonly discardUnreadable?: boolean | null | undefined }): Promise<SecretRotation> {
    return this.#limit.run(() => this.#rotate(discardUnreadable ?? false));
  }

  async #rotate(discardUnreadable: boolean): Promise<SecretRotation> {
    const { sealer, audit } = this.#options;
    if (!discardUnreadable) sealer.renewKey();
    const { previous } = sealer.keys;
    if (previous === null && !discardUnreadable) throw noPreviousKey();
    const total = { resealed: 0, discarded: 0 };
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const { resealed, discarded, unreadable } = await this.#round(discardUnreadable);
      total.resealed += resealed;
      total.discarded += discarded;
      if (resealed + discarded > 0) continue;
      await audit.resign();
      const shown = unreadable.slice(0, MAX_UNREADABLE);
      return { ...total, unreadable: shown, unreadableCount: unreadable.length, removable: previous };
    }
    return { ...total, unreadable: [], unreadableCount: 0, removable: null };
  }

  async #round(discardUnreadable: boolean) {
    const { db, sealer } = this.#options;
    const round = { resealed: 0, discarded: 0, unreadable: [] as UnreadableSecret[] };
    for (const column of SEALED_COLUMNS) {
      for (let after: RowKey | null = null; ; ) {
        const page = { after, take: BATCH };
        const values: SealedValue[] = await valuesWithout(db, column, [sealer.keys.currentPrefix], page);
        const last = values.at(-1);
        if (last === undefined) break;
        after = last.key;
        await this.#batch(column, values, discardUnreadable, round);
        await nextTurn();
      }
    }
    return round;
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
        const write = replaceValue(db, column, value, sealer.seal(sealer.open(value.sealed, context), context));
        round.resealed += 1;
        return [write];
      } catch (error) {
        if (!(error instanceof ServiceError)) throw error;
        if (discardUnreadable && column.ifLost !== 'STAYS') {
          round.discarded += 1;
          return [discardValue(db, column, value)];
        }
        round.unreadable.push({ context, reason: error.message });
        return [];
      }
    });
    await db.$transaction(writes);
  }
}

function noPreviousKey(): ServiceError {
  return new ServiceError(
    'INVALID',
    'The service has no previous key: only SECRET_KEY is set. Set SECRET_KEY to the new key and SECRET_KEY_PREVIOUS to the current one, restart the service, and repeat the command',
  );
}
