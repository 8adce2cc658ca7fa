import { after, type ValueOrPromise } from '../../platform/value-or-promise.ts';
import type { PageOptions, PageRange } from './log-disk.ts';
import type { IdRange, StoredMessage } from './log-message.ts';
import type { Cluster } from './log-parts.ts';

type ReadPart = (part: PageRange, options: PageOptions) => ValueOrPromise<readonly StoredMessage[]>;

/** A page of messages in the order of their ids, of one cluster of parts after the other. */
export function pageOf(
  found: readonly Cluster[],
  { from, to }: IdRange,
  { limit, maxBytes, reverse }: PageOptions,
  read: ReadPart,
): ValueOrPromise<readonly StoredMessage[]> {
  const clusters = reverse ? found.toReversed() : [...found];
  const next = (page: readonly StoredMessage[]): ValueOrPromise<readonly StoredMessage[]> => {
    const cluster = clusters.shift();
    const bytes = payloadBytes(page);
    const left = { reverse, limit: limit - page.length, maxBytes: maxBytes - bytes };
    if (cluster === undefined || left.limit <= 0 || left.maxBytes <= 0) return page;
    const part = { widths: cluster.widths, from: Math.max(from, cluster.from), to: Math.min(to, cluster.to) };
    return after(read(part, left), (messages) => {
      // The first message of a later part does not fit.
      if (page.length > 0 && bytes + payloadBytes(messages) > maxBytes) return page;
      const last = messages.at(-1)?.id;
      const isRead = last === undefined || (reverse ? last <= part.from : last >= part.to);
      const all = page.length === 0 ? messages : [...page, ...messages];
      // What follows must not come before the rest of the part.
      return isRead ? next(all) : all;
    });
  };
  return next([]);
}

const payloadBytes = (page: readonly StoredMessage[]): number =>
  page.reduce((sum, { payload }) => sum + payload.length, 0);
