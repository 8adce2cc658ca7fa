import { differencesBetween, type StreamEntry } from '../../../data-plane/streams/control/stream-wire.ts';
import type { StreamOnNode } from '../../../data-plane/streams/model/stream-nodes.ts';
import type { ReplayProgress, ReplayState } from '../../../data-plane/streams/model/stream-replay.ts';
import type {
  Reason,
  StorageState,
  StreamCounters,
  StreamReport,
  StreamState,
  StreamStorage,
} from '../../../data-plane/streams/model/stream-report.ts';
import { joinedText, type NodeValue, partsOf, sum, textsOf } from './topic-merge.ts';

/** Merged streams have the definition of the first node, and counters and storage as sums over all nodes. */

/** A node that lacks the stream, or whose state is unknown. */
export interface NodeWithoutStream {
  readonly nodeId: number;
  readonly isUnknown: boolean;
  /** Error of the node. `null` if the stream does not exist there. */
  readonly problem: string | null;
}

const STATES: readonly StreamState[] = ['FAILED', 'REFUSED', 'WAITING', 'RUNNING', 'INACTIVE'];
const STORAGE_STATES: readonly StorageState[] = ['FAILED', 'FULL', 'STORING', 'OFF'];
const REPLAY_STATES: readonly ReplayState[] = ['RUNNING', 'PAUSED', 'FAILED', 'STOPPED', 'DONE'];

/** Replays of a cluster start on all nodes at the same time. A replay that started earlier than this is another one. */
const BEGUN_WITHIN_MS = 60_000;

export function mergedStream(
  entries: readonly NodeValue<StreamEntry>[],
  others: readonly NodeWithoutStream[],
): StreamEntry {
  const [first] = entries as [NodeValue<StreamEntry>, ...NodeValue<StreamEntry>[]];
  const { definition } = first.value;
  const there = entries.map(({ nodeId, value }): StreamOnNode => {
    const differences = differencesBetween(definition, value.definition);
    const state = differences.length === 0 ? 'EQUAL' : 'DIFFERENT';
    return { nodeId, state, differences, report: value.report, problem: null };
  });
  const lacking = others.map(({ nodeId, isUnknown, problem }): StreamOnNode => {
    const state = isUnknown ? 'UNKNOWN' : 'MISSING';
    return { nodeId, state, differences: [], report: null, problem };
  });
  const nodes = [...there, ...lacking].sort((one, other) => one.nodeId - other.nodeId);
  return {
    definition,
    replaying: entries.some(({ value: { replaying } }) => replaying),
    report: mergedReport(nodes),
    nodes,
  };
}

function mergedReport(nodes: readonly StreamOnNode[]): StreamReport | null {
  const reports = nodes.flatMap(({ nodeId, report }) => (report === null ? [] : [{ nodeId, value: report }]));
  if (reports.length === 0) return null;
  return {
    state: worst(STATES, reports, ({ state }) => state),
    problem: joinedText(nodes.map(problemOf).filter((problem) => problem !== null)),
    counters: mergedCounters(partsOf(reports, ({ counters }) => counters)),
    storage: mergedStorage(partsOf(reports, ({ storage }) => storage)),
    replay: mergedReplay(partsOf(reports, ({ replay }) => replay)),
  };
}

function problemOf({ nodeId, state, differences, problem, report }: StreamOnNode): string | null {
  const what =
    state === 'DIFFERENT'
      ? `the definition differs (${differences.join(', ')})`
      : state === 'MISSING'
        ? 'the stream does not exist'
        : null;
  const words = [what, problem, report?.problem ?? null].filter((text) => text !== null);
  return words.length === 0 ? null : `Node ${nodeId}: ${words.join('; ')}`;
}

function mergedCounters(counters: readonly NodeValue<StreamCounters>[]): StreamCounters {
  const last = (of: (one: StreamCounters) => Reason | null) => {
    const [latest] = partsOf(counters, of).sort((one, other) => other.value.at - one.value.at);
    return latest === undefined ? null : { ...latest.value, reason: `Node ${latest.nodeId}: ${latest.value.reason}` };
  };
  return {
    since: Math.min(...counters.map(({ value: { since } }) => since)),
    received: sum(counters, ({ received }) => received),
    published: sum(counters, ({ published }) => published),
    stored: sum(counters, ({ stored }) => stored),
    filtered: sum(counters, ({ filtered }) => filtered),
    failed: sum(counters, ({ failed }) => failed),
    notStored: sum(counters, ({ notStored }) => notStored),
    replayed: sum(counters, ({ replayed }) => replayed),
    lastReceived: extreme(Math.max, counters, ({ lastReceived }) => lastReceived),
    lastError: last(({ lastError }) => lastError),
    lastFiltered: last(({ lastFiltered }) => lastFiltered),
  };
}

const mergedStorage = (storages: readonly NodeValue<StreamStorage>[]): StreamStorage => ({
  state: worst(STORAGE_STATES, storages, ({ state }) => state),
  messages: sum(storages, ({ messages }) => messages),
  bytes: sum(storages, ({ bytes }) => bytes),
  oldest: extreme(Math.min, storages, ({ oldest }) => oldest),
  newest: extreme(Math.max, storages, ({ newest }) => newest),
  problem: joinedText(textsOf(storages, ({ problem }) => problem)),
});

function mergedReplay(replays: readonly NodeValue<ReplayProgress>[]): ReplayProgress | null {
  const [latest] = replays.toSorted((one, other) => other.value.startedAt - one.value.startedAt);
  if (latest === undefined) return null;
  const { request, startedAt } = latest.value;
  const text = JSON.stringify(request);
  const same = replays.filter(
    ({ value }) => JSON.stringify(value.request) === text && value.startedAt >= startedAt - BEGUN_WITHIN_MS,
  );
  return {
    id: sum(same, ({ id }) => id),
    // Each node has a job of its own.
    jobId: same.length === 1 ? latest.value.jobId : null,
    state: worst(REPLAY_STATES, same, ({ state }) => state),
    request,
    published: sum(same, ({ published }) => published),
    total: sum(same, ({ total }) => total),
    position: extreme(request.reverse ? Math.min : Math.max, same, ({ position }) => position),
    startedAt: Math.min(...same.map(({ value }) => value.startedAt)),
    endedAt: same.some(({ value }) => value.endedAt === null)
      ? null
      : extreme(Math.max, same, ({ endedAt }) => endedAt),
    problem: joinedText(textsOf(same, ({ problem }) => problem)),
    checkpoint: null,
  };
}

/** Returns the first state of `order` that occurs in the list, which must not be empty. */
const worst = <T, State>(order: readonly State[], list: readonly NodeValue<T>[], stateOf: (value: T) => State): State =>
  order.find((state) => list.some(({ value }) => stateOf(value) === state)) as State;

function extreme<T>(
  pick: (...of: number[]) => number,
  list: readonly NodeValue<T>[],
  of: (value: T) => number | null,
): number | null {
  const known = partsOf(list, of).map(({ value }) => value);
  return known.length === 0 ? null : pick(...known);
}
