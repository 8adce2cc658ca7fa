import { type DocumentNode, Kind, type SelectionSetNode } from 'graphql';

/** The keys a selection puts into the answer, over all of its fragments; leaves have no children. */
interface KeyTree extends Map<string, KeyTree> {}

/** Keys that are left out of a body, level by level. */
interface Omissions {
  /** Left out when null. */
  readonly nulls: string[];
  /** Left out always. */
  readonly hidden: string[];
  readonly children: Map<string, Omissions>;
}

export type Trim = (body: unknown) => void;

/**
 * Compiles "leave out when null" and "leave out" paths into one walk over a body. Keys are set to undefined, which JSON leaves out,
 * rather than deleted, which would make every object slow. Null when there is nothing to do.
 * Errors: a path that the operation does not select, so that a misspelled one stops the start.
 */
export function compileTrim(
  document: DocumentNode,
  pick: string | undefined,
  omitNull: readonly string[],
  hidden: readonly string[],
): Trim | null {
  if (omitNull.length === 0 && hidden.length === 0) return null;
  const body = at(keysOf(document), pick?.split('.') ?? [], `pick "${pick}"`);
  const root = omissions();
  const kept = omitNull.filter((path) => path.startsWith('!')).map((path) => path.slice(1));
  for (const path of omitNull) {
    if (path.startsWith('!')) continue;
    const steps = path.split('.');
    const last = steps.pop() ?? '';
    const level = at(body, steps, path);
    const into = child(root, steps);
    const prefix = steps.length > 0 ? `${steps.join('.')}.` : '';
    const keys = last === '*' ? [...level.keys()].filter((key) => !kept.includes(prefix + key)) : [last];
    for (const key of keys) {
      at(level, [key], path);
      if (!into.nulls.includes(key)) into.nulls.push(key);
    }
  }
  for (const path of kept) at(body, path.split('.'), `!${path}`);
  for (const path of hidden) {
    const steps = path.split('.');
    at(body, steps, path);
    const last = steps.pop() ?? '';
    child(root, steps).hidden.push(last);
  }
  return (value) => trim(value, root);
}

function trim(value: unknown, { nulls, hidden, children }: Omissions): void {
  if (typeof value !== 'object' || value === null) return;
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) trim(value[i], { nulls, hidden, children });
    return;
  }
  const object = value as Record<string, unknown>;
  for (const key of nulls) if (object[key] === null) object[key] = undefined;
  for (const key of hidden) if (key in object) object[key] = undefined;
  for (const [key, below] of children) trim(object[key], below);
}

const omissions = (): Omissions => ({ nulls: [], hidden: [], children: new Map() });

function child(root: Omissions, steps: readonly string[]): Omissions {
  let node = root;
  for (const step of steps) {
    const known = node.children.get(step) ?? omissions();
    node.children.set(step, known);
    node = known;
  }
  return node;
}

function at(tree: KeyTree, steps: readonly string[], path: string): KeyTree {
  let node = tree;
  for (const step of steps) {
    const next = node.get(step);
    if (!next) throw new Error(`${path}: the operation does not select "${step}" there`);
    node = next;
  }
  return node;
}

/** Checks that a path is selected. */
export function requireSelected(document: DocumentNode, path: string): void {
  at(keysOf(document), path.split('.'), path);
}

function keysOf(document: DocumentNode): KeyTree {
  const tree: KeyTree = new Map();
  const collect = (selections: SelectionSetNode, into: KeyTree): void => {
    for (const selection of selections.selections) {
      if (selection.kind === Kind.FIELD) {
        const key = selection.alias?.value ?? selection.name.value;
        const below: KeyTree = into.get(key) ?? new Map();
        into.set(key, below);
        if (selection.selectionSet) collect(selection.selectionSet, below);
      } else if (selection.kind === Kind.INLINE_FRAGMENT) {
        collect(selection.selectionSet, into);
      } else {
        const name = selection.name.value;
        for (const definition of document.definitions) {
          if (definition.kind === Kind.FRAGMENT_DEFINITION && definition.name.value === name)
            collect(definition.selectionSet, into);
        }
      }
    }
  };
  for (const definition of document.definitions) {
    if (definition.kind === Kind.OPERATION_DEFINITION) collect(definition.selectionSet, tree);
  }
  return tree;
}
