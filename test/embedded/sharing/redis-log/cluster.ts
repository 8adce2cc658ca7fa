import { onTestFinished } from 'vitest';
import type {
  LogEnded,
  LogTiming,
  OpenedLog,
  RedisLogOptions,
} from '../../../../src/embedded/sharing/redis-log/log-options.ts';
import { openRedisLog } from '../../../../src/embedded/sharing/redis-log/open-redis-log.ts';
import type { EntryOrigin, LogEntry, LogPlace, SharedLog } from '../../../../src/embedded/sharing/shared-log.ts';

/**
 * Heartbeats come often, so that tests need not wait for them; nobody is lost because a machine is busy. Whoever judges others by
 * their heartbeats says so by a shorter expiry of its own.
 */
export const QUICK: LogTiming = {
  beat: 100,
  expiry: 60_000,
  starting: 60_000,
  vote: 60_000,
  retention: 600_000,
  snapshot: 30_000,
};

/**
 * A node whose state is the list of what it has applied: `<node>:<text>` of entries, `lost <node>`. It keeps its place with it, as a
 * journal does.
 */
export interface TestNode {
  readonly nodeId: number;
  readonly log: SharedLog;
  readonly state: string[];
  readonly told: string[];
  readonly problems: string[];
  readonly origins: EntryOrigin[];
  place: LogPlace;
  readonly ended: Promise<LogEnded>;
  readonly tookSnapshot: boolean;
  /** Resolves when the state has it. */
  has(text: string): Promise<void>;
  append(text: string, payload?: LogEntry['payload']): Promise<void>;
}

export interface NodeOptions extends Partial<RedisLogOptions> {
  readonly url: string;
  /** What it had when it ended. */
  readonly former?: { readonly state: readonly string[]; readonly place: LogPlace } | null;
  readonly onSnapshot?: () => void;
  readonly onApply?: (entry: LogEntry) => void;
}

export async function startNode(nodeId: number, options: NodeOptions): Promise<TestNode> {
  const { former = null, onSnapshot, onApply, ...others } = options;
  const state = [...(former?.state ?? [])];
  const told: string[] = [];
  const problems: string[] = [];
  const origins: EntryOrigin[] = [];
  const waiting = new Map<string, () => void>();
  let end: (error: LogEnded) => void = () => undefined;
  const ended = new Promise<LogEnded>((resolve) => {
    end = resolve;
  });
  const opened: OpenedLog = await openRedisLog({
    clusterId: 'test',
    nodeId,
    isSeed: nodeId === 1,
    place: former?.place ?? null,
    timing: QUICK,
    onProblem: (problem) => problems.push(problem),
    onEnd: (error) => end(error),
    ...others,
  });
  const { log, snapshot } = opened;
  const add = (text: string) => {
    state.push(text);
    waiting.get(text)?.();
    waiting.delete(text);
  };
  if (snapshot) {
    state.length = 0;
    for await (const { about } of snapshot) state.push((about as { text: string }).text);
  }
  const node: TestNode = {
    nodeId,
    log,
    state,
    told,
    problems,
    origins,
    place: { epoch: '', position: '', members: [] },
    ended,
    tookSnapshot: snapshot !== null,
    has: (text) => {
      if (state.includes(text)) return Promise.resolve();
      return new Promise((resolve) => waiting.set(text, resolve));
    },
    append: (text, payload) => log.append({ kind: 'text', about: { text }, payload }),
  };
  opened.start({
    apply: (entry, origin) => {
      origins.push(origin);
      onApply?.(entry);
      add(`${origin.nodeId}:${(entry.about as { text: string }).text}`);
    },
    told: (entry, origin) => told.push(`${origin.nodeId}:${(entry.about as { text: string }).text}`),
    reached: (place) => {
      node.place = place;
    },
    lost: (lostId) => add(`lost ${lostId}`),
    *snapshot() {
      onSnapshot?.();
      for (const text of state) yield { kind: 'text', about: { text } };
    },
  });
  onTestFinished(() => log.close());
  return node;
}
