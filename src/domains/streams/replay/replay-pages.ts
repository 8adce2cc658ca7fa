import type { ReplayRequest } from '../model/stream-replay.ts';
import type { MessageLog, StoredMessage } from '../store/message-store.ts';

const PAGE_MESSAGES = 256;
const PAGE_BYTES = 1024 * 1024;

/**
 * The stored messages of a replay, one after the other, of which one page is in memory. What is stored after it was made is not among
 * them; what was cleared or is expired is left out when its page is read, or read again.
 */
export class ReplayPages {
  readonly #log: MessageLog;
  readonly #request: ReplayRequest;
  /** Of the newest message when it was made; null: there is none to replay. */
  readonly #newest: number | null;
  /** The id of the last one that was taken from here. */
  #after: number | null = null;
  #left: number;
  #page: StoredMessage[] = [];
  #place = 0;

  constructor(log: MessageLog, request: ReplayRequest) {
    const { from, to, reverse, limit } = request;
    this.#log = log;
    this.#request = request;
    const [newest] = log.read({ from, to, after: null, reverse: true, limit: 1, maxBytes: 1 });
    this.#newest = newest?.id ?? null;
    this.#left = this.#newest === null ? 0 : Math.min(limit ?? Number.POSITIVE_INFINITY, log.count({ from, to }));
    // Of those in its place on, the newest itself included.
    if (reverse && this.#newest !== null) this.#after = this.#newest + 1;
    this.total = this.#left;
  }

  /** How many there were when it was made. */
  readonly total: number;

  /** The next one, which stays the next one; null: there is none any more. */
  peek(): StoredMessage | null {
    if (this.#place >= this.#page.length) this.#read();
    return this.#page[this.#place] ?? null;
  }

  /** The one that was peeked at is done with. */
  advance(): void {
    const message = this.#page[this.#place];
    if (message === undefined) return;
    this.#after = message.id;
    this.#left -= 1;
    this.#place += 1;
  }

  /** What is in memory may be gone from disk. */
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
