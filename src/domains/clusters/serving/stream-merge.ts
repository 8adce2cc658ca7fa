import { differencesBetween, type StreamEntry } from '../../streams/control/stream-wire.ts';
import type { StreamOnNode } from '../../streams/model/stream-nodes.ts';
import type { ReplayProgress, ReplayState } from '../../streams/model/stream-replay.ts';
import type {
  Reason,
  StorageState,
  StreamCounters,
  StreamReport,
  StreamState,
  StreamStorage,
} from '../../streams/model/stream-report.ts';
import type { NodeValue } from './topic-merge.ts';

/**
 * Merges the streams of several nodes into one. The definition is that of the first node. Counters and storage are sums
 * over all nodes. `nodes` has the state on each node.
 */

/** A node that lacks the stream, or whose state is unknown. */
export interface NodeWithoutStream {
  readonly nodeId: number;
  /** Whether the node failed. */
  readonly isUnknown: boolean;
  /** Error of the node. `null` if the stream does not exist there. */
  readonly problem: string | null;
}

/** Highest priority first. */
const STATES: readonly StreamState[] = ['FAILED', 'REFUSED', 'WAITING', 'RUNNING', 'INACTIVE'];
const STORAGE_STATES: readonly StorageState[] = ['FAILED', 'FULL', 'STORING', 'OFF'];
const REPLAY_STATES: readonly ReplayState[] = ['RUNNING', 'PAUSED', 'FAILED', 'STOPPED', 'DONE'];

/** Replays of a cluster start on all nodes at the same time. A replay that started earlier than this is another one. */
const BEGUN_WITHIN_MS = 60_000;
const MAX_TEXT = 1_000;

/** `entries` must be sorted by `nodeId` and not empty. */
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

/** `null` if no node reports. */
function mergedReport(nodes: readonly StreamOnNode[]): StreamReport | null {
  const reports = nodes.flatMap(({ nodeId, report }) => (report === null ? [] : [{ nodeId, value: report }]));
  if (reports.length === 0) return null;
  const problems = nodes.map(problemOf).filter((problem) => problem !== null);
  return {
    state: worst(
      STATES,
      reports.map(({ value }) => value.state),
    ),
    problem: problems.length === 0 ? null : problems.join('; ').slice(0, MAX_TEXT),
    counters: mergedCounters(reports.map(({ nodeId, value: { counters } }) => ({ nodeId, value: counters }))),
    storage: mergedStorage(reports.map(({ nodeId, value: { storage } }) => ({ nodeId, value: storage }))),
    replay: mergedReplay(
      reports.flatMap(({ nodeId, value: { replay } }) => (replay === null ? [] : [{ nodeId, value: replay }])),
    ),
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
  const sum = (of: (one: StreamCounters) => number) => counters.reduce((all, { value }) => all + of(value), 0);
  const last = (of: (one: StreamCounters) => Reason | null) =>
    counters
      .flatMap(({ nodeId, value }) => {
        const reason = of(value);
        return reason === null ? [] : [{ at: reason.at, reason: `Node ${nodeId}: ${reason.reason}` }];
      })
      .reduce<Reason | null>((latest, one) => (latest === null || one.at > latest.at ? one : latest), null);
  return {
    // All counted messages were received after this time.
    since: Math.min(...counters.map(({ value: { since } }) => since)),
    received: sum(({ received }) => received),
    published: sum(({ published }) => published),
    stored: sum(({ stored }) => stored),
    filtered: sum(({ filtered }) => filtered),
    failed: sum(({ failed }) => failed),
    notStored: sum(({ notStored }) => notStored),
    replayed: sum(({ replayed }) => replayed),
    lastReceived: extreme(
      Math.max,
      counters.map(({ value: { lastReceived } }) => lastReceived),
    ),
    lastError: last(({ lastError }) => lastError),
    lastFiltered: last(({ lastFiltered }) => lastFiltered),
  };
}

function mergedStorage(storages: readonly NodeValue<StreamStorage>[]): StreamStorage {
  const all = storages.map(({ value }) => value);
  const problems = storages.flatMap(({ nodeId, value: { problem } }) =>
    problem === null ? [] : [`Node ${nodeId}: ${problem}`],
  );
  return {
    state: worst(
      STORAGE_STATES,
      all.map(({ state }) => state),
    ),
    messages: all.reduce((sum, { messages }) => sum + messages, 0),
    bytes: all.reduce((sum, { bytes }) => sum + bytes, 0),
    oldest: extreme(
      Math.min,
      all.map(({ oldest }) => oldest),
    ),
    newest: extreme(
      Math.max,
      all.map(({ newest }) => newest),
    ),
    problem: problems.length === 0 ? null : problems.join('; ').slice(0, MAX_TEXT),
  };
}

/** Merges the newest replay over all nodes that run it. */
function mergedReplay(replays: readonly NodeValue<ReplayProgress>[]): ReplayProgress | null {
  const [latest] = replays.toSorted((one, other) => other.value.startedAt - one.value.startedAt);
  if (latest === undefined) return null;
  const request = JSON.stringify(latest.value.request);
  const same = replays.filter(
    ({ value }) =>
      JSON.stringify(value.request) === request && value.startedAt >= latest.value.startedAt - BEGUN_WITHIN_MS,
  );
  const all = same.map(({ value }) => value);
  const problems = same.flatMap(({ nodeId, value: { problem } }) =>
    problem === null ? [] : [`Node ${nodeId}: ${problem}`],
  );
  const ends = all.map(({ endedAt }) => endedAt);
  return {
    id: all.reduce((sum, { id }) => sum + id, 0),
    state: worst(
      REPLAY_STATES,
      all.map(({ state }) => state),
    ),
    request: latest.value.request,
    published: all.reduce((sum, { published }) => sum + published, 0),
    total: all.reduce((sum, { total }) => sum + total, 0),
    position: extreme(
      latest.value.request.reverse ? Math.min : Math.max,
      all.map(({ position }) => position),
    ),
    startedAt: Math.min(...all.map(({ startedAt }) => startedAt)),
    endedAt: ends.includes(null) ? null : extreme(Math.max, ends),
    problem: problems.length === 0 ? null : problems.join('; ').slice(0, MAX_TEXT),
  };
}

/** Returns the first state of `order` that occurs in the list, which must not be empty. */
const worst = <T>(order: readonly T[], of: readonly T[]): T => order.find((one) => of.includes(one)) as T;

function extreme(pick: (...of: number[]) => number, values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : pick(...known);
}
