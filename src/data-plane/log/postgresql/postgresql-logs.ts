import { LogStore } from '../log-store.ts';
import { LogWriter } from '../log-writer.ts';
import { PostgresqlDisk } from './postgresql-disk.ts';

interface LogDatabaseOptions {
  readonly databaseUrl: string;
  /** Messages begin to wait, with the reason, or no longer wait: `null`. */
  readonly onProblem: (problem: string | null) => void;
  readonly onLost: (reason: string) => void;
}

interface LogsOptions {
  readonly brokerId: string;
  /** Maximum size of the messages of the broker; it may be exceeded by what one statement stores. */
  readonly maxBytes: number;
  readonly onProblem: (name: string | null, reason: string) => void;
}

/** How long `close` waits for messages to be stored. */
const CLOSE_MS = 2_000;

/** What the logs of all brokers in a thread share: the connections and the writer. */
export class LogDatabase {
  readonly disk: PostgresqlDisk;
  readonly writer: LogWriter;

  constructor({ databaseUrl, onProblem, onLost }: LogDatabaseOptions) {
    this.disk = new PostgresqlDisk(databaseUrl, onLost);
    this.writer = new LogWriter({ disk: this.disk, onProblem });
  }

  /** Takes over the logs of a broker. Errors: those of the database. */
  async open({ brokerId, ...options }: LogsOptions): Promise<LogStore> {
    const opened = await this.disk.open(brokerId);
    return new LogStore({ ...options, disk: this.disk, writer: this.writer, opened, closeMs: CLOSE_MS });
  }

  async close(): Promise<void> {
    await Promise.all([this.writer.close(), this.disk.close()]);
  }
}
