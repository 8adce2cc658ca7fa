import { Broadcast, type BroadcastEvent } from '../../gateway/live/broadcast.ts';
import type { LiveSource, SubscriberOptions } from '../../gateway/live/live-source.ts';
import { type ProjectFeed, ProjectFeeds } from '../../gateway/live/project-feeds.ts';
import type { ProblemCache, ProblemRecord } from './storage/problem-cache.ts';

interface ProblemState {
  readonly problems: readonly ProblemRecord[];
  /** Ids of problems that were deleted with their project. */
  readonly removed: readonly string[];
}

export type ProblemEvent = BroadcastEvent<ProblemState, ProblemState>;

/** The key of the feed of the service, in place of a project. */
const SERVICE = '';
const MAX_PER_EVENT = 500;

/** Live lists of open problems: of each project, and of the service itself. */
export class ProblemFeeds {
  readonly #cache: ProblemCache;
  readonly #feeds: ProjectFeeds<ProjectFeed<ProblemState, ProblemState>>;
  readonly #stop: () => void;

  constructor(cache: ProblemCache) {
    this.#cache = cache;
    this.#feeds = new ProjectFeeds((projectId, only) => ({
      broadcast: new Broadcast<ProblemState, ProblemState>(() => this.#snapshot(projectId, only), {
        weigh: ({ problems, removed }) => problems.length + removed.length,
        split: (state) => {
          const [first = state, ...rest] = partsOf(state.problems);
          return { first, rest };
        },
      }),
    }));
    this.#stop = cache.onChange((after, before) => this.#changed(after, before));
  }

  /** `projectId` is `null` for the service. `only`: the visible brokers; `null`: all problems of the project. */
  watch(
    projectId: string | null,
    only: ReadonlySet<string> | null,
    options: SubscriberOptions,
  ): LiveSource<ProblemEvent> {
    return this.#feeds.of(projectId ?? SERVICE, only).broadcast.subscribe(options);
  }

  /** The problems of a project look otherwise, because silences began or ended. */
  republish(projectId: string): void {
    for (const problem of this.#cache.openOfProject(projectId))
      this.#publish(problem, { problems: [problem], removed: [] });
  }

  close(): void {
    this.#stop();
    this.#feeds.close();
  }

  #snapshot(projectId: string, only: ReadonlySet<string> | null): ProblemState {
    const problems = this.#cache.openOfProject(projectId === SERVICE ? null : projectId);
    const visible =
      only === null ? problems : problems.filter(({ brokerId }) => brokerId !== null && only.has(brokerId));
    return { problems: visible, removed: [] };
  }

  /** That a fact is still there is no change. */
  #changed(after: ProblemRecord | null, before: ProblemRecord | null): void {
    if (after === null) {
      if (before?.openKey != null) this.#publish(before, { problems: [], removed: [before.id] });
    } else if (after.openKey !== null || before?.openKey != null) {
      if (before === null || !isSameButSeen(after, before)) this.#publish(after, { problems: [after], removed: [] });
    }
  }

  #publish({ projectId, brokerId }: ProblemRecord, change: ProblemState): void {
    // No broker has an empty id, so problems without one are in no feed of single brokers.
    for (const { broadcast } of this.#feeds.containing(projectId ?? SERVICE, brokerId ?? '')) broadcast.publish(change);
  }
}

function partsOf(problems: readonly ProblemRecord[]): ProblemState[] {
  const parts: ProblemState[] = [];
  for (let from = 0; from < problems.length; from += MAX_PER_EVENT) {
    parts.push({ problems: problems.slice(from, from + MAX_PER_EVENT), removed: [] });
  }
  return parts;
}

const isSameButSeen = (one: ProblemRecord, other: ProblemRecord): boolean =>
  JSON.stringify({ ...one, lastSeenAt: null }) === JSON.stringify({ ...other, lastSeenAt: null });
