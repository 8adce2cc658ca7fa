import type { ReplayRequest } from '../model/stream-replay.ts';
import type { StoredMessage } from '../store/message-store.ts';
import type { SegmentLog } from '../store/segment-log.ts';

const PAGE_MESSAGES = 256;
const PAGE_BYTES = 1024 * 1024;

/**
 * Iterates over the stored messages of a replay with one page in memory. Messages stored after its creation are not
 * included. Messages that were cleared or expired are left out when their page is read.
 */
export class ReplayPages {
  readonly #log: SegmentLog;
  readonly #request: ReplayRequest;
  /** Id of the newest message at creation. `null` if there is nothing to replay. */
  readonly #newest: number | null;
  #after: number | null = null;
  #left: number;
  #page: StoredMessage[] = [];
  #place = 0;

  constructor(log: SegmentLog, request: ReplayRequest) {
    const { from, to, reverse, limit } = request;
    this.#log = log;
    this.#request = request;
    const [newest] = log.read({ from, to, after: null, reverse: true, limit: 1, maxBytes: 1 });
    this.#newest = newest?.id ?? null;
    this.#left = this.#newest === null ? 0 : Math.min(limit ?? Number.POSITIVE_INFINITY, log.count({ from, to }));
    // `after` is exclusive: plus one includes the newest message.
    if (reverse && this.#newest !== null) this.#after = this.#newest + 1;
    this.total = this.#left;
  }

  readonly total: number;

  peek(): StoredMessage | null {
    if (this.#place >= this.#page.length) this.#read();
    return this.#page[this.#place] ?? null;
  }

  advance(): void {
    const message = this.#page[this.#place];
    if (message === undefined) return;
    this.#after = message.id;
    this.#left -= 1;
    this.#place += 1;
  }

  /** Discards the page in memory, because its messages may have been deleted from disk. */
  forget(): void {
    this.#page = [];
    this.#place = 0;
  }

  #read(): void {
    this.forget();
    const limit = Math.min(PAGE_MESSAGES, this.#left);
    if (limit <= 0) return;
    const { from, to, reverse } = this.#request;
    const page = this.#log.read({ from, to, after: this.#after, reverse, limit, maxBytes: PAGE_BYTES });
    const newest = this.#newest ?? 0;
    this.#page = (page.at(-1)?.id ?? 0) > newest ? page.filter(({ id }) => id <= newest) : page;
  }
}
