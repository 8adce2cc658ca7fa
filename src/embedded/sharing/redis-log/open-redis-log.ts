import type { LogEntry, LogPlace } from '../shared-log.ts';
import { LinkMaker, reasonOf } from './link-maker.ts';
import { join, newName, type Voter } from './log-membership.ts';
import {
  DEFAULT_BOUNDS,
  DEFAULT_TIMING,
  LogEnded,
  type OpenedLog,
  type RedisLogOptions,
  type ToldOptions,
} from './log-options.ts';
import type { RedisLink } from './redis-link.ts';
import { RedisLog } from './redis-log.ts';
import { takeSnapshot } from './snapshots.ts';

/**
 * Resolves once this node is part of the cluster. Rejects with a LogEnded when that is refused, with a TypeError for a URL that is
 * none, with the reason of `signal` when it is given up.
 */
export async function openRedisLog(options: RedisLogOptions): Promise<OpenedLog> {
  const signal = options.signal ?? new AbortController().signal;
  const told: ToldOptions = { ...options, ...onceEach(options) };
  const { expiry } = { ...DEFAULT_TIMING, ...options.timing };
  const opening = new Opening(told, new LinkMaker(options.url, options.clusterId, expiry, told.onProblem));
  for (;;) {
    const opened = await opening.attempt(signal);
    if (opened) return opened;
  }
}

class Opening {
  readonly #options: ToldOptions;
  readonly #links: LinkMaker;
  readonly #voter: Voter;
  readonly #attempts = new Set<string>();

  constructor(options: ToldOptions, links: LinkMaker) {
    const { nodeId, isSeed, place, timing } = options;
    this.#options = options;
    this.#links = links;
    this.#voter = { nodeId, isSeed, place, epoch: newName(), patience: timing?.vote ?? DEFAULT_TIMING.vote };
  }

  /** Null: Redis was lost on the way, and the next attempt is with another run. */
  async attempt(signal: AbortSignal): Promise<OpenedLog | null> {
    const link = await this.#links.next(signal);
    const giveUp = () => link.fail(new Error('the opening was given up'));
    signal.addEventListener('abort', giveUp, { once: true });
    const run = newName();
    try {
      return await this.#open(link, run, signal);
    } catch (error) {
      link.fail(error instanceof Error ? error : new Error(String(error)));
      signal.throwIfAborted();
      if (error instanceof LogEnded) throw error;
      this.#attempts.add(run);
      this.#options.onProblem(`Redis was lost: ${reasonOf(error)}`);
      return null;
    } finally {
      signal.removeEventListener('abort', giveUp);
    }
  }

  async #open(link: RedisLink, run: string, signal: AbortSignal): Promise<OpenedLog> {
    const options = this.#options;
    const timing = { ...DEFAULT_TIMING, ...options.timing };
    const bounds = { ...DEFAULT_BOUNDS, ...options.bounds };
    const { place, position } = await join(link, run, this.#voter, {
      beatMs: timing.beat,
      startingMs: timing.starting,
      attempts: this.#attempts,
      signal,
    });
    const log = new RedisLog({ options, timing, bounds, links: this.#links, link, run, voter: this.#voter, position });
    if (place) return opened(log, place, null);
    const sinceAsked = performance.now();
    const whileWaiting = () => {
      if (performance.now() - sinceAsked < timing.snapshot) return;
      options.onProblem('This node waits for another one that has what the cluster has in common');
    };
    try {
      const snapshot = await takeSnapshot(link, run, timing.snapshot, whileWaiting);
      return opened(log, snapshot.place, snapshot.entries);
    } catch (error) {
      throw log.ended ?? error;
    }
  }
}

function opened(log: RedisLog, place: LogPlace, snapshot: AsyncIterable<LogEntry> | null): OpenedLog {
  return { log, snapshot, start: (reader) => log.start(place, reader) };
}

/** The same problem again and again is one, until Redis is reached. */
function onceEach({ onProblem, onReach }: RedisLogOptions): Pick<ToldOptions, 'onProblem' | 'onReach' | 'lastProblem'> {
  let last = '';
  return {
    onProblem: (problem) => {
      if (problem !== last) onProblem(problem);
      last = problem;
    },
    onReach: (isReached) => {
      if (isReached) last = '';
      onReach?.(isReached);
    },
    lastProblem: () => (last === '' ? null : last),
  };
}
