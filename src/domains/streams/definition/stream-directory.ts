import type { Logger } from 'pino';
import type { Stream } from '../../../generated/sqlite/client.ts';
import { ANYTHING, type Changes } from '../../../platform/storage/changes.ts';
import type { Database } from '../../../platform/storage/database.ts';
import { Directory } from '../../../platform/storage/directory.ts';
import type { Stop } from '../../../protocol/mqtt/broker-session.ts';
import { DatabaseDefinitions, type StreamRecord, toRecord } from './database-definitions.ts';
import type { StreamDefinitions } from './stream-definitions.ts';

export interface StreamDirectoryOptions {
  readonly db: Database;
  readonly changes: Changes;
  readonly log: Logger;
}

/** The streams that this service runs, of all brokers: kept in the database, held in memory. */
export class StreamDirectory {
  readonly #options: StreamDirectoryOptions;
  readonly #directory: Directory<Stream, StreamRecord>;
  readonly #brokers = new Map<string, DatabaseDefinitions>();
  readonly #listeners = new Set<(brokerId: string) => void>();

  constructor(options: StreamDirectoryOptions) {
    const { db, changes, log } = options;
    this.#options = options;
    this.#directory = new Directory<Stream, StreamRecord>({
      changes,
      log,
      kinds: ['stream'],
      rowsOf: (id) => db.stream.findMany({ where: id === ANYTHING ? {} : { id } }),
      toEntry: toRecord,
    });
    this.#directory.onChange((after, before) => {
      const brokerId = (after ?? before)?.brokerId;
      if (brokerId === undefined) return;
      this.#of(brokerId).changed(after, before);
      for (const listener of this.#listeners) listener(brokerId);
    });
  }

  load(): Promise<void> {
    return this.#directory.load();
  }

  of(brokerId: string): StreamDefinitions {
    return this.#of(brokerId);
  }

  /** Tells of brokers that have got, lost or changed a stream, by whomever. */
  onChange(listener: (brokerId: string) => void): Stop {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Its rows went with it. */
  brokerRemoved(brokerId: string): void {
    for (const { id } of this.#of(brokerId).all()) this.#directory.drop(id);
    this.#brokers.delete(brokerId);
  }

  close(): Promise<void> {
    return this.#directory.close();
  }

  #of(brokerId: string): DatabaseDefinitions {
    const known = this.#brokers.get(brokerId);
    if (known !== undefined) return known;
    const { db, changes } = this.#options;
    const made = new DatabaseDefinitions({ brokerId, db, changes, directory: this.#directory });
    this.#brokers.set(brokerId, made);
    return made;
  }
}
