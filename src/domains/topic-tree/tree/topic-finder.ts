import { invalid } from '../../../platform/errors.ts';
import { runInSlices, type SlicedTask } from '../../../platform/scheduling/sliced-task.ts';
import { filterProblem } from '../../../protocol/mqtt/topics.ts';
import type { FindTopics } from '../model/topic-recorder.ts';
import { FilterMatching } from './filter-matching.ts';
import { ALL, ITSELF, type Matching } from './matching.ts';
import { NONE } from './rows.ts';
import { SearchMatching } from './search-matching.ts';
import type { TopicLevels } from './topic-levels.ts';
import { topicOfPrefix } from './topic-order.ts';
import { TopicWalk } from './topic-walk.ts';

/** What topics are looked for. */
export type TopicCondition = Pick<FindTopics, 'prefix' | 'search' | 'filter'>;

/**
 * Looks for topics, in slices between which the tree may change: at the end of one it notes the topic that comes next, and where nodes
 * have changed, it goes there anew. So it finds all that are listed throughout, each once.
 */
export class TopicFinder {
  readonly #levels: TopicLevels;
  readonly #matchings: readonly Matching[];
  readonly #prefix: string | null;
  readonly #assertWanted: () => void;

  /** `assertWanted` is asked now and then: what it throws ends the look. Errors: INVALID for a filter that is none. */
  constructor(levels: TopicLevels, { prefix, search, filter }: TopicCondition, assertWanted: () => void) {
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

  /**
   * Tells the nodes of those after a topic, without the first `offset` ones, until `take` has no room. `isCounted`: how many there are
   * in all, too, which looks at all.
   */
  async list(
    after: string | null,
    offset: number,
    take: (node: number) => boolean,
    isCounted: boolean,
  ): Promise<Found> {
    const levels = this.#levels;
    let goesOn = isCounted && after === null;
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
        // All that is beside it counts at once where it is counted from the beginning.
        if (hasMore && above === ALL) goesOn = false;
        if (hasMore && !goesOn) return END;
        // The one for which there was no room comes with all below it.
        if (hasMore && wanted === ALL) {
          count += topics;
          return PAST;
        }
        count += 1;
        return ON;
      }),
      SLICE_MS,
    );
    return { hasMore, count: goesOn || !isCounted ? count : await this.#count() };
  }

  /** `visit` is told each node of which something may be wanted, what is, and what is wanted of the one above; it says where to go from there. */
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
      // To tell a place takes as long as it has levels.
      left = Math.max(STEPS, walk.depth);
      const next = levels.topicOf(walk.node);
      const { version } = levels;
      yield;
      this.#assertWanted();
      if (levels.version !== version) walk.start(next);
    }
  }
}

export interface Found {
  readonly hasMore: boolean;
  /** How many there are in all; of no meaning where they are not counted. */
  readonly count: number;
}

/** Where to go from a node: on to those below it, past them, or no further. */
type Way = typeof ON | typeof PAST | typeof END;
const ON = 0;
const PAST = 1;
const END = 2;

/** Of an event loop that serves a broker, too. */
const SLICE_MS = 4;
/** Nodes between two looks at the time: well below a millisecond, also where each is a topic of the answer. */
const STEPS = 100;
