import { ALL, ANY, BELOW, ITSELF, type Matching, NOTHING } from './matching.ts';
import { NONE } from './rows.ts';
import type { TopicLevels } from './topic-levels.ts';

/** Topics that match a topic filter (MQTT 3.1.1, section 4.7). */
export class FilterMatching implements Matching {
  readonly #levels: TopicLevels;
  readonly #filter: readonly string[];
  /** For each level of the filter: the number of its name, ANY for `+`, or NONE if no listed topic has the name. */
  #names: readonly number[] = [];

  constructor(levels: TopicLevels, filter: string) {
    this.#levels = levels;
    this.#filter = filter.split('/');
  }

  renew(): void {
    const { names } = this.#levels;
    this.#names = this.#filter.map((level) => (level === '+' ? ANY : names.find(level, 0, level.length)));
  }

  enter(_node: number, name: number, depth: number): number {
    const filter = this.#filter;
    // [MQTT-4.7.2-1]: a wildcard at the first level does not match topics that begin with `$`.
    if (depth === 0 && (filter[0] === '+' || filter[0] === '#') && this.#levels.names.text(name).startsWith('$')) {
      return NOTHING;
    }
    const last = filter.length - 1;
    if (depth >= last && filter[last] === '#') return ALL;
    const only = this.only(depth);
    if (only !== ANY && only !== name) return NOTHING;
    if (depth === last) return ITSELF;
    return depth === last - 1 && filter[last] === '#' ? ALL : BELOW;
  }

  only(depth: number): number {
    const last = this.#filter.length - 1;
    return depth >= last && this.#filter[last] === '#' ? ANY : (this.#names[depth] ?? NONE);
  }
}
