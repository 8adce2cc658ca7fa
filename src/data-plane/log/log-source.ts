import { setImmediate as nextIteration } from 'node:timers/promises';
import type { ValueOrPromise } from '../../platform/value-or-promise.ts';
import type { DiskLog, LogBatch, LogOwner, WaitingMessage } from './log-disk.ts';
import { bytesOf, type StoredMessage } from './log-message.ts';
import { type LogPart, startOf, widthOf } from './log-parts.ts';

/** A log whose messages are carried over to another place. */
export interface SourceLog {
  readonly name: string;
  /** Seconds; 0: never expires. */
  readonly ttl: number;
  readonly messages: number;
  readonly bytes: number;
  /** Pages of at most `limit` messages, in the order of their ids. Errors: those of the disk. */
  pages(limit: number): Iterable<readonly StoredMessage[]>;
  remove(): void;
}

interface CarryOverOptions {
  readonly owner: LogOwner;
  /** Default: as at the source. */
  readonly ttl?: number;
  readonly write: (batches: readonly LogBatch[]) => ValueOrPromise<void>;
  /** The size that counts for a message. */
  readonly sizeOf?: (message: StoredMessage) => number;
  /** Stops between two pages. */
  readonly signal?: AbortSignal | undefined;
}

const PAGE_MESSAGES = 500;

/**
 * Writes the messages of a source with their ids. `write` leaves out what is there already, so that a process that is
 * killed in the midst of it and begins again loses and doubles nothing. Errors: those of both disks, the reason of
 * `signal`.
 */
export async function carryOver(
  source: Pick<SourceLog, 'name' | 'ttl' | 'pages'>,
  options: CarryOverOptions,
): Promise<void> {
  const { owner, ttl = source.ttl, write, sizeOf = bytesOf, signal } = options;
  const log: DiskLog = { owner, name: source.name, number: null, ttl, lastId: 0, lose: () => undefined };
  for (const page of source.pages(PAGE_MESSAGES)) {
    signal?.throwIfAborted();
    await write([{ log, messages: inParts(page, widthOf(ttl), sizeOf) }]);
    await nextIteration();
  }
}

function inParts(
  page: readonly StoredMessage[],
  width: number,
  sizeOf: (message: StoredMessage) => number,
): WaitingMessage[] {
  const parts = new Map<number, LogPart>();
  return page.map((message) => {
    const { id } = message;
    const start = startOf(width, id);
    const part = parts.get(start) ?? { width, start, messages: 0, bytes: 0, first: id, last: id, waiting: 0 };
    parts.set(start, part);
    return { ...message, bytes: sizeOf(message), part, done: () => undefined };
  });
}
