import type { StoredMessage } from './message-store.ts';
import type { SegmentFolder } from './segment-folder.ts';

export interface PageOptions {
  /** Ids, inclusive. */
  readonly from: number;
  readonly to: number;
  readonly reverse: boolean;
  readonly limit: number;
  readonly maxBytes: number;
}

/** One page across segments. */
export function readPage(folder: SegmentFolder, { from, to, reverse, limit, maxBytes }: PageOptions): StoredMessage[] {
  const page: StoredMessage[] = [];
  let bytes = 0;
  const segments = folder.within(from, to);
  for (const segment of reverse ? segments.reverse() : segments) {
    if (page.length >= limit) break;
    const before = page.length;
    const isFull = folder.look(segment, ({ file }) => {
      for (const message of file.messages(from, to, reverse)) {
        bytes += message.payload.length;
        if (page.length > 0 && bytes > maxBytes) return true;
        if (page.push(message) >= limit) return true;
      }
      return false;
    });
    // Damaged in its midst: none of it is served.
    if (isFull === null) page.length = before;
    if (isFull) break;
  }
  return page;
}
