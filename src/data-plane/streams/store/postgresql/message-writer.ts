import pg from 'pg';
import { within } from '../../../../platform/scheduling/within.ts';
import { type CopyRows, copyInto } from '../../../../platform/storage/postgresql/copy-rows.ts';
import { connectPostgresql } from '../../../../platform/storage/postgresql/postgresql-connection.ts';
import { batchRows, COPY_BATCHES, type WaitingMessage } from './message-batches.ts';
import { createPartition } from './message-partitions.ts';
import type { StoredSegment } from './stored-segments.ts';

/** A log with messages to write. */
export interface WritingLog {
  /** The number of the stream in the tables, which its first message creates. Errors: those of the database. */
  streamNumber(): number | Promise<number>;
  /** Its ids were given earlier: they may be lower than others of the stream, but none is taken. */
  readonly isBehind: boolean;
  /** Its messages are no longer to be written. */
  readonly isClosed: boolean;
  /** Removes the oldest messages, at most so many and so many bytes, but at least one if there is any. */
  takeWaiting(messages: number, bytes: number): readonly WaitingMessage[];
  readonly hasWaiting: boolean;
  /** The messages are stored; or with the reason why not. */
  written(messages: readonly WaitingMessage[], problem: string | null): void;
  /**
   * Another process has written to the stream, or deleted its row: gives these messages and those that wait ids after
   * all others.
   */
  renumber(messages: readonly WaitingMessage[]): Promise<readonly WaitingMessage[]>;
}

interface Part {
  readonly log: WritingLog;
  readonly messages: readonly WaitingMessage[];
}

interface NumberedPart extends Part {
  readonly stream: number;
}

interface MessageWriterOptions {
  readonly databaseUrl: string;
  /** Called when `problem` has changed. */
  readonly onProblem: () => void;
}

const MAX_MESSAGES = 8_000;
const MAX_BYTES = 2 * 1_048_576;
const FIRST_RETRY_MS = 100;
const LAST_RETRY_MS = 5_000;
/** A statement that takes longer counts as lost with its connection. */
const RESPONSE_TIMEOUT_MS = 10_000;
const CLOCK_MS = 60_000;

/** The first message of a statement is the first of its row. */
const IS_STORED = `
  SELECT FROM messages.stream_batch
  WHERE stream = $1 AND width = $2 AND id = $3 AND topics[1] = $4 AND payloads[1] = $5`;

const NO_PARTITION = '23514';
/**
 * Writes the messages of all logs of a thread, one statement at a time, with one commit for all streams. Messages that
 * arrive meanwhile join the next one.
 *
 * While the database does not respond, is full or restarts, messages wait, and are not acknowledged; the engine then
 * stops reading from the broker. A message that the database refuses for its content is reported and left out.
 */
export class MessageWriter {
  readonly #options: MessageWriterOptions;
  readonly #logs = new Set<WritingLog>();
  #client: pg.Client | null = null;
  #running: Promise<void> | null = null;
  #retryMs = FIRST_RETRY_MS;
  /** Its buffer is used again: one for each statement would be most of what garbage is collected for. */
  #sent: CopyRows | null = null;
  #cancelPause: (() => void) | null = null;
  /** Milliseconds that the clock of the database is ahead of this process. */
  #clockOffset = 0;
  #clockReadAt = Number.NEGATIVE_INFINITY;
  #isClosed = false;
  /** Why messages wait. `null` if they are written. */
  problem: string | null = null;

  constructor(options: MessageWriterOptions) {
    this.#options = options;
  }

  /** Epoch milliseconds by the clock of the database, which all processes share. */
  now(): number {
    return Date.now() + this.#clockOffset;
  }

  add(log: WritingLog): void {
    this.#logs.add(log);
    if (this.#isClosed) return;
    this.#running ??= this.#run();
  }

  remove(log: WritingLog): void {
    this.#logs.delete(log);
  }

  /** Reads the clock of the database again if that was long ago. Errors: those of the database. */
  async readClock(client: Pick<pg.ClientBase, 'query'>): Promise<void> {
    if (performance.now() - this.#clockReadAt < CLOCK_MS) return;
    const before = Date.now();
    const { rows } = await client.query('SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS now');
    this.#clockOffset = Number(rows[0]?.now) - (before + Date.now()) / 2;
    this.#clockReadAt = performance.now();
  }

  /** Messages that are not written by then are never reported as done. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancelPause?.();
    this.#client?.connection.stream.destroy();
    await this.#running;
  }

  async #run(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    while (this.#logs.size > 0 && !this.#isClosed) {
      const parts = this.#nextParts();
      if (parts.length > 0) await this.#writeUntilDone(parts);
    }
    this.#running = null;
  }

  /** The logs take turns: one that has more waiting goes behind the others. */
  #nextParts(): Part[] {
    const parts: Part[] = [];
    let [messagesLeft, bytesLeft] = [MAX_MESSAGES, MAX_BYTES];
    for (const log of [...this.#logs]) {
      if (messagesLeft <= 0 || bytesLeft <= 0) break;
      const messages = log.takeWaiting(messagesLeft, bytesLeft);
      this.#logs.delete(log);
      if (log.hasWaiting) this.#logs.add(log);
      if (messages.length === 0) continue;
      parts.push({ log, messages });
      messagesLeft -= messages.length;
      bytesLeft -= messages.reduce((sum, { bytes }) => sum + bytes, 0);
    }
    return parts;
  }

  async #writeUntilDone(given: readonly Part[]): Promise<void> {
    // Whether an earlier attempt may have been committed without a response, or may still be.
    let isUnsure = false;
    let wasOutdated = false;
    for (let left = given; ; ) {
      const parts = left.filter(({ log, messages }) => !log.isClosed && messages.length > 0);
      if (this.#isClosed || parts.length === 0) return;
      try {
        if (!isUnsure || !(await this.#isStored(parts))) await this.#write(parts);
      } catch (error) {
        if (this.#isClosed) return;
        if (isOutdated(error) && isUnsure && !wasOutdated) {
          // Perhaps by the earlier attempt.
          wasOutdated = true;
          continue;
        }
        if (isOutdated(error)) left = await this.#renumbered(parts);
        else if (isRefusal(error)) return this.#writeApart(parts, error);
        else await this.#failed(error);
        isUnsure = !isOutdated(error);
        wasOutdated = false;
        continue;
      }
      this.#retryMs = FIRST_RETRY_MS;
      this.#set(null);
      for (const { log, messages } of parts) log.written(messages, null);
      return;
    }
  }

  /** If the database fails, the ids are found taken again, and the messages are renumbered then. */
  async #renumbered(parts: readonly Part[]): Promise<readonly Part[]> {
    try {
      const again: Part[] = [];
      for (const { log, messages } of parts) again.push({ log, messages: await log.renumber(messages) });
      return again;
    } catch (error) {
      await this.#failed(error);
      return parts;
    }
  }

  /** Whether a statement with these messages was committed, which stores all of them or none. */
  async #isStored(parts: readonly Part[]): Promise<boolean> {
    const [part] = parts;
    const [message] = part?.messages ?? [];
    if (part === undefined || message === undefined) return true;
    const { segment, id, topic, payload } = message;
    const client = await this.#connected();
    const values = [await part.log.streamNumber(), segment.width, id, topic, payload];
    const { rows } = await inTime(client.query(IS_STORED, values));
    return rows.length > 0;
  }

  async #write(parts: readonly Part[]): Promise<void> {
    const numbered: NumberedPart[] = [];
    for (const part of parts) numbered.push({ ...part, stream: await part.log.streamNumber() });
    const counts = numbered.flatMap(({ stream, messages }) => countsOf(stream, messages));
    const statements = `${lastIdStatement(numbered)}; ${countStatement(counts)}; ${COPY_BATCHES}`;
    const rows = batchRows(numbered, this.#sent);
    this.#sent = null;
    for (let attempt = 0; ; attempt += 1) {
      const client = await this.#connected();
      try {
        await inTime(copyInto(client, statements, rows.end()));
        if (rows.bytes <= 2 * MAX_BYTES) this.#sent = rows;
        return;
      } catch (error) {
        if (codeOf(error) !== NO_PARTITION || attempt > 0) throw error;
        for (const { width, base } of counts) await inTime(createPartition(client, width, base));
      }
    }
  }

  /** The database refused one of the messages: halves the batch until it is alone. */
  async #writeApart(parts: readonly Part[], error: unknown): Promise<void> {
    const [only, ...others] = parts;
    if (only === undefined) return;
    if (others.length > 0) {
      const middle = parts.length >> 1;
      await this.#writeUntilDone(parts.slice(0, middle));
      await this.#writeUntilDone(parts.slice(middle));
      return;
    }
    const { log, messages } = only;
    if (messages.length === 1) {
      log.written(messages, `The database refuses the message: ${reasonOf(error)}`);
      return;
    }
    const middle = messages.length >> 1;
    await this.#writeUntilDone([{ log, messages: messages.slice(0, middle) }]);
    await this.#writeUntilDone([{ log, messages: messages.slice(middle) }]);
  }

  async #connected(): Promise<pg.Client> {
    if (this.#client !== null) return this.#client;
    const client = await connectPostgresql(this.#options.databaseUrl, 'stored messages');
    const lost = () => {
      if (this.#client === client) this.#client = null;
    };
    client.on('error', lost);
    client.on('end', lost);
    this.#client = client;
    // Otherwise a statement that is lost while it waits for a lock would keep its session at the server.
    await inTime(client.query(`SET statement_timeout = ${RESPONSE_TIMEOUT_MS}`));
    await inTime(this.readClock(client));
    return client;
  }

  async #failed(error: unknown): Promise<void> {
    this.#client?.connection.stream.destroy();
    this.#client = null;
    this.#set(`Messages wait to be stored: ${reasonOf(error)}`);
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, this.#retryMs);
      this.#cancelPause = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.#cancelPause = null;
    this.#retryMs = Math.min(2 * this.#retryMs, LAST_RETRY_MS);
  }

  #set(problem: string | null): void {
    if (problem === this.problem) return;
    this.problem = problem;
    this.#options.onProblem();
  }
}

interface Count {
  readonly stream: number;
  readonly base: number;
  readonly width: number;
  messages: number;
  bytes: number;
  readonly first: number;
  last: number;
}

function countsOf(stream: number, messages: readonly WaitingMessage[]): Count[] {
  const counts = new Map<StoredSegment, Count>();
  for (const { segment, id, bytes } of messages) {
    let count = counts.get(segment);
    if (count === undefined) {
      const { base, width } = segment;
      count = { stream, base, width, messages: 0, bytes: 0, first: id, last: id };
      counts.set(segment, count);
    }
    count.messages += 1;
    count.bytes += bytes;
    count.last = id;
  }
  return [...counts.values()];
}

/**
 * Two processes may both believe to be the only one that writes a stream. The later one fails here and gives its
 * messages other ids: no two messages have the same, and rows do not overlap. All values are integers.
 */
function lastIdStatement(parts: readonly NumberedPart[]): string {
  const rows = parts.map(({ log, stream, messages }) => {
    return `(${stream}, ${messages[0]?.id}, ${messages.at(-1)?.id}, ${log.isBehind})`;
  });
  return `
    UPDATE messages.stream SET last = CASE
      WHEN part.is_behind THEN greatest(stream.last, part.last) WHEN stream.last < part.first THEN part.last
    END
    FROM (VALUES ${rows.join(', ')}) AS part (stream, first, last, is_behind) WHERE number = part.stream`;
}

/** Segments are counted in the transaction that stores their messages. All values are integers. */
function countStatement(counts: readonly Count[]): string {
  const rows = counts.map(
    ({ stream, base, width, messages, bytes, first, last }) =>
      `(${stream}, ${base}, ${width}, ${messages}, ${bytes}, ${first}, ${last})`,
  );
  return `
    INSERT INTO messages.stream_segment AS segment (stream, base, width, messages, bytes, first, last)
    VALUES ${rows.join(', ')}
    ON CONFLICT (stream, base) DO UPDATE SET
      messages = segment.messages + excluded.messages, bytes = segment.bytes + excluded.bytes,
      first = least(segment.first, excluded.first), last = greatest(segment.last, excluded.last)`;
}

const inTime = <T>(response: Promise<T>): Promise<T> =>
  within(RESPONSE_TIMEOUT_MS, response, () => new Error(`no response within ${RESPONSE_TIMEOUT_MS} ms`));

/** Another process has written to the stream, as the key or `lastIdStatement` found, or has deleted its row. */
const isOutdated = (error: unknown): boolean =>
  error instanceof pg.DatabaseError &&
  (error.code === '23505' ||
    (error.code === '23502' && error.table === 'stream' && error.column === 'last') ||
    (error.code === '23503' && error.table === 'stream_segment'));

const codeOf = (error: unknown): unknown => (error as { readonly code?: unknown } | null)?.code;

/** Classes 22 (data exception) and 23 (integrity): an equal statement would be refused again. */
const isRefusal = (error: unknown): boolean => error instanceof pg.DatabaseError && /^2[23]/.test(error.code ?? '');

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
