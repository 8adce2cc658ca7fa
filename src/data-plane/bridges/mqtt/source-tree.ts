interface Node {
  readonly children: Map<string, Node>;
  readonly rules: Map<string, number>;
}

const createNode = (): Node => ({ children: new Map(), rules: new Map() });

export class TooManyComparisons extends Error {}

export class ComparisonBudget {
  #left: number;

  constructor(comparisons: number) {
    this.#left = comparisons;
  }

  spend(): void {
    this.#left -= 1;
    if (this.#left < 0) throw new TooManyComparisons();
  }
}

/**
 * The source filters of one direction of a connection, as a tree of their levels, with the rule and the target of each.
 *
 * Two rules conflict if their sources overlap, unless the sources are equal and the targets differ. Most lookups visit
 * one node for each level; filters with many `+` visit more, and `budget` bounds that over a whole configuration.
 */
export class SourceTree {
  readonly #root = createNode();
  readonly #budget: ComparisonBudget;

  constructor(budget: ComparisonBudget) {
    this.#budget = budget;
  }

  add(levels: readonly string[], target: string, rule: number): void {
    let node = this.#root;
    for (const level of levels) {
      let next = node.children.get(level);
      if (next === undefined) {
        next = createNode();
        node.children.set(level, next);
      }
      node = next;
    }
    node.rules.set(target, rule);
  }

  /** A rule that conflicts with this source and target, or null. Throws TooManyComparisons. */
  conflict(levels: readonly string[], target: string): number | null {
    return this.#below(this.#root, levels, 0, true, target);
  }

  /** `isSame`: the path to the node consists of the levels of the filter itself. */
  #below(node: Node, levels: readonly string[], depth: number, isSame: boolean, target: string): number | null {
    this.#budget.spend();
    const level = levels[depth];
    if (level === undefined && node.rules.size > 0) {
      const found = isSame ? node.rules.get(target) : firstOf(node.rules);
      if (found !== undefined) return found;
    }
    for (const [key, child] of this.#candidates(node, level, depth)) {
      const isEqual = isSame && key === level;
      // `#` stands for all levels that follow, and for none.
      const found =
        key === '#' || level === '#'
          ? this.#anyIn(child, isEqual, target)
          : this.#below(child, levels, depth + 1, isEqual, target);
      if (found !== null) return found;
    }
    return level === '#' && depth > 0 ? (firstOf(node.rules) ?? null) : null;
  }

  /** Children that can stand for the level. A first-level wildcard does not match `$` topics. */
  *#candidates(node: Node, level: string | undefined, depth: number): Generator<readonly [string, Node]> {
    const { children } = node;
    if (level === '+' || level === '#') {
      for (const entry of children) if (depth > 0 || !entry[0].startsWith('$')) yield entry;
      return;
    }
    const mayBeWildcard = depth > 0 || level?.startsWith('$') !== true;
    for (const key of mayBeWildcard ? [level, '+', '#'] : [level]) {
      // After the last level only `#` can follow.
      if (key === undefined || (level === undefined && key !== '#')) continue;
      const child = children.get(key);
      if (child !== undefined) yield [key, child];
    }
  }

  /** Any rule in a subtree, but of the same source only one with the same target. */
  #anyIn(node: Node, isSame: boolean, target: string): number | null {
    this.#budget.spend();
    const own = isSame ? node.rules.get(target) : firstOf(node.rules);
    if (own !== undefined) return own;
    for (const child of node.children.values()) {
      const found = this.#anyIn(child, false, target);
      if (found !== null) return found;
    }
    return null;
  }
}

const firstOf = (rules: ReadonlyMap<string, number>): number | undefined => rules.values().next().value;
