import { after, type MaybePromise } from '../../../platform/maybe-promise.ts';
import type { ReplayRequest } from '../model/stream-replay.ts';
import type { MessageLog, StoredMessage } from '../store/message-store.ts';

const PAGE_MESSAGES = 256;
const PAGE_BYTES = 1024 * 1024;

/**
 * Iterates over the stored messages of a replay with one page in memory. Messages stored after its creation are not
 * included. Messages that were cleared or expired are left out when their page is read.
 */
export class ReplayPages {
  readonly total: number;
  readonly #log: MessageLog;
  readonly #request: ReplayRequest;
  /** Id of the newest message at creation. */
  readonly #newest: number;
  #after: number | null;
  #left: number;
  #page: readonly StoredMessage[] = [];
  #place = 0;
  #isPastLast = false;
  /** Grows when a page that is being read is no longer wanted. */
  #version = 0;

  private constructor(log: MessageLog, request: ReplayRequest, newest: number, total: number) {
    this.#log = log;
    this.#request = request;
    this.#newest = newest;
    this.#left = total;
    this.total = total;
    // `after` is exclusive: plus one includes the newest message.
    this.#after = request.reverse ? newest + 1 : null;
  }

  /** Includes the messages that were received before, also those that are being stored. */
  static open(log: MessageLog, request: ReplayRequest): MaybePromise<ReplayPages> {
    return after<void, ReplayPages>(log.finished(), () => ReplayPages.#opened(log, request));
  }

  static #opened(log: MessageLog, request: ReplayRequest): MaybePromise<ReplayPages> {
    const { from, to, limit } = request;
    const newestFirst = { from, to, after: null, reverse: true, limit: 1, maxBytes: 1 };
    return after(log.read(newestFirst), ([newest]) => {
      if (newest === undefined) return new ReplayPages(log, request, 0, 0);
      return after(log.count({ from, to }), (stored) => {
        return new ReplayPages(log, request, newest.id, Math.min(limit ?? Number.POSITIVE_INFINITY, stored));
      });
    });
  }

  /** The next message. `null`: a page is to be read first, or there is no further message. */
  get next(): StoredMessage | null {
    return this.#page[this.#place] ?? null;
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
  read(): MaybePromise<void> {
    this.forget();
    const version = this.#version;
    const { from, to, reverse } = this.#request;
    const limit = Math.min(PAGE_MESSAGES, this.#left);
    const page = this.#log.read({ from, to, after: this.#after, reverse, limit, maxBytes: PAGE_BYTES });
    return after(page, (messages) => {
      if (version !== this.#version) return;
      const isLater = (messages.at(-1)?.id ?? 0) > this.#newest;
      this.#page = isLater ? messages.filter(({ id }) => id <= this.#newest) : messages;
      this.#isPastLast = this.#page.length === 0;
    });
  }
}
