/**
 * The partitions of `messages.stream_batch`: by the ttl of the stream, then by time. The messages of one partition
 * expire at about the same time, so that it is dropped whole.
 */
import type { ClientBase } from 'pg';
import { type IdRange, SEGMENTS_OF_TTL } from '../message-store.ts';

/** Seconds. Shorter partitions would be too many: messages with a short ttl remain on disk for a minute more. */
const SHORTEST = 60;
const LONGEST = SHORTEST * 2 ** 20;
/** Width 0 stands for partitions of a week, whose messages do not expire. */
const OF_LASTING = 7 * 86_400;
/** Maximum size of a row of several messages: it fills a page of 8 kB, and the server does not move it to TOAST. */
export const ROW_BYTES = 8_160;
const LOCK = 'brokergraph partition';

/** How long the partitions of messages with this ttl are, in seconds: at most a quarter of it. 0: never expires. */
export function widthOf(ttl: number): number {
  if (ttl === 0) return 0;
  let width = SHORTEST;
  while (2 * width * SEGMENTS_OF_TTL <= ttl && width < LONGEST) width *= 2;
  return width;
}

interface Partition extends IdRange {
  readonly name: string;
}

/** The partition of an id; `to` is exclusive. */
export function partitionOf(width: number, id: number): Partition {
  const length = (width || OF_LASTING) * 1_000_000;
  const from = Math.floor(id / length) * length;
  return { name: `stream_batch_${width}_${from / 1_000_000}`, from, to: from + length };
}

/** `null` for a name that is not made by `partitionOf`. */
export function partitionNamed(name: string): (Partition & { readonly width: number }) | null {
  const [, width, from] = /^stream_batch_(\d{1,9})_(\d{1,12})$/.exec(name) ?? [];
  if (width === undefined) return null;
  return { ...partitionOf(Number(width), Number(from) * 1_000_000), width: Number(width) };
}

/** Creates the partition unless it exists. Inserts into others go on meanwhile. Errors: those of the database. */
export async function createPartition(client: ClientBase, width: number, id: number): Promise<void> {
  const { name, from, to } = partitionOf(width, id);
  // One simple query is one transaction. Attached, because `CREATE TABLE … PARTITION OF` would wait for all who read
  // and write other partitions.
  await client.query(`
    SELECT pg_advisory_xact_lock(hashtext('${LOCK}'));
    DO $$ BEGIN
      IF to_regclass('messages.${name}') IS NULL THEN
        CREATE TABLE messages.${name} (LIKE messages.stream_batch INCLUDING ALL)
          WITH (toast_tuple_target = ${ROW_BYTES});
        ALTER TABLE messages.stream_batch ATTACH PARTITION messages.${name}
          FOR VALUES FROM (${width}, ${from}) TO (${width}, ${to});
      END IF;
    END $$`);
}
