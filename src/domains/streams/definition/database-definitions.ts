import type { Stream } from '../../../generated/sqlite/client.ts';
import { ServiceError } from '../../../platform/errors.ts';
import type { Changes } from '../../../platform/storage/changes.ts';
import type { Database } from '../../../platform/storage/database.ts';
import type { Directory } from '../../../platform/storage/directory.ts';
import { goneMeansNotFound, isUniqueViolation } from '../../../platform/storage/prisma-errors.ts';
import type { Stop } from '../../../protocol/mqtt/broker-session.ts';
import type { StreamDefinition, StreamQos } from '../model/stream-definition.ts';
import type { StreamQuery } from '../model/stream-query.ts';
import type { KeptDefinition, StreamDefinitions } from './stream-definitions.ts';

/** A stream as it is held in memory. */
export interface StreamRecord extends KeptDefinition {
  readonly brokerId: string;
}

export interface DatabaseDefinitionsOptions {
  readonly brokerId: string;
  readonly db: Database;
  readonly changes: Changes;
  /** Of all brokers. */
  readonly directory: Directory<Stream, StreamRecord>;
}

/** The streams of one broker. Errors of `save`: ALREADY_EXISTS (another process took the name), NOT_FOUND (it, or its broker, is gone). */
export class DatabaseDefinitions implements StreamDefinitions {
  readonly #options: DatabaseDefinitionsOptions;
  readonly #byId = new Map<string, StreamRecord>();
  readonly #byName = new Map<string, StreamRecord>();
  readonly #listeners = new Set<() => void>();
  #sorted: readonly StreamRecord[] | null = null;
  /** What this process wrote is being noted, which is no news. */
  #isOwn = false;

  constructor(options: DatabaseDefinitionsOptions) {
    this.#options = options;
  }

  all(): readonly StreamRecord[] {
    this.#sorted ??= [...this.#byId.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
    return this.#sorted;
  }

  byName(name: string): StreamRecord | null {
    return this.#byName.get(name) ?? null;
  }

  async save({ id, definition }: KeptDefinition): Promise<void> {
    const { brokerId, db, changes, directory } = this.#options;
    const data = { ...definition, query: JSON.stringify(definition.query) };
    const write = this.#byId.has(id)
      ? db.stream.update({ where: { id }, data }).catch(goneMeansNotFound('stream', definition.name))
      : db.stream.create({ data: { ...data, id, brokerId } }).catch(goneMeansNotFound('broker', brokerId));
    const row = await write.catch((error: unknown) => {
      if (!isUniqueViolation(error)) throw error;
      throw new ServiceError('ALREADY_EXISTS', 'Stream already exists');
    });
    this.#note(() => directory.put(row));
    await changes.announce('stream', id);
  }

  async remove(id: string): Promise<void> {
    const { db, changes, directory } = this.#options;
    await db.stream.deleteMany({ where: { id } });
    this.#note(() => directory.drop(id));
    await changes.announce('stream', id);
  }

  onChange(listener: () => void): Stop {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** The directory has it otherwise now. */
  changed(after: StreamRecord | null, before: StreamRecord | null): void {
    if (before !== null) {
      this.#byId.delete(before.id);
      // One that was made under the name of one that was deleted may be known before that is.
      if (this.#byName.get(before.definition.name)?.id === before.id) this.#byName.delete(before.definition.name);
    }
    if (after !== null) {
      this.#byId.set(after.id, after);
      this.#byName.set(after.definition.name, after);
    }
    this.#sorted = null;
    if (!this.#isOwn) for (const listener of this.#listeners) listener();
  }

  #note(change: () => void): void {
    this.#isOwn = true;
    try {
      change();
    } finally {
      this.#isOwn = false;
    }
  }
}

export function toRecord({ createdAt: _moment, id, brokerId, query, targetQos, ...rest }: Stream): StreamRecord {
  const definition: StreamDefinition = {
    ...rest,
    // Only what was checked is written.
    targetQos: targetQos as StreamQos,
    query: JSON.parse(query) as StreamQuery,
  };
  return { id, brokerId, definition };
}
