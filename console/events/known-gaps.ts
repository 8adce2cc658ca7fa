import type { WantedEvents } from './event-filter.ts';
import type { EventGap, EventPage } from './event-graph.ts';

/**
 * The gaps that are next to or between the events of a page. The service lists those of all pages. A gap between two
 * pages belongs to the page that was opened from the other one.
 */
export function gapsOf({ gaps, edges, pageInfo }: EventPage, { values }: WantedEvents): readonly EventGap[] {
  const nextTo = values.get('nextTo');
  const [newest, oldest] = [edges[0]?.node.at, edges.at(-1)?.node.at];
  const upper = values.get('after') ? nextTo : pageInfo.hasPreviousPage ? newest : null;
  const lower = values.get('before') ? nextTo : pageInfo.hasNextPage ? (oldest ?? upper) : null;
  return gaps.filter(({ from, to }) => isBefore(from, upper) && isBefore(lower, to));
}

/** `null` and `undefined` are no bound. */
const isBefore = (a: string | null | undefined, b: string | null | undefined): boolean =>
  a == null || b == null || Date.parse(a) <= Date.parse(b);
