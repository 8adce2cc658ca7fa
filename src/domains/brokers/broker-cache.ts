import type { Broker, BrokerListener } from '../../generated/sqlite/client.ts';
import { ANYTHING } from '../../platform/storage/changes/changes.ts';
import { type CacheParts, RowCache } from '../../platform/storage/changes/row-cache.ts';

type DateColumn =
  | 'createdAt'
  | 'updatedAt'
  | 'canceledAt'
  | 'periodStart'
  | 'periodEnd'
  | 'deployedAt'
  | 'shutdownAt'
  | 'awaySince';

export const BROKER_PARTS = { listeners: { orderBy: { number: 'asc' } } } as const;

export type BrokerRow = Broker & { readonly listeners: readonly BrokerListener[] };

/** A cached broker: its row, with dates as ISO 8601 text. Sealed secrets remain sealed. */
export type BrokerRecord = Readonly<
  Omit<BrokerRow, DateColumn> & { [Key in DateColumn]: null extends Broker[Key] ? string | null : string }
>;

export class BrokerCache extends RowCache<BrokerRow, BrokerRecord> {
  readonly ofProject = this.listsBy(({ projectId }) => projectId);

  constructor({ db, changes, log }: CacheParts) {
    super({
      changes,
      log,
      kinds: ['broker'],
      rowsOf: (id) => db.broker.findMany({ where: id === ANYTHING ? {} : { id }, include: BROKER_PARTS }),
      toEntry: toRecord,
    });
  }
}

function toRecord(row: BrokerRow): BrokerRecord {
  return {
    ...row,
    createdAt: row.createdAt.toISOString(),
    updatedAt: row.updatedAt.toISOString(),
    canceledAt: row.canceledAt?.toISOString() ?? null,
    periodStart: row.periodStart?.toISOString() ?? null,
    periodEnd: row.periodEnd?.toISOString() ?? null,
    deployedAt: row.deployedAt?.toISOString() ?? null,
    shutdownAt: row.shutdownAt?.toISOString() ?? null,
    awaySince: row.awaySince?.toISOString() ?? null,
  };
}
