import { ServiceError } from '../../platform/errors.ts';
import type { Database } from '../../platform/storage/database.ts';
import type { RotatableSealer } from '../../platform/storage/encryption/sealed.ts';
import type { StorageLog } from '../../platform/storage/storage-log.ts';
import { SEALED_COLUMNS } from './sealed-columns.ts';
import { readabilityOf, valuesWithout } from './sealed-values.ts';

const LASTING = SEALED_COLUMNS.filter(({ ifLost }) => ifLost !== 'SHORT_LIVED');

/**
 * Refuses the start if no stored secret can be opened: new secrets would be sealed with the wrong key. Errors: INVALID.
 */
export async function checkSecretKey(
  db: Database,
  sealer: RotatableSealer,
  log: Pick<StorageLog, 'warn'>,
): Promise<void> {
  const { readablePrefixes } = sealer.keys;
  const columns = await readabilityOf(db, LASTING, readablePrefixes);
  const foreign = columns.filter(({ hasUnreadable }) => hasUnreadable);
  const [first] = foreign;
  if (first === undefined) return;
  const [value] = await valuesWithout(db, first.column, readablePrefixes, { after: null, take: 1 });
  const example = first.column.contextOf(value?.key ?? {});
  const isReadable = columns.some(({ hasReadable }) => hasReadable);
  if (!isReadable && foreign.some(({ column }) => column.ifLost !== 'STAYS')) {
    throw new ServiceError(
      'INVALID',
      `No stored secret, such as ${example}, can be opened with this key: SECRET_KEY is missing or was changed, or secret.key of the data folder was replaced. Start with the previous key, or set SECRET_KEY_PREVIOUS to it and run "brokergraph secrets rotate". If the previous key is lost, "brokergraph secrets rotate --discard-unreadable" deletes the secrets that were sealed with it`,
    );
  }
  log.warn({ example }, 'some stored secrets were sealed with another key and cannot be opened; enter them again');
}
