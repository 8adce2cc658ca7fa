import type { Logger } from 'pino';
import type { Changes } from '../../platform/storage/changes/changes.ts';
import { RowCache } from '../../platform/storage/changes/row-cache.ts';
import type { Stop } from '../mqtt/broker-session.ts';

interface HostedRow {
  readonly id: string;
  readonly brokerId: string;
}

interface HostedRowsOptions<Row> {
  readonly changes: Changes;
  readonly log: Logger;
  /** The kind of announced changes; their ids are those of the rows. */
  readonly kind: string;
  /** The row with this id, or all rows for ANYTHING. */
  readonly rowsOf: (id: string) => Promise<readonly Row[]>;
}

export class HostedRows<Row extends HostedRow> extends RowCache<Row, Row> {
  readonly #changes: Changes;
  readonly #kind: string;
  #isOwnWrite = false;

  constructor({ changes, log, kind, rowsOf }: HostedRowsOptions<Row>) {
    super({ changes, log, kinds: [kind], rowsOf, toEntry: (row) => row });
    this.#changes = changes;
    this.#kind = kind;
  }

  async written(row: Row): Promise<void> {
    this.#ownWrite(() => this.put(row));
    await this.#changes.announce(this.#kind, row.id);
  }

  async deleted(id: string): Promise<void> {
    this.#ownWrite(() => this.drop(id));
    await this.#changes.announce(this.#kind, id);
  }

  /** Notifies of each write of another process to a matching row, after the row was read. */
  follow(matches: (row: Row) => boolean, listener: () => void): Stop {
    return this.onChange((after, before) => {
      const row = after ?? before;
      if (row !== null && !this.#isOwnWrite && matches(row)) listener();
    });
  }

  /** Notifies of each broker with a changed row, whichever process wrote it. */
  onBrokerChange(listener: (brokerId: string) => void): Stop {
    return this.onChange((after, before) => {
      const row = after ?? before;
      if (row !== null) listener(row.brokerId);
    });
  }

  brokerRemoved(brokerId: string): void {
    for (const row of this.all()) if (row.brokerId === brokerId) this.drop(row.id);
  }

  #ownWrite(write: () => void): void {
    this.#isOwnWrite = true;
    try {
      write();
    } finally {
      this.#isOwnWrite = false;
    }
  }
}
