/** The partitions of `messages.log_message`: by the ttl of the log, then by time, so that each is dropped whole. */
import type pg from 'pg';
import { lengthOf, startOf } from '../log-parts.ts';

interface Partition {
  readonly name: string;
  /** Ids; `to` is exclusive. */
  readonly from: number;
  readonly to: number;
}

const LOCK = 'brokergraph partition';

function partitionOf(width: number, id: number): Partition {
  const from = startOf(width, id);
  return { name: `log_message_${width}_${from / 1_000_000}`, from, to: from + lengthOf(width) };
}

/** `null` for a name that is not made by `createPartition`. */
export function partitionNamed(name: string): (Partition & { readonly width: number }) | null {
  const [, width, from] = /^log_message_(\d{1,9})_(\d{1,12})$/.exec(name) ?? [];
  if (width === undefined) return null;
  return { ...partitionOf(Number(width), Number(from) * 1_000_000), width: Number(width) };
}

/** Creates the partition of an id unless it exists. Inserts into others go on. Errors: those of the database. */
export async function createPartition(database: Pick<pg.Pool, 'query'>, width: number, id: number): Promise<void> {
  const { name, from, to } = partitionOf(width, id);
  // One simple query is one transaction. Attached, because `CREATE TABLE … PARTITION OF` would wait for all who read
  // and write other partitions.
  await database.query(`
    SELECT pg_advisory_xact_lock(hashtext('${LOCK}'));
    DO $$ BEGIN
      IF to_regclass('messages.${name}') IS NULL THEN
        CREATE TABLE messages.${name} (LIKE messages.log_message INCLUDING ALL);
        ALTER TABLE messages.log_message ATTACH PARTITION messages.${name}
          FOR VALUES FROM (${width}, ${from}) TO (${width}, ${to});
      END IF;
    END $$`);
}
