import { setTimeout as delay } from 'node:timers/promises';
import { reasonOf } from '../../../../platform/storage/message-files/batch.ts';
import { DiskUse } from '../disk-use.ts';
import type { MessageStore } from '../message-store.ts';
import { MessageTables } from './message-tables.ts';
import { MessageWriter } from './message-writer.ts';
import { PostgresqlLog } from './postgresql-log.ts';
import { StoredSegments } from './stored-segments.ts';

interface MessageDatabaseOptions {
  readonly databaseUrl: string;
  /** The writer has a problem, or no longer. */
  readonly onProblem: () => void;
  readonly onLost: (reason: string) => void;
}

/** What the streams of all brokers in a thread share: five connections at most. */
export class MessageDatabase {
  readonly tables: MessageTables;
  readonly writer: MessageWriter;

  constructor({ databaseUrl, onProblem, onLost }: MessageDatabaseOptions) {
    this.tables = new MessageTables(databaseUrl, (error) => onLost(reasonOf(error)));
    this.writer = new MessageWriter({ databaseUrl, onProblem });
  }

  async close(): Promise<void> {
    await Promise.all([this.writer.close(), this.tables.close()]);
  }
}

interface PostgresqlStoreOptions {
  readonly brokerId: string;
  /** Maximum size of the messages of the broker; it may be exceeded by what one statement stores. */
  readonly maxBytes: number;
  readonly database: MessageDatabase;
}

const CHECK_MS = 10_000;
/** How long `close` waits for messages to be stored. */
const CLOSE_MS = 2_000;

/** The stored messages of the streams of one broker, in tables that all brokers share: see decision 0034. */
export class PostgresqlStore implements MessageStore {
  readonly #options: PostgresqlStoreOptions;
  readonly #logs = new Map<string, PostgresqlLog>();
  /** Logs whose removal is not done. */
  readonly #removing = new Set<PostgresqlLog>();
  readonly #disk: DiskUse;
  readonly #timer: NodeJS.Timeout;

  private constructor(options: PostgresqlStoreOptions) {
    this.#options = options;
    this.#disk = new DiskUse(options.maxBytes);
    this.#timer = setInterval(() => this.#check(), CHECK_MS).unref();
  }

  /** Errors: those of the database. */
  static async open(options: PostgresqlStoreOptions): Promise<PostgresqlStore> {
    const { brokerId, database } = options;
    const { tables, writer } = database;
    await writer.readClock(tables.pool);
    const streams = await tables.ofBroker(brokerId);
    const store = new PostgresqlStore(options);
    for (const { id, number, segments } of streams) store.#make(id, number, segments);
    return store;
  }

  log(streamId: string): PostgresqlLog {
    return this.#logs.get(streamId) ?? this.#make(streamId, null, new StoredSegments([], 0));
  }

  ids(): readonly string[] {
    return [...this.#logs].filter(([, log]) => !log.isEmpty).map(([id]) => id);
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    const patience = new AbortController();
    const late = delay(CLOSE_MS, undefined, patience).catch(() => undefined);
    await Promise.race([Promise.allSettled([...this.#logs.values()].map((log) => log.finished())), late]);
    patience.abort();
    for (const log of [...this.#logs.values(), ...this.#removing]) log.close();
  }

  #make(streamId: string, number: number | null, segments: StoredSegments): PostgresqlLog {
    const { brokerId, database } = this.#options;
    const log: PostgresqlLog = new PostgresqlLog({
      tables: database.tables,
      writer: database.writer,
      brokerId,
      streamId,
      number,
      segments,
      disk: this.#disk,
      onRemove: () => {
        this.#logs.delete(streamId);
        this.#removing.add(log);
        return () => this.#removing.delete(log);
      },
    });
    this.#disk.add(segments.bytes);
    this.#logs.set(streamId, log);
    return log;
  }

  #check(): void {
    const { tables, writer } = this.#options.database;
    for (const log of this.#logs.values()) log.removeExpired();
    // A failure is noticed and reported when something is written.
    writer.readClock(tables.pool).catch(() => undefined);
  }
}
