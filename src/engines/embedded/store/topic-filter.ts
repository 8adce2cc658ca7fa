const DOLLAR = 36;

interface TreeNode<T> {
  readonly children: Map<string, TreeNode<T>>;
  readonly values: Map<string, T>;
}

const createNode = <T>(): TreeNode<T> => ({ children: new Map(), values: new Map() });

/** An index of subscriptions by topic filter, one per client and filter. */
export class SubscriptionTree<T> {
  readonly #root = createNode<T>();
  size = 0;

  add(filter: string, clientId: string, value: T): void {
    let node = this.#root;
    for (const level of filter.split('/')) {
      let child = node.children.get(level);
      if (!child) {
        child = createNode();
        node.children.set(level, child);
      }
      node = child;
    }
    if (!node.values.has(clientId)) this.size += 1;
    node.values.set(clientId, value);
  }

  remove(filter: string, clientId: string): void {
    this.#remove(this.#root, filter.split('/'), 0, clientId);
  }

  #remove(node: TreeNode<T>, levels: readonly string[], depth: number, clientId: string): void {
    const level = levels[depth];
    if (level === undefined) {
      if (node.values.delete(clientId)) this.size -= 1;
      return;
    }
    const child = node.children.get(level);
    if (!child) return;
    this.#remove(child, levels, depth + 1, clientId);
    if (child.children.size === 0 && child.values.size === 0) node.children.delete(level);
  }

  match(topic: string): T[] {
    const found: T[] = [];
    if (this.size > 0) collect(this.#root, topic.split('/'), 0, found);
    return found;
  }
}

function collect<T>(node: TreeNode<T>, levels: readonly string[], depth: number, found: T[]): void {
  // `#` also matches the parent level, so it is checked before the end of the topic.
  const wildcards = depth > 0 || levels[0]?.charCodeAt(0) !== DOLLAR;
  if (wildcards) {
    const rest = node.children.get('#');
    if (rest) for (const value of rest.values.values()) found.push(value);
  }
  const level = levels[depth];
  if (level === undefined) {
    for (const value of node.values.values()) found.push(value);
    return;
  }
  if (wildcards) {
    const any = node.children.get('+');
    if (any) collect(any, levels, depth + 1, found);
  }
  // A topic name has no wildcards, so `level` is never `+` or `#`.
  const child = node.children.get(level);
  if (child) collect(child, levels, depth + 1, found);
}
