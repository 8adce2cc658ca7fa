import { raw, sqltag as sql } from '@prisma/client/runtime/client';
import type { Logger } from 'pino';
import { QUEUES_OF } from '../../../data-plane/bridges/queue/queue-store.ts';
import { widthOf } from '../../../data-plane/log/log-parts.ts';
import { partitionNamed } from '../../../data-plane/log/postgresql/log-partitions.ts';
import type { Database } from '../../../platform/storage/database.ts';
import type { Lease, Leases } from '../../../platform/storage/leases/leases.ts';

interface MessageExpiryOptions {
  readonly db: Database;
  readonly leases: Leases;
  readonly log: Logger;
}

interface DeadPart {
  readonly log: number;
  readonly start: bigint;
  readonly width: number;
  readonly first: bigint;
  readonly last: bigint;
  /** `null` if the stream was deleted. */
  readonly ttl: number | null;
}

const PERIOD_MS = 30_000;
const LEASE = 'stored-messages';
/** Parts for each period whose messages are deleted one by one. */
const MAX_DELETED = 200;
/** How long after its end a partition may still receive messages, in seconds: they wait while the database is down. */
const GRACE = 60;
/** Queues of bridges delete their messages themselves. */
const OF_QUEUES = `${QUEUES_OF}%`;
const LOCK_TIMEOUT = '2s';
const NOW = sql`(extract(epoch FROM clock_timestamp()) * 1000000)::bigint`;

/**
 * Deletes expired messages and those of deleted streams, in one of the processes on the database. Parts of which
 * every message is older than the ttl are forgotten, and with them their messages; a partition without parts is
 * dropped. Messages are deleted one by one only where the partition remains for long: after a shorter ttl was set, or
 * the stream was deleted.
 */
export class MessageExpiry {
  readonly #options: MessageExpiryOptions;
  #lease: Lease | null = null;
  #timer: NodeJS.Timeout | null = null;
  #running: Promise<void> = Promise.resolve();

  constructor(options: MessageExpiryOptions) {
    this.#options = options;
  }

  start(): void {
    this.#lease = this.#options.leases.want(LEASE, () => undefined);
    this.#timer = setInterval(() => {
      this.#running = this.#running.then(() => this.#runIfHeld());
    }, PERIOD_MS).unref();
  }

  /** One pass. Errors: those of the database. */
  async run(): Promise<void> {
    const { db } = this.#options;
    const dead = await db.$queryRaw<DeadPart[]>`
      SELECT part.log, part.start, part.width, part.first, part.last, definition.ttl
      FROM messages.log_part AS part JOIN messages.log AS stored ON stored.number = part.log
      LEFT JOIN "Stream" AS definition ON definition.id = stored.name
      WHERE stored.broker NOT LIKE ${OF_QUEUES} AND (definition.id IS NULL
        OR (definition.ttl > 0 AND part.last < ${NOW} - definition.ttl::bigint * 1000000))`;
    const expired = dead.filter(({ ttl, width }) => ttl !== null && width === widthOf(ttl));
    const others = dead.filter((part) => !expired.includes(part));
    await this.#forget(expired);
    for (const part of others.slice(0, MAX_DELETED)) {
      const { log, width, first, last } = part;
      await db.$executeRaw`
        DELETE FROM messages.log_message
        WHERE log = ${log} AND width = ${width} AND id BETWEEN ${first} AND ${last}`;
      await this.#forget([part]);
    }
    await db.$executeRaw`
      DELETE FROM messages.log AS stored
      WHERE broker NOT LIKE ${OF_QUEUES} AND NOT EXISTS (SELECT FROM "Stream" WHERE id = stored.name)
        AND NOT EXISTS (SELECT FROM messages.log_part WHERE log = stored.number)`;
    await db.$executeRaw`DELETE FROM messages.log_owner WHERE key LIKE 'brk%' AND key NOT IN (SELECT id FROM "Broker")`;
    await this.#dropEmpty();
  }

  async close(): Promise<void> {
    if (this.#timer) clearInterval(this.#timer);
    await this.#running;
    await this.#lease?.release();
  }

  async #runIfHeld(): Promise<void> {
    if (this.#lease?.held !== true) return;
    try {
      await this.run();
    } catch (error) {
      this.#options.log.warn({ err: error }, 'expired messages of streams could not be deleted; retried');
    }
  }

  /** Not the parts to which messages were added meanwhile. */
  async #forget(parts: readonly DeadPart[]): Promise<void> {
    if (parts.length === 0) return;
    await this.#options.db.$executeRaw`
      WITH gone AS (
        DELETE FROM messages.log_part AS part USING
          unnest(${parts.map(({ log }) => log)}::integer[], ${parts.map(({ width }) => width)}::integer[],
            ${parts.map(({ start }) => start)}::bigint[], ${parts.map(({ last }) => last)}::bigint[])
          AS dead (log, width, start, last)
        WHERE part.log = dead.log AND part.width = dead.width AND part.start = dead.start AND part.last = dead.last
        RETURNING part.log, part.last
      )
      UPDATE messages.log AS stored SET last = greatest(stored.last, gone.last)
      FROM (SELECT log, max(last) AS last FROM gone GROUP BY log) AS gone WHERE stored.number = gone.log`;
  }

  async #dropEmpty(): Promise<void> {
    const { db, log } = this.#options;
    const partitions = await db.$queryRaw<{ name: string; now: bigint }[]>`
      SELECT child.relname AS name, ${NOW} AS now FROM pg_inherits
      JOIN pg_class AS child ON child.oid = inhrelid
      WHERE inhparent = 'messages.log_message'::regclass`;
    for (const { name, now } of partitions) {
      const partition = partitionNamed(name);
      if (partition === null || partition.to + GRACE * 1_000_000 > Number(now)) continue;
      const isDropped = await this.#dropIfEmpty(name, partition);
      if (isDropped) log.debug({ partition: name }, 'stored messages of streams have expired');
    }
  }

  /** Locks the partition first, so that no message is stored in it between the check and the drop. */
  async #dropIfEmpty(name: string, { width, from }: { width: number; from: number }): Promise<boolean> {
    const { db } = this.#options;
    const isUsed = async (connection: Pick<Database, '$queryRaw'>) => {
      const parts = await connection.$queryRaw<unknown[]>`
        SELECT FROM messages.log_part WHERE width = ${width} AND start = ${from} LIMIT 1`;
      return parts.length > 0;
    };
    if (await isUsed(db)) return false;
    return db.$transaction(async (transaction) => {
      // Readers and writers wait no longer than this for the locks.
      await transaction.$executeRawUnsafe(`SET LOCAL lock_timeout = '${LOCK_TIMEOUT}'`);
      await transaction.$executeRaw`LOCK TABLE ${raw(`messages.${name}`)} IN ACCESS EXCLUSIVE MODE`;
      if (await isUsed(transaction)) return false;
      await transaction.$executeRaw`DROP TABLE ${raw(`messages.${name}`)}`;
      return true;
    });
  }
}
