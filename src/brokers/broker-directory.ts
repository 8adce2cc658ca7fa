import type { Logger } from 'pino';
import type { Broker } from '../generated/sqlite/client.ts';
import { ANYTHING, type Changes } from '../storage/changes.ts';
import type { Database } from '../storage/database.ts';
import { Rereading } from '../storage/rereading.ts';

type Moment = 'createdAt' | 'updatedAt' | 'canceledAt' | 'periodStart' | 'periodEnd' | 'deployedAt' | 'shutdownAt';

/** A broker as it is held in memory: its row, moments as ISO 8601 text. Sealed secrets stay sealed. */
export type BrokerRecord = Readonly<
  Omit<Broker, Moment> & { [Key in Moment]: null extends Broker[Key] ? string | null : string }
>;

/** Told after the directory changed; null is the state before an addition, or after a removal. */
export type BrokerListener = (after: BrokerRecord | null, before: BrokerRecord | null) => void;

/**
 * Every broker, in memory: a link is kept to each of them anyway, and almost every request looks one up. Lists are in order
 * of creation. Kept true by its own service's writes and, with several processes, by the database's notifications.
 */
export class BrokerDirectory {
  readonly #db: Database;
  readonly #brokers = new Map<string, BrokerRecord>();
  readonly #byProject = new Map<string, readonly BrokerRecord[]>();
  readonly #listeners = new Set<BrokerListener>();
  readonly #rereading: Rereading;
  readonly #stop: () => void;

  constructor({ db, changes, log }: { readonly db: Database; readonly changes: Changes; readonly log: Logger }) {
    this.#db = db;
    this.#rereading = new Rereading(log, (id, isOutdated) => this.#read(id, isOutdated));
    this.#stop = changes.on('broker', this.#rereading.listener);
  }

  async load(): Promise<void> {
    await this.#read(ANYTHING, () => false);
  }

  /** What a write of this process left. */
  put(row: Broker): BrokerRecord {
    this.#rereading.written(row.id);
    return this.#keep(row);
  }

  drop(id: string): void {
    this.#rereading.written(id);
    this.#forget(id);
  }

  async #read(id: string, isOutdated: (id: string) => boolean): Promise<void> {
    const where = id === ANYTHING ? {} : { id };
    const rows = await this.#db.broker.findMany({ where, orderBy: { id: 'asc' } });
    const found = new Set(rows.map((row) => row.id));
    const gone = id === ANYTHING ? [...this.#brokers.keys()] : [id];
    for (const known of gone) if (!found.has(known) && !isOutdated(known)) this.#forget(known);
    for (const row of rows) if (!isOutdated(row.id)) this.#keep(row);
  }

  #keep(row: Broker): BrokerRecord {
    const before = this.#brokers.get(row.id) ?? null;
    const after = toRecord(row);
    // The same row read twice (own write, then its notification) is no change.
    if (before !== null && JSON.stringify(before) === JSON.stringify(after)) return before;
    this.#brokers.set(row.id, after);
    this.#byProject.delete(after.projectId);
    for (const listener of this.#listeners) listener(after, before);
    return after;
  }

  #forget(id: string): void {
    const before = this.#brokers.get(id);
    if (before === undefined) return;
    this.#brokers.delete(id);
    this.#byProject.delete(before.projectId);
    for (const listener of this.#listeners) listener(null, before);
  }

  get(id: string): BrokerRecord | null {
    return this.#brokers.get(id) ?? null;
  }

  all(): IterableIterator<BrokerRecord> {
    return this.#brokers.values();
  }

  /** In order of creation; the same array until one of them changes. */
  ofProject(projectId: string): readonly BrokerRecord[] {
    const known = this.#byProject.get(projectId);
    if (known !== undefined) return known;
    const brokers = [...this.#brokers.values()].filter((broker) => broker.projectId === projectId);
    brokers.sort((a, b) => (a.id < b.id ? -1 : 1));
    this.#byProject.set(projectId, brokers);
    return brokers;
  }

  onChange(listener: BrokerListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async close(): Promise<void> {
    this.#stop();
    await this.#rereading.settled();
  }
}

function toRecord(row: Broker): BrokerRecord {
  return {
    ...row,
    createdAt: row.createdAt.toISOString(),
    updatedAt: row.updatedAt.toISOString(),
    canceledAt: row.canceledAt?.toISOString() ?? null,
    periodStart: row.periodStart?.toISOString() ?? null,
    periodEnd: row.periodEnd?.toISOString() ?? null,
    deployedAt: row.deployedAt?.toISOString() ?? null,
    shutdownAt: row.shutdownAt?.toISOString() ?? null,
  };
}
