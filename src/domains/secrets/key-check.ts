import { ServiceError } from '../../platform/errors.ts';
import type { Database } from '../../platform/storage/database.ts';
import type { RotatableSealer } from '../../platform/storage/encryption/sealed.ts';
import type { StorageLog } from '../../platform/storage/storage-log.ts';
import { SEALED_COLUMNS, type SealedColumn } from './sealed-columns.ts';
import { hasValueWith, valuesWithout } from './sealed-values.ts';

/**
 * Refuses the start if no stored secret can be opened: new secrets would be sealed with the wrong key. Errors: INVALID.
 */
export async function checkSecretKey(
  db: Database,
  sealer: RotatableSealer,
  log: Pick<StorageLog, 'warn'>,
): Promise<void> {
  const { readablePrefixes } = sealer.keys;
  const foreign: (SealedColumn & { readonly example: string })[] = [];
  let isReadable = false;
  for (const column of SEALED_COLUMNS) {
    if (column.ifLost === 'SHORT_LIVED') continue;
    const [value] = await valuesWithout(db, column, readablePrefixes, { after: null, take: 1 });
    if (value !== undefined) foreign.push({ example: column.contextOf(value.key), ...column });
    isReadable ||= await hasValueWith(db, column, readablePrefixes);
  }
  const [first] = foreign;
  if (first === undefined) return;
  const { example } = first;
  if (!isReadable && foreign.some(({ ifLost }) => ifLost !== 'STAYS')) {
    throw new ServiceError(
      'INVALID',
      `No stored secret, such as ${example}, can be opened with this key: SECRET_KEY is missing or was changed, or secret.key of the data folder was replaced. Start with the previous key, or set SECRET_KEY_PREVIOUS to it and run "brokergraph secrets rotate". If the previous key is lost, "brokergraph secrets rotate --discard-unreadable" deletes the secrets that were sealed with it`,
    );
  }
  log.warn({ example }, 'some stored secrets were sealed with another key and cannot be opened; enter them again');
}
