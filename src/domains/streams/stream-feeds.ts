import { isDeepStrictEqual } from 'node:util';
import {
  getStream,
  listStreams,
  onStreamChanged,
  STREAM_API,
} from '../../data-plane/streams/control/stream-control.ts';
import type { StreamEntry } from '../../data-plane/streams/control/stream-wire.ts';
import { isReplaying, type ReplayProgress } from '../../data-plane/streams/model/stream-replay.ts';
import type { Polled, PolledContent, PolledEvent, PollSource } from '../../gateway/live/polled-feed.ts';
import type { ControlCaller, ControlProvider } from '../../protocol/control/plugin.ts';

export interface ReplayStatus {
  readonly replaying: boolean;
  /** The running or last replay. `null` if there is none, or if the stream's server sends no report. */
  readonly replay: ReplayProgress | null;
}

export type ReplayEvent = PolledEvent<ReplayStatus>;

export interface StreamList {
  readonly provider: ControlProvider;
  readonly streams: readonly StreamEntry[];
  readonly removed: readonly string[];
}

export type StreamListEvent = PolledEvent<StreamList>;

/** The replay of one stream. The history has half a minute of a replay with ten reports per second. */
export const REPLAY_CONTENT: PolledContent<ReplayStatus> = {
  initial: { replaying: false, replay: null },
  history: 300,
};

export function replaySource(controls: ControlCaller, name: string): PollSource<ReplayStatus> {
  let hasEvents = false;
  return {
    read: async () => {
      const { replaying, report, nodes } = await getStream(controls, name);
      // Reports of several nodes are read by polling each node.
      hasEvents = report !== null && nodes === undefined;
      return { replaying, replay: report?.replay ?? null };
    },
    onEvent: (listener) =>
      onStreamChanged(controls, name, ({ replay }) => {
        hasEvents = true;
        listener({ replaying: isReplaying(replay), replay });
      }),
    sendsEvents: () => hasEvents,
  };
}

const MAX_PER_EVENT = 500;

/** All streams with their counters. The history has a minute with one change per second. */
export const LIST_CONTENT: PolledContent<StreamList> = {
  initial: { provider: 'NONE', streams: [], removed: [] },
  history: 60,
  // A stream with its report has a few kilobytes.
  maxWeight: 5_000,
  weigh: ({ streams }) => streams.length + 1,
  split: (snapshot) => {
    const [first = snapshot, ...rest] = partsOf(snapshot);
    return { first, rest };
  },
  changes(before, now) {
    const known = new Map(before.streams.map((entry) => [entry.definition.name, entry]));
    const streams = now.streams.filter((entry) => !isDeepStrictEqual(known.get(entry.definition.name), entry));
    for (const { definition } of now.streams) known.delete(definition.name);
    const removed = [...known.keys()];
    if (removed.length + streams.length === 0 && before.isConnected === now.isConnected) return [];
    return partsOf({ ...now, streams, removed });
  },
};

export const listSource = (controls: ControlCaller): PollSource<StreamList> => ({
  read: async () => {
    const { provider } = await controls.capability(STREAM_API);
    const { items } = await listStreams(controls);
    return { provider, streams: items, removed: [] };
  },
});

function partsOf({ streams, ...change }: Polled<StreamList>): Polled<StreamList>[] {
  const parts: Polled<StreamList>[] = [{ ...change, streams: streams.slice(0, MAX_PER_EVENT) }];
  for (let start = MAX_PER_EVENT; start < streams.length; start += MAX_PER_EVENT) {
    parts.push({ ...change, removed: [], streams: streams.slice(start, start + MAX_PER_EVENT) });
  }
  return parts;
}
