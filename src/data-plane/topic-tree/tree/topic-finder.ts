import { invalid } from '../../../platform/errors.ts';
import { runInSlices, type SlicedTask } from '../../../platform/scheduling/sliced-task.ts';
import { filterProblem } from '../../../protocol/mqtt/topics.ts';
import type { FindTopics } from '../model/topic-recorder.ts';
import { ALL, FilterMatching, ITSELF, type Matching, SearchMatching } from './matching.ts';
import { NONE } from './rows.ts';
import type { TopicLevels } from './topic-levels.ts';
import { topicOfPrefix } from './topic-order.ts';
import { TopicWalk } from './topic-walk.ts';

/**
 * Searches topics in time slices, between which the tree may change. If nodes have changed, the search continues at the
 * topic stored at the end of the slice. So each topic that is listed the whole time is found exactly once.
 */
export class TopicFinder {
  readonly #levels: TopicLevels;
  readonly #matchings: readonly Matching[];
  readonly #prefix: string | null;
  readonly #assertWanted: () => void;

  constructor(
    levels: TopicLevels,
    { prefix, search, filter }: Pick<FindTopics, 'prefix' | 'search' | 'filter'>,
    assertWanted: () => void,
  ) {
    const problem = filter === undefined ? null : filterProblem(filter);
    if (problem) throw invalid([{ path: 'filter', reason: problem }]);
    this.#levels = levels;
    this.#assertWanted = assertWanted;
    this.#prefix = topicOfPrefix(prefix);
    const matchings: Matching[] = [];
    if (filter !== undefined) matchings.push(new FilterMatching(levels, filter));
    if (search !== undefined && search !== '') matchings.push(new SearchMatching(levels, search));
    this.#matchings = matchings;
  }

  async #count(): Promise<number> {
    let count = 0;
    await runInSlices(
      this.#steps(null, (node, wanted) => {
        if (wanted === ALL) count += this.#levels.topicCountOf(node);
        else if (wanted & ITSELF && this.#levels.useOf(node) !== NONE) count += 1;
        return wanted === ALL ? PAST : ON;
      }),
      SLICE_MS,
    );
    return count;
  }

  /** Passes the matching nodes after a topic to `take`, without the first `offset` ones, until `take` returns false. */
  async list(after: string | null, offset: number, take: (node: number) => boolean, isCounted: boolean) {
    const levels = this.#levels;
    let countsHere = isCounted && after === null;
    let left = offset;
    let count = 0;
    let hasMore = false;
    await runInSlices(
      this.#steps(after, (node, wanted, above) => {
        const topics = levels.topicCountOf(node);
        if (wanted === ALL && (topics <= left || hasMore)) {
          if (!hasMore) left -= topics;
          count += topics;
          return PAST;
        }
        if ((wanted & ITSELF) === 0 || levels.useOf(node) === NONE) return ON;
        if (hasMore) {
          count += 1;
          return ON;
        }
        if (left > 0) left -= 1;
        else hasMore = !take(node);
        // A count from the beginning is faster here, because it adds all topics of the parent in one step.
        if (hasMore && above === ALL) countsHere = false;
        if (hasMore && !countsHere) return END;
        // The topic that did not fit is counted together with all topics below it.
        if (hasMore && wanted === ALL) {
          count += topics;
          return PAST;
        }
        count += 1;
        return ON;
      }),
      SLICE_MS,
    );
    return { hasMore, count: countsHere || !isCounted ? count : await this.#count() };
  }

  /** Calls `visit` with each node that may match, its match bits and those of its parent. */
  *#steps(after: string | null, visit: (node: number, wanted: number, above: number) => Way): SlicedTask<void> {
    const levels = this.#levels;
    const walk = new TopicWalk(levels, this.#matchings, this.#prefix);
    walk.start(after);
    if (after !== null && walk.node !== NONE && levels.find(after) === walk.node) walk.next(true);
    for (let left = STEPS; walk.node !== NONE; ) {
      const way = visit(walk.node, walk.wanted, walk.wantedAbove);
      if (way === END) return;
      walk.next(way === ON);
      left -= 1;
      if (left > 0 || walk.node === NONE) continue;
      left = Math.max(STEPS, walk.depth);
      const next = levels.topicOf(walk.node);
      const { version } = levels;
      yield;
      this.#assertWanted();
      if (levels.version !== version) walk.start(next);
    }
  }
}

/** Where to continue after a node: with its children, after its subtree, or nowhere. */
type Way = typeof ON | typeof PAST | typeof END;
const ON = 0;
const PAST = 1;
const END = 2;

const SLICE_MS = 4;
/** Nodes between two checks of the time. They take well below 1 ms, even if each is part of the result. */
const STEPS = 100;
