import { setTimeout as delay } from 'node:timers/promises';
import type { LogEntry, LogPlace } from '../shared-log.ts';
import { type BatchHead, decodeBatch, encodeBatch, type WrittenEntry, writeEntry } from './batch-codec.ts';
import { LogEnded } from './log-options.ts';
import type { RedisLink } from './redis-link.ts';

/*
 * A snapshot is a list of chunks in Redis, each a batch whose number is its place in the list: the first entry of the first one is the
 * place in the log, the last one is empty. Whoever gives it waits while MOST_CHUNKS of them are not taken yet, so neither side nor
 * Redis ever has all of it.
 */
const CHUNK_BYTES = 262_144;
const MOST_CHUNKS = 64;
const LIST_EXPIRY_MS = 60_000;
const WANTED_EXPIRY_MS = 30_000;
const LOOK_MS = 20;
const PLACE = 'place';

export interface SnapshotToGive {
  readonly head: Omit<BatchHead, 'number'>;
  readonly place: LogPlace;
  readonly entries: Iterable<LogEntry>;
}

/** Whether this node is the one that gives it: the first that asks. */
export async function claimSnapshot(link: RedisLink, request: string): Promise<boolean> {
  return (await link.command('GETDEL', link.keys.wanted + request)) !== null;
}

/** Rejects when Redis cannot take it, or nobody takes anything for `patienceMs`. */
export async function giveSnapshot(link: RedisLink, request: string, snapshot: SnapshotToGive, patienceMs: number) {
  const list = link.keys.snapshot(request);
  try {
    for (const chunk of chunksOf(snapshot)) {
      let length = Number(await link.command('RPUSH', list, chunk));
      await link.command('PEXPIRE', list, String(LIST_EXPIRY_MS));
      for (let waited = 0; length > MOST_CHUNKS; waited += LOOK_MS) {
        if (waited > patienceMs) throw new Error('the node that wants it does not take it');
        await delay(LOOK_MS);
        const left = Number(await link.command('LLEN', list));
        if (left < length) waited = 0;
        length = left;
      }
    }
  } catch (error) {
    if (link.isUp) await link.command('UNLINK', list);
    throw error;
  }
}

function* chunksOf({ head, place, entries }: SnapshotToGive): Iterable<Buffer> {
  let number = 0;
  let chunk: WrittenEntry[] = [writeEntry({ kind: PLACE, about: place })];
  let bytes = 0;
  for (const entry of entries) {
    const written = writeEntry(entry);
    if (bytes > 0 && bytes + written.bytes > CHUNK_BYTES) {
      yield encodeBatch({ ...head, number }, chunk);
      number += 1;
      chunk = [];
      bytes = 0;
    }
    chunk.push(written);
    bytes += written.bytes;
  }
  if (chunk.length > 0) yield encodeBatch({ ...head, number }, chunk);
  yield encodeBatch({ ...head, number: number + 1 }, []);
}

export interface SnapshotToTake {
  readonly place: LogPlace;
  readonly entries: AsyncIterable<LogEntry>;
}

/** Resolves once somebody gives it, however long that takes. The entries throw a LogEnded when the one that gives them stops. */
export async function takeSnapshot(
  link: RedisLink,
  request: string,
  patienceMs: number,
  whileWaiting: () => void,
): Promise<SnapshotToTake> {
  const chunks = chunksFrom(link, request, patienceMs, whileWaiting);
  const first = await chunks.next();
  const [place, ...others] = first.done ? [] : first.value;
  if (place?.kind !== PLACE) throw new LogEnded('NO_SNAPSHOT', 'the snapshot does not begin with its place');
  // Written by giveSnapshot of the same version of batches.
  return { place: place.about as LogPlace, entries: entriesOf(others, chunks) };
}

async function* entriesOf(first: readonly LogEntry[], others: AsyncIterable<readonly LogEntry[]>) {
  yield* first;
  for await (const chunk of others) yield* chunk;
}

/** Ends after the empty chunk. */
async function* chunksFrom(
  link: RedisLink,
  request: string,
  patienceMs: number,
  whileWaiting: () => void,
): AsyncGenerator<readonly LogEntry[], void, undefined> {
  for (let number = 0; ; number++) {
    const { number: found, entries } = decodeBatch(await chunkFrom(link, request, patienceMs, whileWaiting));
    if (found !== number) throw new LogEnded('NO_SNAPSHOT', 'a part of the snapshot is missing');
    if (entries.length === 0) return;
    yield entries;
  }
}

async function chunkFrom(
  link: RedisLink,
  request: string,
  patienceMs: number,
  whileWaiting: () => void,
): Promise<Buffer> {
  const { keys } = link;
  let since = performance.now();
  for (;;) {
    const reply = await link.read('BLPOP', keys.snapshot(request), '1');
    if (Array.isArray(reply) && Buffer.isBuffer(reply[1])) return reply[1];
    // Still there: nobody has begun to give it.
    const isWanted = await link.command('SET', keys.wanted + request, '1', 'XX', 'PX', String(WANTED_EXPIRY_MS));
    if (isWanted !== null) since = performance.now();
    whileWaiting();
    if (performance.now() - since > patienceMs)
      throw new LogEnded('NO_SNAPSHOT', 'the node that gave the snapshot stopped');
  }
}
