import { byCodeUnits } from '../../../platform/sorting/by-code-units.ts';
import { ALL, ANY, BELOW, type Matching } from './matching.ts';
import { NONE } from './rows.ts';
import { ROOT, type TopicLevels } from './topic-levels.ts';
import { compareTopics, isAtOrBelow } from './topic-order.ts';

/** Visits the nodes at and below a prefix in the order of topics, and skips subtrees that cannot match. */
export class TopicWalk {
  readonly #levels: TopicLevels;
  readonly #matchings: readonly Matching[];
  readonly #prefix: string | null;
  #base = ROOT;
  node = NONE;
  depth = -1;
  /** For each depth plus one: the match bits of the node at that depth. */
  readonly #wanted: number[] = [];
  /** For each depth plus one: whether no sibling of the node can match. */
  readonly #isOnly: boolean[] = [];

  constructor(levels: TopicLevels, matchings: readonly Matching[], prefix: string | null) {
    this.#levels = levels;
    this.#matchings = matchings;
    this.#prefix = prefix;
  }

  get wanted(): number {
    return this.#wanted[this.depth + 1] as number;
  }

  get wantedAbove(): number {
    return this.#wanted[Math.max(0, this.depth)] as number;
  }

  /** Moves to the first node at or after a topic. Must be called again after nodes have changed. */
  start(from: string | null): void {
    for (const matching of this.#matchings) matching.renew();
    this.#base = ROOT;
    this.node = ROOT;
    this.depth = -1;
    this.#wanted[0] = this.#matchings.length === 0 ? ALL : BELOW;
    if (this.#prefix !== null && !this.#enterPrefix(this.#prefix)) return;
    if (from === null || from === this.#prefix) return;
    if (isAtOrBelow(from, this.#prefix)) this.#seek(from, this.#prefix === null ? 0 : this.#prefix.length + 1);
    else if (this.#prefix !== null && compareTopics(from, this.#prefix) > 0) this.node = NONE;
  }

  next(isBelow: boolean): void {
    const levels = this.#levels;
    let node = this.node;
    if (isBelow && this.wanted & BELOW && levels.firstChildOf(node) !== NONE) {
      const child = this.#firstChild();
      if (child !== NONE) {
        this.#enter(child);
        return;
      }
    }
    while (node !== this.#base) {
      const sibling = this.#isOnly[this.depth + 1] ? NONE : levels.siblingOf(node);
      if (sibling !== NONE) {
        this.#moveTo(sibling);
        return;
      }
      node = levels.parentOf(node);
      this.depth -= 1;
    }
    this.node = NONE;
  }

  #enterPrefix(prefix: string): boolean {
    const base = this.#levels.find(prefix);
    if (base !== NONE) this.#seek(prefix, 0);
    if (base === NONE || this.node !== base) this.node = NONE;
    else this.#base = base;
    return this.node !== NONE;
  }

  /** Descends to a topic, of which the levels from `start` on remain, or to the node after its position. */
  #seek(topic: string, start: number): void {
    const levels = topic.slice(start).split('/');
    for (const level of levels) {
      const child = this.wanted & BELOW ? this.#childFrom(level) : NONE;
      if (child === NONE) {
        this.next(false);
        return;
      }
      this.#enter(child);
      if (this.#levels.textOf(child) !== level) return;
    }
  }

  #childFrom(name: string): number {
    const levels = this.#levels;
    const only = this.#only();
    if (only !== ANY) {
      const child = this.#firstChild();
      return child !== NONE && byCodeUnits(levels.textOf(child), name) >= 0 ? child : NONE;
    }
    const known = levels.names.find(name, 0, name.length);
    const child = known === NONE ? NONE : levels.child(this.node, known);
    return child === NONE ? levels.childAfter(this.node, name) : child;
  }

  #firstChild(): number {
    const only = this.#only();
    if (only === ANY) return this.#levels.firstChildOf(this.node);
    return only === NONE ? NONE : this.#levels.child(this.node, only);
  }

  /** The only name that can match among the node's children, or ANY. */
  #only(): number {
    if (this.wanted === ALL) return ANY;
    for (const matching of this.#matchings) {
      const only = matching.only(this.depth + 1);
      if (only !== ANY) return only;
    }
    return ANY;
  }

  #enter(child: number): void {
    this.#isOnly[this.depth + 2] = this.#only() !== ANY;
    this.depth += 1;
    this.#moveTo(child);
  }

  #moveTo(node: number): void {
    const depth = this.depth;
    const matchings = this.#matchings;
    let wanted = ALL;
    this.node = node;
    if (this.#wanted[depth] !== ALL) {
      const name = this.#levels.nameOf(node);
      for (let at = 0; at < matchings.length; at += 1) {
        wanted &= (matchings[at] as Matching).enter(node, name, depth);
      }
    }
    this.#wanted[depth + 1] = wanted;
  }
}
