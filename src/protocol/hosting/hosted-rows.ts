import type { Logger } from 'pino';
import type { Changes } from '../../platform/storage/changes.ts';
import { Directory } from '../../platform/storage/directory.ts';
import type { Stop } from '../mqtt/broker-session.ts';

/** A row that says how something beside a broker is to run. */
export interface HostedRow {
  readonly id: string;
  readonly brokerId: string;
}

export interface HostedRowsOptions<Row> {
  readonly changes: Changes;
  readonly log: Logger;
  /** Of announced changes: each is told with the id of its row. */
  readonly kind: string;
  /** Those of an id, or with ANYTHING all. */
  readonly rowsOf: (id: string) => Promise<readonly Row[]>;
}

/** How what is hosted beside brokers is to run, one row each: kept in the database, held in memory, shared by processes. */
export class HostedRows<Row extends HostedRow> {
  readonly #options: HostedRowsOptions<Row>;
  readonly #directory: Directory<Row, Row>;
  /** By row. */
  readonly #followers = new Map<string, Set<() => void>>();
  readonly #listeners = new Set<(brokerId: string) => void>();
  /** What this process wrote is being noted, which is no news to whom follows the row. */
  #isOwn = false;

  constructor(options: HostedRowsOptions<Row>) {
    const { changes, log, kind, rowsOf } = options;
    this.#options = options;
    this.#directory = new Directory<Row, Row>({ changes, log, kinds: [kind], rowsOf, toEntry: (row) => row });
    this.#directory.onChange((after, before) => {
      const row = after ?? before;
      if (row !== null) this.#changed(row);
    });
  }

  load(): Promise<void> {
    return this.#directory.load();
  }

  get(id: string): Row | null {
    return this.#directory.get(id);
  }

  /** What this process has written; tells the others. */
  async written(row: Row): Promise<void> {
    const { changes, kind } = this.#options;
    this.#isOwn = true;
    try {
      this.#directory.put(row);
    } finally {
      this.#isOwn = false;
    }
    await changes.announce(kind, row.id);
  }

  /** Tells that another process wrote the row, which has been read. Never of own writes. */
  follow(id: string, listener: () => void): Stop {
    const followers = this.#followers.get(id) ?? new Set();
    this.#followers.set(id, followers.add(listener));
    return () => {
      followers.delete(listener);
      if (followers.size === 0 && this.#followers.get(id) === followers) this.#followers.delete(id);
    };
  }

  /** Tells of brokers that a row of changed, by whomever. */
  onChange(listener: (brokerId: string) => void): Stop {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Its rows went with it. */
  brokerRemoved(brokerId: string): void {
    for (const row of this.#directory.all()) if (row.brokerId === brokerId) this.#directory.drop(row.id);
  }

  close(): Promise<void> {
    return this.#directory.close();
  }

  #changed({ id, brokerId }: Row): void {
    if (!this.#isOwn) for (const follower of [...(this.#followers.get(id) ?? [])]) follower();
    for (const listener of this.#listeners) listener(brokerId);
  }
}
