import { type GraphQLOutputType, type GraphQLSchema, getNamedType, isEnumType } from 'graphql';
import type { ResponseKeys } from '../graphql/response-keys.ts';
import type { Route } from './route.ts';
import type { DocumentedValue } from './values.ts';

export type Spellings = ReadonlyMap<string, ReadonlyMap<unknown, string>>;

/** Documented spelling of each enum value, by the resolvers' value and by the GraphQL name. */
export function spellingsOf({ spell = {} }: Route, schema: GraphQLSchema): Spellings {
  const spellings = new Map<string, ReadonlyMap<unknown, string>>();
  for (const [typeName, spelling] of Object.entries(spell)) {
    const type = schema.getType(typeName);
    if (!isEnumType(type)) throw new Error(`spell: "${typeName}" is not an enum of the graph`);
    const spelled = new Map<unknown, string>();
    for (const { name, value } of type.getValues()) {
      const text = spelling[name];
      if (text === undefined) throw new Error(`spell: ${typeName}.${name} has no spelling`);
      spelled.set(value, text).set(name, text);
    }
    spellings.set(typeName, spelled);
  }
  return spellings;
}

/** REST spelling by resolvers' value, for an enum whose values are written differently; otherwise `null`. */
export function writtenFor(type: GraphQLOutputType, spellings: Spellings): ReadonlyMap<unknown, string> | null {
  const named = getNamedType(type);
  if (!isEnumType(named)) return null;
  const spelled = spellings.get(named.name);
  if (spelled) return spelled;
  const values = named.getValues();
  if (values.every(({ name, value }) => name === value)) return null;
  return new Map(values.map(({ name, value }) => [value, name]));
}

export function selected(keys: ResponseKeys, path: string): ResponseKeys | GraphQLOutputType {
  let node: ResponseKeys | GraphQLOutputType = keys;
  for (const step of path.split('.')) {
    const next: ResponseKeys | GraphQLOutputType | undefined = node instanceof Map ? node.get(step) : undefined;
    if (!next) throw new Error(`${path}: the operation does not select "${step}"`);
    node = next;
  }
  return node;
}

export type Trim = (body: unknown) => void;

interface Level {
  /** Keys that are omitted if null. */
  readonly nulls: string[];
  readonly hidden: string[];
  readonly written: { readonly key: string; readonly values: ReadonlyMap<unknown, string> }[];
  readonly converted: { readonly key: string; readonly convert: DocumentedValue }[];
  readonly children: { readonly key: string; readonly below: Level }[];
}

interface TrimOptions {
  readonly omitNull: readonly string[];
  readonly hidden: readonly string[];
  readonly spellings: Spellings;
  readonly values: Readonly<Record<string, DocumentedValue>>;
}

/**
 * Compiles omitted keys, spelled enums and documented values into one function, which changes a body in place; `null`
 * if nothing is to change. Omitted keys become undefined: deleting them would make every object slow.
 */
export function compileTrim(body: ResponseKeys, options: TrimOptions): Trim | null {
  const { omitNull, hidden, values } = options;
  const excluded = omitNull.filter((path) => path.startsWith('!')).map((path) => path.slice(1));
  for (const path of [...excluded, ...hidden, ...Object.keys(values)]) selected(body, path);
  const nulls = new Set<string>();
  for (const path of omitNull) {
    if (path.startsWith('!')) continue;
    if (path !== '*' && !path.endsWith('.*')) {
      selected(body, path);
      nulls.add(path);
      continue;
    }
    const parent = path.slice(0, -2);
    const keys = parent === '' ? body : selected(body, parent);
    for (const key of keys instanceof Map ? keys.keys() : []) {
      const full = parent === '' ? key : `${parent}.${key}`;
      if (!excluded.includes(full)) nulls.add(full);
    }
  }
  const level = levelOf(body, '', nulls, options);
  return level && ((value) => trim(value, level));
}

function levelOf(keys: ResponseKeys, prefix: string, nulls: ReadonlySet<string>, options: TrimOptions): Level | null {
  const { hidden, spellings } = options;
  const level: Level = { nulls: [], hidden: [], written: [], converted: [], children: [] };
  for (const [key, node] of keys) {
    const path = prefix + key;
    if (hidden.includes(path)) {
      level.hidden.push(key);
      continue;
    }
    if (nulls.has(path)) level.nulls.push(key);
    const values = node instanceof Map ? null : writtenFor(node as GraphQLOutputType, spellings);
    if (values) level.written.push({ key, values });
    const convert = options.values[path];
    if (convert) level.converted.push({ key, convert });
    const below = node instanceof Map ? levelOf(node, `${path}.`, nulls, options) : null;
    if (below) level.children.push({ key, below });
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
  for (const { key, values } of level.written) {
    const current = object[key];
    if (Array.isArray(current)) object[key] = current.map((entry) => values.get(entry) ?? entry);
    else if (current !== null && current !== undefined) object[key] = values.get(current) ?? current;
  }
  for (const { key, convert } of level.converted) if (object[key] !== undefined) object[key] = convert(object[key]);
  for (const { key, below } of level.children) trim(object[key], below);
}
