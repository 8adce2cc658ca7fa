import type { StoredMessage } from './message-store.ts';
import type { SegmentFile } from './segment-file.ts';
import type { SegmentFolder } from './segment-folder.ts';

interface PageOptions {
  readonly from: number;
  readonly to: number;
  readonly reverse: boolean;
  readonly limit: number;
  readonly maxBytes: number;
}

/** Rows of the first read, before the size of the messages is known. Later reads take at most MAX_ROWS. */
const FIRST_ROWS = 32;
const MAX_ROWS = 256;

export function readPage(folder: SegmentFolder, options: PageOptions): StoredMessage[] {
  const page = new Page(options);
  const segments = folder.within(options.from, options.to);
  for (const segment of options.reverse ? segments.reverse() : segments) {
    if (page.isFull) break;
    const before = page.mark();
    // The segment is damaged: none of its messages is returned.
    if (folder.look(segment, ({ file }) => page.fill(file)) === null) page.reset(before);
  }
  return page.messages;
}

class Page {
  messages: StoredMessage[] = [];
  #bytes = 0;
  isFull = false;
  readonly #options: PageOptions;

  constructor(options: PageOptions) {
    this.#options = options;
    this.isFull = options.limit <= 0;
  }

  mark(): { readonly count: number; readonly bytes: number } {
    return { count: this.messages.length, bytes: this.#bytes };
  }

  reset({ count, bytes }: ReturnType<Page['mark']>): void {
    this.messages.length = count;
    this.#bytes = bytes;
    this.isFull = false;
  }

  fill(file: SegmentFile): true {
    let { from, to } = this.#options;
    const { reverse } = this.#options;
    while (!this.isFull) {
      const limit = this.#rows();
      const rows = file.page(from, to, reverse, limit);
      for (const message of rows) if (!this.#add(message)) return true;
      const last = rows.at(-1);
      if (last === undefined || rows.length < limit) return true;
      if (reverse) to = last.id - 1;
      else from = last.id + 1;
    }
    return true;
  }

  #add(message: StoredMessage): boolean {
    const { limit, maxBytes } = this.#options;
    const bytes = this.#bytes + message.payload.length;
    this.isFull = this.messages.length > 0 && bytes > maxBytes;
    if (this.isFull) return false;
    this.#bytes = bytes;
    this.isFull = this.messages.push(message) >= limit;
    return !this.isFull;
  }

  /** Estimates the rows that fit into the rest of the page from the size of the rows read so far. */
  #rows(): number {
    const { limit, maxBytes } = this.#options;
    const count = this.messages.length;
    if (count === 0) return Math.min(FIRST_ROWS, limit);
    const room = Math.ceil(((maxBytes - this.#bytes) / Math.max(1, this.#bytes)) * count);
    return Math.max(1, Math.min(MAX_ROWS, limit - count, room + 1));
  }
}
