import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { reasonOf } from '../../../../platform/storage/message-files/batch.ts';
import { MESSAGE_BYTES } from '../message-store.ts';
import type { SegmentLog } from '../segment-log.ts';
import { SegmentStore } from '../segment-store.ts';
import type { WaitingMessage } from './message-batches.ts';
import { widthOf } from './message-partitions.ts';
import type { MessageTables } from './message-tables.ts';
import type { WritingLog } from './message-writer.ts';
import { MessageDatabase } from './postgresql-store.ts';
import { StoredSegments } from './stored-segments.ts';

interface SegmentImportOptions {
  /** With a folder for each broker; it may be missing. */
  readonly folder: string;
  readonly databaseUrl: string;
  /** The ttl of a stream in seconds; `null` if it does not exist. */
  readonly ttlOf: (streamId: string) => number | null;
  readonly onProblem: (streamId: string | null, reason: string) => void;
  /** Whether the files remain. Default: false. */
  readonly keepsFiles?: boolean;
  /** Stops between two pages. */
  readonly signal?: AbortSignal;
}

export interface SegmentUse {
  readonly messages: number;
  /** On disk. */
  readonly bytes: number;
}

const RETRY_MS = 1_000;
const PAGE = { limit: 1_000, maxBytes: 4 * 1_048_576 };

/**
 * Moves the messages that a process stored in files to PostgreSQL, with their ids, and returns their number. The files
 * of a stream are deleted when all of its messages are there. May be repeated after it was interrupted: messages that
 * are there already are not counted. Files of streams that do not exist remain.
 *
 * Errors: those of the disk, the reason of `signal`. While the database does not respond, it waits.
 */
export async function importSegments(options: SegmentImportOptions): Promise<number> {
  const { folder, databaseUrl, onProblem } = options;
  const brokerIds = foldersIn(folder);
  if (brokerIds.length === 0) return 0;
  const database: MessageDatabase = new MessageDatabase({
    databaseUrl,
    onProblem: () => database.writer.problem !== null && onProblem(null, database.writer.problem),
    onLost: (reason) => onProblem(null, reason),
  });
  try {
    let sum = 0;
    for (const brokerId of brokerIds) sum += await importBroker(brokerId, database, options);
    return sum;
  } finally {
    await database.close();
  }
}

async function importBroker(
  brokerId: string,
  { writer, tables }: MessageDatabase,
  options: SegmentImportOptions,
): Promise<number> {
  const { folder, ttlOf, onProblem, keepsFiles = false } = options;
  const path = join(folder, brokerId);
  const store = openFiles(path, onProblem);
  let sum = 0;
  try {
    for (const streamId of store.ids()) {
      const ttl = ttlOf(streamId);
      if (ttl === null) continue;
      const from = store.log(streamId);
      const log = new ImportedLog({ brokerId, streamId, ttl, from, tables });
      while (log.readPage()) {
        await withoutStored(log, options);
        if (log.hasWaiting) writer.add(log);
        await log.pageWritten;
      }
      sum += log.count;
      if (!keepsFiles) await from.remove();
    }
  } finally {
    await store.close();
  }
  if (!keepsFiles && foldersIn(path).length === 0) rmSync(path, { recursive: true });
  return sum;
}

/** Waits while the database does not respond, as the writer does. Errors: the reason of `signal`. */
async function withoutStored(log: ImportedLog, { signal, onProblem }: SegmentImportOptions): Promise<void> {
  for (;;) {
    signal?.throwIfAborted();
    try {
      return await log.leaveOutStored();
    } catch (error) {
      onProblem(null, `Messages wait to be moved: ${reasonOf(error)}`);
      await delay(RETRY_MS, undefined, { signal });
    }
  }
}

/** What `importSegments` would move. Errors: those of the disk. */
export async function measureSegments(
  options: Pick<SegmentImportOptions, 'folder' | 'ttlOf' | 'onProblem'>,
): Promise<SegmentUse> {
  const { folder, ttlOf, onProblem } = options;
  let [messages, bytes] = [0, 0];
  for (const brokerId of foldersIn(folder)) {
    const store = openFiles(join(folder, brokerId), onProblem);
    try {
      for (const streamId of store.ids()) {
        if (ttlOf(streamId) === null) continue;
        const stored = store.log(streamId).storage();
        messages += stored.messages;
        bytes += stored.bytes;
      }
    } finally {
      await store.close();
    }
  }
  return { messages, bytes };
}

const openFiles = (folder: string, onProblem: SegmentImportOptions['onProblem']): SegmentStore =>
  new SegmentStore({ folder, maxBytes: Number.MAX_SAFE_INTEGER, onProblem });

interface ImportedLogOptions {
  readonly brokerId: string;
  readonly streamId: string;
  readonly ttl: number;
  readonly from: SegmentLog;
  readonly tables: MessageTables;
}

/** The messages of a stream in files, as the writer takes them: with the ids that they have. */
class ImportedLog implements WritingLog {
  readonly isBehind = true;
  readonly isClosed = false;
  readonly #options: ImportedLogOptions;
  readonly #segments = new StoredSegments([], 0);
  #number: number | null = null;
  #waiting: WaitingMessage[] = [];
  #unwritten = 0;
  #after: number | null = null;
  #resolve: () => void = () => undefined;
  pageWritten: Promise<void> = Promise.resolve();
  count = 0;

  constructor(options: ImportedLogOptions) {
    this.#options = options;
  }

  async streamNumber(): Promise<number> {
    const { tables, brokerId, streamId } = this.#options;
    this.#number ??= await tables.numberOf(brokerId, streamId);
    return this.#number;
  }

  /** Returns whether there are messages. */
  readPage(): boolean {
    const { from, ttl } = this.#options;
    const page = from.read({ from: null, to: null, after: this.#after, reverse: false, ...PAGE });
    this.#after = page.at(-1)?.id ?? null;
    this.#waiting = page.map((message) => {
      const bytes = message.payload.length + message.topic.length + MESSAGE_BYTES;
      return { ...message, bytes, segment: this.#segments.next(message.id, bytes, ttl), done: () => undefined };
    });
    this.#unwritten = page.length;
    this.pageWritten = new Promise((resolve) => {
      this.#resolve = resolve;
    });
    return page.length > 0;
  }

  /** Of the page, what an interrupted import has stored. Errors: those of the database. */
  async leaveOutStored(): Promise<void> {
    this.#waiting = [...(await this.#notStored(this.#waiting))];
  }

  get hasWaiting(): boolean {
    return this.#waiting.length > 0;
  }

  takeWaiting(messages: number): readonly WaitingMessage[] {
    return this.#waiting.splice(0, messages);
  }

  written(messages: readonly WaitingMessage[], problem: string | null): void {
    if (problem === null) this.count += messages.length;
    this.#finished(messages.length);
  }

  async renumber(messages: readonly WaitingMessage[]): Promise<readonly WaitingMessage[]> {
    // The row of the stream may have been deleted.
    this.#number = null;
    return this.#notStored(messages);
  }

  async #notStored(messages: readonly WaitingMessage[]): Promise<readonly WaitingMessage[]> {
    const { tables, ttl } = this.#options;
    const ids = messages.map(({ id }) => id);
    const stored = await tables.storedIds(await this.streamNumber(), widthOf(ttl), ids);
    const left = messages.filter(({ id }) => !stored.has(id));
    this.#finished(messages.length - left.length);
    return left;
  }

  #finished(count: number): void {
    this.#unwritten -= count;
    if (this.#unwritten === 0) this.#resolve();
  }
}

function foldersIn(path: string): string[] {
  try {
    return readdirSync(path, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}
