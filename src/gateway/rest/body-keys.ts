import {
  type DocumentNode,
  type GraphQLNamedType,
  type GraphQLSchema,
  getNamedType,
  isEnumType,
  isInterfaceType,
  isObjectType,
  Kind,
  type SelectionSetNode,
} from 'graphql';

/** REST spelling of the values of each enum, by GraphQL type. */
export type Spellings = ReadonlyMap<string, ReadonlyMap<unknown, string>>;

/** The response keys of a selection, including those of fragments. */
export interface KeyTree {
  readonly keys: Map<string, KeyTree>;
  /** REST spelling by resolvers' value, for an enum whose values are written differently; otherwise `null`. */
  readonly written: ReadonlyMap<unknown, string> | null;
}

/** Response keys of the only operation of a document. */
export function keyTree(schema: GraphQLSchema, document: DocumentNode, spellings: Spellings): KeyTree {
  const root: KeyTree = { keys: new Map(), written: null };
  const collect = (selections: SelectionSetNode, parent: GraphQLNamedType | undefined | null, into: KeyTree): void => {
    for (const selection of selections.selections) {
      if (selection.kind === Kind.FIELD) {
        const field =
          isObjectType(parent) || isInterfaceType(parent) ? parent.getFields()[selection.name.value] : undefined;
        const type = field && getNamedType(field.type);
        const key = selection.alias?.value ?? selection.name.value;
        const node = into.keys.get(key) ?? { keys: new Map(), written: writtenFor(type, spellings) };
        into.keys.set(key, node);
        if (selection.selectionSet) collect(selection.selectionSet, type, node);
      } else if (selection.kind === Kind.INLINE_FRAGMENT) {
        const condition = selection.typeCondition?.name.value;
        collect(selection.selectionSet, condition === undefined ? parent : schema.getType(condition), into);
      } else {
        for (const definition of document.definitions) {
          if (definition.kind !== Kind.FRAGMENT_DEFINITION || definition.name.value !== selection.name.value) continue;
          collect(definition.selectionSet, schema.getType(definition.typeCondition.name.value), into);
        }
      }
    }
  };
  for (const definition of document.definitions) {
    if (definition.kind === Kind.OPERATION_DEFINITION) {
      collect(definition.selectionSet, schema.getRootType(definition.operation), root);
    }
  }
  return root;
}

/** Enums without a spelling are written by their names. */
function writtenFor(type: GraphQLNamedType | undefined, spellings: Spellings): ReadonlyMap<unknown, string> | null {
  if (!isEnumType(type)) return null;
  const spelled = spellings.get(type.name);
  if (spelled) return spelled;
  const values = type.getValues();
  if (values.every(({ name, value }) => name === value)) return null;
  return new Map(values.map(({ name, value }) => [value, name]));
}

/** The keys below a path with dots. Errors: an Error if the path is not selected. */
export function selected(tree: KeyTree, path: string): KeyTree {
  let node = tree;
  for (const step of path.split('.')) {
    const next = node.keys.get(step);
    if (!next) throw new Error(`${path}: the operation does not select "${step}"`);
    node = next;
  }
  return node;
}

/** Changes a body in place into the documented form. */
export type Trim = (body: unknown) => void;

interface Level {
  /** Keys that are omitted if null. */
  readonly nulls: string[];
  readonly hidden: string[];
  readonly written: (readonly [key: string, values: ReadonlyMap<unknown, string>])[];
  readonly children: (readonly [key: string, level: Level])[];
}

/**
 * Compiles omitted keys and spelled enums into one function; `null` if nothing is to change. Keys are set to undefined,
 * which JSON omits: deleting them would make every object slow.
 */
export function compileTrim(body: KeyTree, omitNull: readonly string[], hidden: readonly string[]): Trim | null {
  const excluded = omitNull.filter((path) => path.startsWith('!')).map((path) => path.slice(1));
  for (const path of [...excluded, ...hidden]) selected(body, path);
  const nulls = new Set<string>();
  for (const path of omitNull) {
    if (path.startsWith('!')) continue;
    if (path !== '*' && !path.endsWith('.*')) {
      selected(body, path);
      nulls.add(path);
      continue;
    }
    const parent = path.slice(0, -2);
    for (const key of (parent === '' ? body : selected(body, parent)).keys.keys()) {
      const full = parent === '' ? key : `${parent}.${key}`;
      if (!excluded.includes(full)) nulls.add(full);
    }
  }
  const level = levelOf(body, '', nulls, new Set(hidden));
  return level && ((value) => trim(value, level));
}

function levelOf(tree: KeyTree, prefix: string, nulls: ReadonlySet<string>, hidden: ReadonlySet<string>): Level | null {
  const level: Level = { nulls: [], hidden: [], written: [], children: [] };
  for (const [key, node] of tree.keys) {
    const path = prefix + key;
    if (hidden.has(path)) {
      level.hidden.push(key);
      continue;
    }
    if (nulls.has(path)) level.nulls.push(key);
    if (node.written) level.written.push([key, node.written]);
    const below = levelOf(node, `${path}.`, nulls, hidden);
    if (below) level.children.push([key, below]);
  }
  return Object.values(level).some(({ length }) => length > 0) ? level : null;
}

function trim(value: unknown, level: Level): void {
  if (Array.isArray(value)) {
    for (const entry of value) trim(entry, level);
    return;
  }
  if (typeof value !== 'object' || value === null) return;
  const object = value as Record<string, unknown>;
  for (const key of level.nulls) if (object[key] === null) object[key] = undefined;
  for (const key of level.hidden) if (key in object) object[key] = undefined;
  for (const [key, values] of level.written) {
    const current = object[key];
    if (Array.isArray(current)) object[key] = current.map((entry) => values.get(entry) ?? entry);
    else if (current !== null && current !== undefined) object[key] = values.get(current) ?? current;
  }
  for (const [key, below] of level.children) trim(object[key], below);
}
