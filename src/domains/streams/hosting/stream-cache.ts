import type { StoredStream, StreamDefinitions } from '../../../data-plane/streams/definition/stream-definitions.ts';
import type { StreamDefinition, StreamQos } from '../../../data-plane/streams/model/stream-definition.ts';
import type { StreamQuery } from '../../../data-plane/streams/model/stream-query.ts';
import type { Stream } from '../../../generated/sqlite/client.ts';
import { ServiceError } from '../../../platform/errors.ts';
import { ANYTHING } from '../../../platform/storage/changes/changes.ts';
import type { CacheParts } from '../../../platform/storage/changes/row-cache.ts';
import type { Database } from '../../../platform/storage/database.ts';
import { isUniqueViolation, missingAsNotFound } from '../../../platform/storage/prisma-errors.ts';
import { HostedRows } from '../../../protocol/hosting/hosted-rows.ts';

interface StreamRow extends StoredStream {
  readonly brokerId: string;
}

interface BrokerStreams {
  readonly all: readonly StreamRow[];
  readonly byName: ReadonlyMap<string, StreamRow>;
}

export class StreamCache extends HostedRows<StreamRow> {
  readonly #db: Database;
  readonly #byBroker = new Map<string, BrokerStreams>();

  constructor({ db, changes, log }: CacheParts) {
    super({
      changes,
      log,
      kind: 'stream',
      rowsOf: async (id) => (await db.stream.findMany({ where: id === ANYTHING ? {} : { id } })).map(toRow),
    });
    this.#db = db;
    // Registered first, so that all other listeners read the changed rows.
    this.onBrokerChange((brokerId) => this.#byBroker.delete(brokerId));
  }

  /** Errors of `save`: ALREADY_EXISTS (another process took the name), NOT_FOUND (stream or broker was deleted). */
  of(brokerId: string): StreamDefinitions {
    return {
      all: () => this.#streamsOf(brokerId).all,
      byName: (name) => this.#streamsOf(brokerId).byName.get(name) ?? null,
      save: (stream) => this.#save(brokerId, stream),
      remove: async (id) => {
        await this.#db.stream.deleteMany({ where: { id } });
        await this.deleted(id);
      },
      onChange: (listener) => this.follow((row) => row.brokerId === brokerId, listener),
    };
  }

  #streamsOf(brokerId: string): BrokerStreams {
    let streams = this.#byBroker.get(brokerId);
    if (streams === undefined) {
      const all = this.all().filter((row) => row.brokerId === brokerId);
      // Two rows have the same name if a stream was deleted and created again and the old row is read first: the later
      // counts.
      streams = { all, byName: new Map(all.map((row) => [row.definition.name, row])) };
      this.#byBroker.set(brokerId, streams);
    }
    return streams;
  }

  async #save(brokerId: string, { id, definition }: StoredStream): Promise<void> {
    const data = { ...definition, query: JSON.stringify(definition.query) };
    const { stream } = this.#db;
    const write =
      this.get(id) !== null
        ? stream.update({ where: { id }, data }).catch(missingAsNotFound('stream', definition.name))
        : stream.create({ data: { ...data, id, brokerId } }).catch(missingAsNotFound('broker', brokerId));
    const row = await write.catch((error: unknown) => {
      if (!isUniqueViolation(error)) throw error;
      throw new ServiceError('ALREADY_EXISTS', 'Stream already exists');
    });
    await this.written(toRow(row));
  }
}

function toRow({ createdAt: _createdAt, id, brokerId, query, targetQos, ...rest }: Stream): StreamRow {
  const definition: StreamDefinition = {
    ...rest,
    targetQos: targetQos as StreamQos,
    query: JSON.parse(query) as StreamQuery,
  };
  return { id, brokerId, definition };
}
