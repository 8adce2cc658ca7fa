import { after, type ValueOrPromise } from '../../../platform/value-or-promise.ts';
import type { StoredMessage } from '../../log/log-message.ts';
import type { MessageLog } from '../../log/message-log.ts';
import type { ReplayCheckpoint, ReplayRequest } from '../model/stream-replay.ts';

const PAGE_MESSAGES = 256;
const PAGE_BYTES = 1024 * 1024;

/**
 * Iterates over the stored messages of a replay with one page in memory. Messages stored after its start are not
 * included. Messages that were cleared or expired are left out when their page is read.
 */
export class ReplayPages {
  readonly total: number;
  /** Id of the newest message at the start. */
  readonly newest: number;
  readonly #log: MessageLog;
  readonly #request: ReplayRequest;
  #after: number | null;
  #left: number;
  #page: readonly StoredMessage[] = [];
  #place = 0;
  #isPastLast = false;
  /** Grows when a page that is being read is no longer wanted. */
  #version = 0;

  /** Continues at a checkpoint. */
  constructor(log: MessageLog, request: ReplayRequest, { newest, total, after, published }: ReplayCheckpoint) {
    this.#log = log;
    this.#request = request;
    this.newest = newest;
    this.total = total;
    this.#left = total - published;
    // `after` is exclusive: plus one includes the newest message.
    this.#after = after ?? (request.reverse ? newest + 1 : null);
  }

  /** Includes the messages that were received before, also those that are being stored. */
  static open(log: MessageLog, request: ReplayRequest): ValueOrPromise<ReplayPages> {
    return after<void, ReplayPages>(log.finished(), () => ReplayPages.#opened(log, request));
  }

  static #opened(log: MessageLog, request: ReplayRequest): ValueOrPromise<ReplayPages> {
    const { from, to, limit } = request;
    const newestFirst = { from, to, after: null, reverse: true, limit: 1, maxBytes: 1 };
    return after(log.read(newestFirst), ([newest]) => {
      const start = { after: null, published: 0 };
      if (newest === undefined) return new ReplayPages(log, request, { ...start, newest: 0, total: 0 });
      return after(log.count({ from, to }), (stored) => {
        const total = Math.min(limit ?? Number.POSITIVE_INFINITY, stored);
        return new ReplayPages(log, request, { ...start, newest: newest.id, total });
      });
    });
  }

  /** The next message. `null`: a page is to be read first, or there is no further message. */
  get next(): StoredMessage | null {
    return this.#page[this.#place] ?? null;
  }

  /** Id of the last message that `advance` has passed; `null`: none. */
  get passed(): number | null {
    return this.taken === 0 ? null : this.#after;
  }

  /** Number of messages that `advance` has passed, also before the checkpoint. */
  get taken(): number {
    return this.total - this.#left;
  }

  get isAtEnd(): boolean {
    return this.next === null && (this.#left <= 0 || this.#isPastLast);
  }

  advance(): void {
    const message = this.next;
    if (message === null) return;
    this.#after = message.id;
    this.#left -= 1;
    this.#place += 1;
  }

  /** Discards the page in memory, because its messages may have been deleted from disk. */
  forget(): void {
    this.#version += 1;
    this.#page = [];
    this.#place = 0;
    this.#isPastLast = false;
  }

  /** Reads the next page. Errors: those of the log. */
  read(): ValueOrPromise<void> {
    this.forget();
    const version = this.#version;
    const { from, to, reverse } = this.#request;
    const limit = Math.min(PAGE_MESSAGES, this.#left);
    const page = this.#log.read({ from, to, after: this.#after, reverse, limit, maxBytes: PAGE_BYTES });
    return after(page, (messages) => {
      if (version !== this.#version) return;
      const isLater = (messages.at(-1)?.id ?? 0) > this.newest;
      this.#page = isLater ? messages.filter(({ id }) => id <= this.newest) : messages;
      this.#isPastLast = this.#page.length === 0;
    });
  }
}
