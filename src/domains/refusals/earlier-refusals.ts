import { MAX_REFUSALS, type Refusal } from '../../protocol/apis/refusals/refusal.ts';
import type { RefusalList } from './refusal-list.ts';

/** Adds refusals of earlier logs, the newest first. Equal ones are one entry, which has the id of the later one. */
export function withEarlier(list: RefusalList, earlier: readonly Refusal[]): RefusalList {
  if (earlier.length === 0) return list;
  const byKey = new Map<string, Refusal>();
  for (const refusal of earlier) {
    const key = keyOf(refusal);
    const later = byKey.get(key);
    byKey.set(key, later === undefined ? refusal : together(later, refusal));
  }
  const refusals = list.refusals.map((refusal) => {
    const key = keyOf(refusal);
    const before = byKey.get(key);
    byKey.delete(key);
    return before === undefined ? refusal : together(refusal, before);
  });
  // No change of the present log has these numbers.
  const rest = [...byKey.values()].map((refusal, index) => ({ ...refusal, sequence: -1 - index }));
  return { ...list, refusals: [...refusals, ...rest].slice(0, MAX_REFUSALS) };
}

const together = (later: Refusal, before: Refusal): Refusal => ({
  ...later,
  firstAt: Math.min(before.firstAt, later.firstAt),
  count: later.count + before.count,
  denial: later.denial ?? before.denial,
});

/** As the log of the provider merges them. */
const keyOf = ({ kind, reason, isMerged, clientId, username, address, topic }: Refusal): string =>
  JSON.stringify([kind, reason, isMerged, clientId, ...(kind === 'TAKEOVER' ? [] : [username, address, topic])]);
