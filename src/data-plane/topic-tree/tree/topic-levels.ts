import { byCodeUnits } from '../../../platform/sorting/by-code-units.ts';
import { HashChains } from './hash-chains.ts';
import { hashOfPair, hashOfText } from './hashing.ts';
import { LevelNames } from './level-names.ts';
import { type CompareTo, OrderedChildren } from './ordered-children.ts';
import { NONE, Rows } from './rows.ts';

export const ROOT = 0;

/**
 * The tree of topic levels. A node exists while its topic or a topic below it is listed. Siblings are a linked list in
 * the order of their names' UTF-16 units. No function is recursive, because a topic may have 65,536 levels.
 */
export class TopicLevels {
  readonly names = new LevelNames();
  readonly #rows = new Rows();
  readonly #byName = new HashChains(this.#rows, NEXT, (node) => this.#hashOf(node));
  /** Sorted blocks of the children of nodes that have many children, for finding a position quickly. */
  readonly #wide = new Map<number, OrderedChildren>();
  #wideBytes = 0;
  /** Changes whenever nodes are added, removed or renumbered. */
  version = 0;

  constructor() {
    this.#rows.add();
    this.#fill(ROOT, NONE, NONE);
  }

  get bytes(): number {
    return this.names.bytes + this.#rows.bytes + this.#byName.bytes + this.#wideBytes;
  }

  get spareBytes(): number {
    return this.names.spareBytes + this.#rows.spareBytes;
  }

  growth(topic: string): number {
    return this.#rows.growth(topic.length + 1) + this.names.growth(topic);
  }

  parentOf(node: number): number {
    return this.#rows.get(node, PARENT);
  }

  nameOf(node: number): number {
    return this.#rows.get(node, NAME);
  }

  textOf(node: number): string {
    return this.names.text(this.nameOf(node));
  }

  firstChildOf(node: number): number {
    return this.#rows.get(node, CHILD);
  }

  siblingOf(node: number): number {
    return this.#rows.get(node, SIBLING);
  }

  childCountOf(node: number): number {
    return this.#rows.get(node, CHILDREN);
  }

  topicCountOf(node: number): number {
    return this.#rows.get(node, TOPICS);
  }

  useOf(node: number): number {
    return this.#rows.get(node, USE);
  }

  topicOf(node: number): string {
    let topic = this.textOf(node);
    for (let up = this.parentOf(node); up !== ROOT; up = this.parentOf(up)) topic = `${this.textOf(up)}/${topic}`;
    return topic;
  }

  find(topic: string): number {
    let node = ROOT;
    for (let from = 0; node !== NONE && from <= topic.length; ) {
      const to = endOfLevel(topic, from);
      const name = this.names.find(topic, from, to);
      node = name === NONE ? NONE : this.child(node, name);
      from = to + 1;
    }
    return node;
  }

  isTopic(node: number, topic: string): boolean {
    const { names } = this;
    let to = topic.length;
    for (let up = node; ; ) {
      const name = this.nameOf(up);
      const from = to - names.lengthOf(name);
      if (from < 0 || !names.is(name, topic, from, to)) return false;
      up = this.parentOf(up);
      if (up === ROOT) return from === 0;
      to = from - 1;
      if (to < 0 || topic.charCodeAt(to) !== SLASH) return false;
    }
  }

  child(parent: number, name: number): number {
    for (let node = this.#byName.first(hashOfPair(parent, name)); node !== NONE; node = this.#byName.next(node)) {
      if (this.#rows.get(node, NAME) === name && this.#rows.get(node, PARENT) === parent) return node;
    }
    return NONE;
  }

  /** The first child whose name comes after a name, or NONE. */
  childAfter(parent: number, name: string): number {
    const compareTo = (other: number) => byCodeUnits(this.textOf(other), name);
    const wide = this.#wideOf(parent);
    if (wide) return wide.firstAfter(name, compareTo);
    let child = this.firstChildOf(parent);
    while (child !== NONE && compareTo(child) <= 0) child = this.siblingOf(child);
    return child;
  }

  isBelow(node: number, above: number): boolean {
    let up = node;
    while (up !== above && up !== NONE) up = this.parentOf(up);
    return up !== NONE;
  }

  add(topic: string, use: number): number {
    const { names } = this;
    let node = ROOT;
    for (let from = 0; from <= topic.length; ) {
      const to = endOfLevel(topic, from);
      const hash = hashOfText(topic, from, to);
      let name = names.find(topic, from, to, hash);
      // A new node has no children, and no node has a new name. In both cases, the search is skipped.
      const known = name === NONE || this.firstChildOf(node) === NONE ? NONE : this.child(node, name);
      if (known === NONE) {
        if (name === NONE) name = names.add(topic, from, to, hash);
        else names.use(name);
        node = this.#make(node, name, topic.slice(from, to));
      } else node = known;
      from = to + 1;
    }
    this.#rows.set(node, USE, use);
    for (let up = node; up !== NONE; up = this.parentOf(up)) this.#rows.set(up, TOPICS, this.topicCountOf(up) + 1);
    return node;
  }

  /** Removes the topic of a node from the list, and deletes nodes that have become empty. */
  remove(node: number): void {
    this.#rows.set(node, USE, NONE);
    for (let up = node; up !== NONE; up = this.parentOf(up)) this.#rows.set(up, TOPICS, this.topicCountOf(up) - 1);
    for (let empty = node; empty !== ROOT && this.topicCountOf(empty) === 0; ) {
      const parent = this.parentOf(empty);
      this.#drop(empty);
      empty = parent;
    }
  }

  /** Frees unused memory. `useOf` maps old numbers of uses to new ones. Returns the same for nodes. */
  compact(useOf: (use: number) => number): (node: number) => number {
    this.version += 1;
    const rows = this.#rows;
    const nameOf = this.names.compact();
    const numberOf = rows.compact();
    this.#byName.clear();
    for (let node = ROOT; node < rows.end; node += 1) {
      for (const column of [PARENT, CHILD, SIBLING])
        rows.set(node, column, renumbered(rows.get(node, column), numberOf));
      rows.set(node, NAME, renumbered(rows.get(node, NAME), nameOf));
      rows.set(node, USE, renumbered(rows.get(node, USE), useOf));
      if (node !== ROOT) this.#byName.add(node, this.#hashOf(node));
    }
    const wide = [...this.#wide];
    this.#wide.clear();
    for (const [node, children] of wide) {
      children.renumber(numberOf);
      this.#wide.set(numberOf(node), children);
    }
    return numberOf;
  }

  #make(parent: number, name: number, text: string): number {
    this.version += 1;
    const node = this.#rows.add();
    this.#fill(node, parent, name);
    this.#byName.add(node, this.#hashOf(node));
    const count = this.childCountOf(parent) + 1;
    this.#rows.set(parent, CHILDREN, count);
    if (count >= WIDE && !this.#wide.has(parent)) this.#widen(parent);
    const compareTo = this.#comparison(name);
    const wide = this.#wideOf(parent);
    const before = wide
      ? this.#counted(wide, () => wide.add(node, text, compareTo))
      : this.#childBefore(parent, compareTo);
    if (before === NONE) {
      this.#rows.set(node, SIBLING, this.firstChildOf(parent));
      this.#rows.set(parent, CHILD, node);
    } else {
      this.#rows.set(node, SIBLING, this.siblingOf(before));
      this.#rows.set(before, SIBLING, node);
    }
    return node;
  }

  #drop(node: number): void {
    this.version += 1;
    const parent = this.parentOf(node);
    const name = this.nameOf(node);
    const compareTo = this.#comparison(name);
    const wide = this.#wideOf(parent);
    const before = wide
      ? this.#counted(wide, () => wide.remove(this.names.text(name), compareTo))
      : this.#childBefore(parent, compareTo);
    if (before === NONE) this.#rows.set(parent, CHILD, this.siblingOf(node));
    else this.#rows.set(before, SIBLING, this.siblingOf(node));
    const count = this.childCountOf(parent) - 1;
    this.#rows.set(parent, CHILDREN, count);
    if (wide && count < WIDE / 2) this.#narrow(parent, wide);
    this.#byName.remove(node, this.#hashOf(node));
    this.#rows.remove(node);
    this.names.release(name);
  }

  #fill(node: number, parent: number, name: number): void {
    const rows = this.#rows;
    rows.set(node, PARENT, parent);
    rows.set(node, NAME, name);
    rows.set(node, CHILD, NONE);
    rows.set(node, SIBLING, NONE);
    rows.set(node, CHILDREN, 0);
    rows.set(node, TOPICS, 0);
    rows.set(node, USE, NONE);
  }

  #hashOf(node: number): number {
    return hashOfPair(this.parentOf(node), this.nameOf(node));
  }

  #comparison(name: number): CompareTo {
    return (other) => this.names.compare(this.nameOf(other), name);
  }

  #childBefore(parent: number, compareTo: CompareTo): number {
    let before = NONE;
    for (let child = this.firstChildOf(parent); child !== NONE && compareTo(child) < 0; child = this.siblingOf(child)) {
      before = child;
    }
    return before;
  }

  #wideOf(node: number): OrderedChildren | undefined {
    return this.childCountOf(node) >= WIDE / 2 ? this.#wide.get(node) : undefined;
  }

  #widen(node: number): void {
    const wide = new OrderedChildren((child) => this.textOf(child));
    for (let child = this.firstChildOf(node); child !== NONE; child = this.siblingOf(child)) {
      wide.add(child, this.textOf(child), () => -1);
    }
    this.#wide.set(node, wide);
    this.#wideBytes += wide.bytes + WIDE_BYTES;
  }

  #narrow(node: number, wide: OrderedChildren): void {
    this.#wide.delete(node);
    this.#wideBytes -= wide.bytes + WIDE_BYTES;
  }

  #counted(wide: OrderedChildren, change: () => number): number {
    const before = wide.bytes;
    const neighbour = change();
    this.#wideBytes += wide.bytes - before;
    return neighbour;
  }
}

const PARENT = 0;
const NAME = 1;
const NEXT = 2;
const CHILD = 3;
const SIBLING = 4;
const CHILDREN = 5;
const TOPICS = 6;
const USE = 7;

const SLASH = 47;

/** Number of children from which on they are also stored in blocks, until only half as many are left. */
const WIDE = 24;
const WIDE_BYTES = 200;

const renumbered = (number: number, numberOf: (number: number) => number): number =>
  number === NONE ? NONE : numberOf(number);

function endOfLevel(topic: string, from: number): number {
  const slash = topic.indexOf('/', from);
  return slash < 0 ? topic.length : slash;
}
