import { raw, sqltag as sql } from '@prisma/client/runtime/client';
import type { Logger } from 'pino';
import type { Database } from '../../../../platform/storage/database.ts';
import type { Lease, Leases } from '../../../../platform/storage/leases/leases.ts';
import { partitionNamed, widthOf } from './message-partitions.ts';

interface MessageExpiryOptions {
  readonly db: Database;
  readonly leases: Leases;
  readonly log: Logger;
}

interface DeadSegment {
  readonly stream: number;
  readonly base: bigint;
  readonly width: number;
  readonly first: bigint;
  readonly last: bigint;
  /** `null` if the stream was deleted. */
  readonly ttl: number | null;
}

const PERIOD_MS = 30_000;
const LEASE = 'stored-messages';
/** Segments for each period whose messages are deleted one by one. */
const MAX_DELETED = 200;
/** How long after its end a partition may still receive messages, in seconds: they wait while the database is down. */
const GRACE = 60;
const LOCK_TIMEOUT = '2s';
const NOW = sql`(extract(epoch FROM clock_timestamp()) * 1000000)::bigint`;

/**
 * Deletes expired messages and those of deleted streams, in one of the processes on the database. Segments of which
 * every message is older than the ttl are forgotten, and with them their messages; a partition without segments is
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
    const dead = await db.$queryRaw<DeadSegment[]>`
      SELECT segment.stream, segment.base, segment.width, segment.first, segment.last, definition.ttl
      FROM messages.stream_segment AS segment JOIN messages.stream AS stored ON stored.number = segment.stream
      LEFT JOIN "Stream" AS definition ON definition.id = stored.id
      WHERE definition.id IS NULL
        OR (definition.ttl > 0 AND segment.last < ${NOW} - definition.ttl::bigint * 1000000)`;
    const expired = dead.filter(({ ttl, width }) => ttl !== null && width === widthOf(ttl));
    const others = dead.filter((segment) => !expired.includes(segment));
    await this.#forget(expired);
    for (const { stream, width, first, last, ...segment } of others.slice(0, MAX_DELETED)) {
      await db.$executeRaw`
        DELETE FROM messages.stream_batch
        WHERE stream = ${stream} AND width = ${width} AND id BETWEEN ${first} AND ${last}`;
      await this.#forget([{ stream, ...segment }]);
    }
    await db.$executeRaw`
      DELETE FROM messages.stream AS stored
      WHERE NOT EXISTS (SELECT FROM "Stream" WHERE id = stored.id)
        AND NOT EXISTS (SELECT FROM messages.stream_segment WHERE stream = stored.number)`;
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

  async #forget(segments: readonly Pick<DeadSegment, 'stream' | 'base'>[]): Promise<void> {
    if (segments.length === 0) return;
    await this.#options.db.$executeRaw`
      DELETE FROM messages.stream_segment AS segment USING
        unnest(${segments.map(({ stream }) => stream)}::integer[], ${segments.map(({ base }) => base)}::bigint[])
        AS dead (stream, base)
      WHERE segment.stream = dead.stream AND segment.base = dead.base`;
  }

  async #dropEmpty(): Promise<void> {
    const { db, log } = this.#options;
    const partitions = await db.$queryRaw<{ name: string; now: bigint }[]>`
      SELECT child.relname AS name, ${NOW} AS now FROM pg_inherits
      JOIN pg_class AS child ON child.oid = inhrelid
      WHERE inhparent = 'messages.stream_batch'::regclass`;
    for (const { name, now } of partitions) {
      const partition = partitionNamed(name);
      if (partition === null || partition.to + GRACE * 1_000_000 > Number(now)) continue;
      const isDropped = await this.#dropIfEmpty(name, partition);
      if (isDropped) log.debug({ partition: name }, 'stored messages of streams have expired');
    }
  }

  /** Locks the partition first, so that no message is stored in it between the check and the drop. */
  async #dropIfEmpty(name: string, { width, from, to }: { width: number; from: number; to: number }): Promise<boolean> {
    const { db } = this.#options;
    const isUsed = async (connection: Pick<Database, '$queryRaw'>) => {
      const segments = await connection.$queryRaw<unknown[]>`
        SELECT FROM messages.stream_segment WHERE width = ${width} AND base >= ${from} AND base < ${to} LIMIT 1`;
      return segments.length > 0;
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
