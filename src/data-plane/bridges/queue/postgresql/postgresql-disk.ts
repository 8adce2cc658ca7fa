import { reasonOf } from '../../../../platform/storage/message-files/batch.ts';
import {
  AHEAD_BYTES,
  AHEAD_MESSAGES,
  type Gone,
  nothingGone,
  type QueueContent,
  QueueDisk,
  type QueueRow,
} from '../queue-disk.ts';
import type { BrokerStorage } from '../queue-storage.ts';
import type { QueueDatabase } from './queue-database.ts';
import { QueueTaken, type QueueTurn } from './queue-turn.ts';

interface PostgresqlDiskOptions {
  readonly database: QueueDatabase;
  readonly turn: QueueTurn;
  readonly content: QueueContent;
  readonly storage: BrokerStorage | undefined;
  /** Reported when the queue is opened. */
  readonly problem: string | null;
}

const FIRST_RETRY_MS = 100;
const LAST_RETRY_MS = 5_000;
/** How long a queue that is closed waits for the database. */
const CLOSE_MS = 2_000;

/**
 * A queue in PostgreSQL. While the database does not respond, messages remain in memory without acknowledgement. After
 * another process has taken the queue over, or after `close`, nothing is written. The used storage is that of the
 * messages.
 */
export class PostgresqlDisk extends QueueDisk {
  readonly #database: QueueDatabase;
  readonly #content: QueueContent;
  readonly #problem: string | null;
  #turn: QueueTurn;
  /** Messages before this id are deleted. */
  #firstId = 0;
  /** Whether an earlier attempt may have been committed, or may still be. */
  #isUnsure = false;
  #retryMs = FIRST_RETRY_MS;
  readonly #closed = new AbortController();
  #closeTimer: NodeJS.Timeout | undefined;
  protected readonly storedBytes = 0;

  constructor({ database, turn, content, storage, problem }: PostgresqlDiskOptions) {
    super(storage);
    this.#database = database;
    this.#turn = turn;
    this.#content = content;
    this.#problem = problem;
  }

  content(): QueueContent {
    if (this.#problem !== null) this.report(this.#problem);
    return this.#content;
  }

  async page(afterId: number): Promise<readonly QueueRow[]> {
    const rows = await this.#whileOpen(this.#database.page(this.#turn, afterId, AHEAD_MESSAGES, AHEAD_BYTES));
    this.#responded();
    return rows;
  }

  async write(batch: readonly QueueRow[]): Promise<void> {
    // Copies, because a message that is settled while this waits loses its content.
    const added = batch.map(({ id, bytes, message }) => ({ id, bytes, message }));
    const { gone } = this;
    this.gone = nothingGone();
    try {
      if (this.#isUnsure) this.#turn = await this.#whileOpen(this.#database.nextTurn(this.#turn));
      this.#isUnsure = false;
      const change = { turn: this.#turn, added, gone: this.#rangesOf(gone), signal: this.#closed.signal };
      if (batch.length > 0 || gone.messages > 0) await this.#whileOpen(this.#database.change(change));
    } catch (error) {
      this.#isUnsure = true;
      this.gone = sumOf(gone, this.gone);
      throw error;
    }
    this.#firstId = Math.max(this.#firstId, gone.firstId);
    this.#responded();
  }

  setAside(error: unknown): false {
    if (error instanceof QueueTaken) return this.failed(error.message, null);
    const pause = this.#retryMs;
    this.#retryMs = Math.min(2 * pause, LAST_RETRY_MS);
    return this.failed(`Messages wait to be stored or read: ${reasonOf(error)}`, pause);
  }

  override stop(): void {
    super.stop();
    this.#closeTimer = setTimeout(() => this.#closed.abort(new Error('the queue is closed')), CLOSE_MS);
  }

  async close({ remove }: { readonly remove: boolean }): Promise<void> {
    try {
      if (remove) await this.#whileOpen(this.#database.remove(this.#turn));
    } catch (error) {
      this.setAside(error);
    }
    clearTimeout(this.#closeTimer);
    this.#closed.abort(new Error('the queue is closed'));
  }

  #responded(): void {
    this.#retryMs = FIRST_RETRY_MS;
    this.succeeded();
  }

  #rangesOf({ firstId, ids }: Gone): { first: number; last: number }[] {
    const ranges = ids.map((id) => ({ first: id, last: id }));
    return firstId > this.#firstId ? [{ first: this.#firstId, last: firstId - 1 }, ...ranges] : ranges;
  }

  #whileOpen<T>(work: Promise<T>): Promise<T> {
    const { signal } = this.#closed;
    return new Promise((resolve, reject) => {
      const stop = () => reject(signal.reason);
      if (signal.aborted) stop();
      signal.addEventListener('abort', stop);
      work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop));
    });
  }
}

const sumOf = (earlier: Gone, later: Gone): Gone => ({
  messages: earlier.messages + later.messages,
  bytes: earlier.bytes + later.bytes,
  firstId: Math.max(earlier.firstId, later.firstId),
  ids: [...earlier.ids, ...later.ids],
});
