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
import type { OfNode } from './merging-topics.ts';

/**
 * What the streams of several nodes come to, each with messages of its own. A stream of several nodes is one: it is what it is on the
 * first of them, what it counted and stored is that of all, and `nodes` says how it is on each.
 */

/** A node that has not the stream, or of which nobody knows. */
export interface NodeWithout {
  readonly nodeId: number;
  /** It could not be asked. */
  readonly isUnknown: boolean;
  /** Why; null: it just is not there. */
  readonly problem: string | null;
}

/** From the one that matters most. */
const STATES: readonly StreamState[] = ['FAILED', 'REFUSED', 'WAITING', 'RUNNING', 'INACTIVE'];
const STORAGE_STATES: readonly StorageState[] = ['FAILED', 'FULL', 'STORING', 'OFF'];
const REPLAY_STATES: readonly ReplayState[] = ['RUNNING', 'PAUSED', 'FAILED', 'STOPPED', 'DONE'];

/** Replays of a cluster begin on all nodes at once; what began long before is another one. */
const BEGUN_WITHIN_MS = 60_000;
const MAX_TEXT = 1_000;

/** `entries` by number of their nodes, one at least. */
export function mergedStream(entries: readonly OfNode<StreamEntry>[], others: readonly NodeWithout[]): StreamEntry {
  const [first] = entries as [OfNode<StreamEntry>, ...OfNode<StreamEntry>[]];
  const { definition } = first.told;
  const there = entries.map(({ nodeId, told }): StreamOnNode => {
    const differences = differencesBetween(definition, told.definition);
    const state = differences.length === 0 ? 'EQUAL' : 'DIFFERENT';
    return { nodeId, state, differences, report: told.report, problem: null };
  });
  const lacking = others.map(({ nodeId, isUnknown, problem }): StreamOnNode => {
    const state = isUnknown ? 'UNKNOWN' : 'MISSING';
    return { nodeId, state, differences: [], report: null, problem };
  });
  const nodes = [...there, ...lacking].sort((one, other) => one.nodeId - other.nodeId);
  return {
    definition,
    replaying: entries.some(({ told: { replaying } }) => replaying),
    report: mergedReport(nodes),
    nodes,
  };
}

/** Null: no node tells. */
function mergedReport(nodes: readonly StreamOnNode[]): StreamReport | null {
  const reports = nodes.flatMap(({ nodeId, report }) => (report === null ? [] : [{ nodeId, told: report }]));
  if (reports.length === 0) return null;
  const problems = nodes.map(problemOf).filter((problem) => problem !== null);
  return {
    state: worst(
      STATES,
      reports.map(({ told }) => told.state),
    ),
    problem: problems.length === 0 ? null : problems.join('; ').slice(0, MAX_TEXT),
    counters: mergedCounters(reports.map(({ nodeId, told: { counters } }) => ({ nodeId, told: counters }))),
    storage: mergedStorage(reports.map(({ nodeId, told: { storage } }) => ({ nodeId, told: storage }))),
    replay: mergedReplay(
      reports.flatMap(({ nodeId, told: { replay } }) => (replay === null ? [] : [{ nodeId, told: replay }])),
    ),
  };
}

function problemOf({ nodeId, state, differences, problem, report }: StreamOnNode): string | null {
  const what =
    state === 'DIFFERENT'
      ? `it is otherwise there (${differences.join(', ')})`
      : state === 'MISSING'
        ? 'it is not there'
        : null;
  const words = [what, problem, report?.problem ?? null].filter((text) => text !== null);
  return words.length === 0 ? null : `Node ${nodeId}: ${words.join('; ')}`;
}

function mergedCounters(counters: readonly OfNode<StreamCounters>[]): StreamCounters {
  const sum = (of: (one: StreamCounters) => number) => counters.reduce((all, { told }) => all + of(told), 0);
  const last = (of: (one: StreamCounters) => Reason | null) =>
    counters
      .flatMap(({ nodeId, told }) => {
        const reason = of(told);
        return reason === null ? [] : [{ at: reason.at, reason: `Node ${nodeId}: ${reason.reason}` }];
      })
      .reduce<Reason | null>((latest, one) => (latest === null || one.at > latest.at ? one : latest), null);
  return {
    // All that is counted came since.
    since: Math.min(...counters.map(({ told: { since } }) => since)),
    received: sum(({ received }) => received),
    published: sum(({ published }) => published),
    stored: sum(({ stored }) => stored),
    filtered: sum(({ filtered }) => filtered),
    failed: sum(({ failed }) => failed),
    notStored: sum(({ notStored }) => notStored),
    replayed: sum(({ replayed }) => replayed),
    lastReceived: extreme(
      Math.max,
      counters.map(({ told: { lastReceived } }) => lastReceived),
    ),
    lastError: last(({ lastError }) => lastError),
    lastFiltered: last(({ lastFiltered }) => lastFiltered),
  };
}

function mergedStorage(storages: readonly OfNode<StreamStorage>[]): StreamStorage {
  const all = storages.map(({ told }) => told);
  const problems = storages.flatMap(({ nodeId, told: { problem } }) =>
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

/** The last one that was begun, on all nodes where it was. */
function mergedReplay(replays: readonly OfNode<ReplayProgress>[]): ReplayProgress | null {
  const [latest] = replays.toSorted((one, other) => other.told.startedAt - one.told.startedAt);
  if (latest === undefined) return null;
  const request = JSON.stringify(latest.told.request);
  const same = replays.filter(
    ({ told }) => JSON.stringify(told.request) === request && told.startedAt >= latest.told.startedAt - BEGUN_WITHIN_MS,
  );
  const all = same.map(({ told }) => told);
  const problems = same.flatMap(({ nodeId, told: { problem } }) =>
    problem === null ? [] : [`Node ${nodeId}: ${problem}`],
  );
  const ends = all.map(({ endedAt }) => endedAt);
  return {
    id: all.reduce((sum, { id }) => sum + id, 0),
    state: worst(
      REPLAY_STATES,
      all.map(({ state }) => state),
    ),
    request: latest.told.request,
    published: all.reduce((sum, { published }) => sum + published, 0),
    total: all.reduce((sum, { total }) => sum + total, 0),
    position: extreme(
      latest.told.request.reverse ? Math.min : Math.max,
      all.map(({ position }) => position),
    ),
    startedAt: Math.min(...all.map(({ startedAt }) => startedAt)),
    endedAt: ends.includes(null) ? null : extreme(Math.max, ends),
    problem: problems.length === 0 ? null : problems.join('; ').slice(0, MAX_TEXT),
  };
}

/** The first of `order` that is there; there is one at least. */
const worst = <T>(order: readonly T[], of: readonly T[]): T => order.find((one) => of.includes(one)) as T;

function extreme(pick: (...of: number[]) => number, values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : pick(...known);
}
