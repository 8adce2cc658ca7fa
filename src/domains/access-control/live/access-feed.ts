import type { Polled, PolledContent, PolledEvent, PollSource } from '../../../gateway/live/polled-feed.ts';
import { runInSlices } from '../../../platform/scheduling/sliced-task.ts';
import type { AccessView } from '../graph/access-view.ts';
import {
  type AccessDifference,
  accessDifference,
  differenceParts,
  NO_DIFFERENCE,
  weightOf,
} from './access-difference.ts';

export interface AccessState {
  /** The newest state, which all events share: stored events must not keep old policies in memory. */
  readonly latest: () => AccessView | null;
  /** Since the previous event. */
  readonly difference: AccessDifference;
}

export type AccessEvent = PolledEvent<AccessState>;

/** Access control of one broker. The policy is compared where it is read, in slices. */
export const ACCESS_CONTENT: PolledContent<AccessState> = {
  initial: { latest: () => null, difference: NO_DIFFERENCE },
  history: 1_000,
  // Names of objects.
  maxWeight: 20_000,
  weigh: ({ difference }) => weightOf(difference) + 1,
  changes(before, now) {
    const isConnection = before.isConnected !== now.isConnected;
    const difference = before.difference === now.difference ? NO_DIFFERENCE : now.difference;
    const parts = differenceParts(difference).map((part): Polled<AccessState> => ({ ...now, difference: part }));
    return parts.length === 0 && isConnection ? [{ ...now, difference: NO_DIFFERENCE }] : parts;
  },
};

/** `read` returns the cached access control, which is read again when it may have changed. */
export function accessSource(read: () => Promise<AccessView>): PollSource<AccessState> {
  let view: AccessView | null = null;
  const latest = () => view;
  return {
    read: async (current) => {
      const before = current?.latest() ?? null;
      const now = await read();
      const difference = before && (await runInSlices(accessDifference(before.policy, now.policy)));
      view = now;
      return { latest, difference: difference ?? NO_DIFFERENCE };
    },
  };
}
