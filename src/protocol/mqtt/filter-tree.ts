/** Most filters have their last levels for themselves, so a node has only what it needs. */
interface Node<T> {
  children: Map<string, Node<T>> | null;
  values: Set<T> | T | null;
}

const createNode = <T>(): Node<T> => ({ children: null, values: null });

/**
 * Values by topic filter, found by topic at a cost that grows with its levels, not with the number of filters.
 * Wildcards at the first level do not match topics that start with `$` [MQTT-4.7.2-1].
 */
export class FilterTree<T> {
  readonly #root: Node<T> = createNode();

  add(filter: string, value: T): void {
    let node = this.#root;
    for (const level of levelsOf(filter)) {
      let next = node.children?.get(level);
      if (!next) {
        next = createNode();
        node.children ??= new Map();
        node.children.set(level, next);
      }
      node = next;
    }
    const { values } = node;
    if (values instanceof Set) values.add(value);
    else node.values = values === null || values === value ? value : new Set([values, value]);
  }

  remove(filter: string, value: T): void {
    const path: [Node<T>, string][] = [];
    let node = this.#root;
    for (const level of levelsOf(filter)) {
      const next = node.children?.get(level);
      if (!next) return;
      path.push([node, level]);
      node = next;
    }
    if (node.values instanceof Set) node.values.delete(value);
    if (node.values === value || (node.values instanceof Set && node.values.size === 0)) node.values = null;
    for (let step = path.pop(); step && node.values === null && node.children === null; step = path.pop()) {
      const [parent, level] = step;
      parent.children?.delete(level);
      if (parent.children?.size === 0) parent.children = null;
      node = parent;
    }
  }

  match(topic: string): T[] {
    const found: T[] = [];
    collect(this.#root, topic.split('/'), 0, found);
    return found;
  }
}

/** Levels of the filter without the share name of a shared subscription. */
function levelsOf(filter: string): string[] {
  const levels = filter.split('/');
  return levels[0] === '$share' && levels.length > 2 ? levels.slice(2) : levels;
}

function collect<T>(node: Node<T>, levels: readonly string[], depth: number, found: T[]): void {
  const wildcardsApply = depth > 0 || !levels[0]?.startsWith('$');
  if (wildcardsApply) take(node.children?.get('#'), found);
  const level = levels[depth];
  if (level === undefined) {
    take(node, found);
    return;
  }
  const exact = node.children?.get(level);
  if (exact) collect(exact, levels, depth + 1, found);
  const any = wildcardsApply ? node.children?.get('+') : undefined;
  if (any) collect(any, levels, depth + 1, found);
}

function take<T>(node: Node<T> | undefined, found: T[]): void {
  const values = node?.values ?? null;
  if (values === null) return;
  // Not spread: a call has a maximum number of arguments, and there may be hundreds of thousands of values.
  if (values instanceof Set) for (const value of values) found.push(value);
  else found.push(values);
}
