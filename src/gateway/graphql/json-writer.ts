/**
 * Writes the data of one operation as JSON. Its document tells all keys, so they are text that is there before, and only values
 * are looked at: a list of 50 entries (15 KB) takes 15 µs, JSON.stringify 25.
 *
 * The text is the same as that of JSON.stringify: what is no plain text, number or Boolean is left to it. The objects that the
 * document selects must have no other keys than selected ones, as executors make them. Keys that are undefined are left out.
 *
 * Bounds: MAX_RESPONSE_BYTES characters. Errors: ResponseTooLarge, before the whole text is made.
 */
import {
  type DocumentNode,
  type FragmentDefinitionNode,
  GraphQLBoolean,
  GraphQLID,
  type GraphQLNamedType,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLSchema,
  GraphQLString,
  getNamedType,
  getNullableType,
  isAbstractType,
  isLeafType,
  isListType,
  isObjectType,
  Kind,
  type SelectionSetNode,
  TypeNameMetaFieldDef,
} from 'graphql';
import { MAX_RESPONSE_BYTES, ResponseTooLarge } from './response-limit.ts';

export type WriteJson = (value: unknown) => string;

/** Fields over all concrete types: a larger program costs more than it saves. */
const MAX_FIELDS = 2_000;

/** What JSON writes as it is between quotes; other text may still be, and is left to JSON.stringify. */
const NOT_PLAIN = /[^ !#-[\]-~]/;

/** What stands where a key is selected: keys below it in the order of the response, or the type of a leaf. */
type Keys = ReadonlyMap<string, Keys | GraphQLOutputType>;

export interface JsonWriterOptions {
  /** Writes only what this leads to in the data. Default: all of it. */
  readonly path?: readonly string[];
  /**
   * Leaves are as resolvers gave them, and serialised by their types while they are written. The writer throws what a type throws
   * at a value that it does not take. Default: leaves are written as they are.
   */
  readonly serialise?: boolean;
}

/**
 * For the only operation of a valid document. Null where a key's place in the order depends on more than the document (conditions,
 * types that select the same keys in different orders), for very many fields, and where `path` leads to a leaf.
 */
export function createJsonWriter(
  schema: GraphQLSchema,
  document: DocumentNode,
  { path = [], serialise = false }: JsonWriterOptions = {},
): WriteJson | null {
  let found: Keys | GraphQLOutputType | null = new Selection(schema, document).keys();
  for (const step of path) found = found instanceof Map ? (found.get(step) ?? null) : null;
  return found instanceof Map ? new Program(serialise).compile(found) : null;
}

interface Found {
  readonly type: GraphQLOutputType;
  readonly types: Set<GraphQLObjectType>;
  readonly sets: Set<SelectionSetNode>;
}

class Selection {
  readonly #schema: GraphQLSchema;
  readonly #document: DocumentNode;
  readonly #fragments = new Map<string, FragmentDefinitionNode>();
  #left = MAX_FIELDS;

  constructor(schema: GraphQLSchema, document: DocumentNode) {
    this.#schema = schema;
    this.#document = document;
    for (const definition of document.definitions) {
      if (definition.kind === Kind.FRAGMENT_DEFINITION) this.#fragments.set(definition.name.value, definition);
    }
  }

  keys(): Keys | null {
    for (const definition of this.#document.definitions) {
      if (definition.kind !== Kind.OPERATION_DEFINITION) continue;
      const root = this.#schema.getRootType(definition.operation);
      return root ? this.#below([root], [definition.selectionSet]) : null;
    }
    return null;
  }

  #below(types: Iterable<GraphQLObjectType>, sets: Iterable<SelectionSetNode>): Keys | null {
    const found = new Map<string, Found>();
    const order: string[] = [];
    for (const type of types) {
      const own = new Set<string>();
      const tell = (key: string, field: GraphQLOutputType, selectionSet: SelectionSetNode | undefined) => {
        // Of all types that have the key it is the same leaf, or none: that is validated.
        const entry = found.get(key) ?? { type: field, types: new Set(), sets: new Set() };
        found.set(key, entry);
        own.add(key);
        if (!selectionSet) return;
        entry.sets.add(selectionSet);
        for (const concrete of this.#concrete(getNamedType(field))) entry.types.add(concrete);
      };
      for (const set of sets) if (!this.#collect(type, set, tell)) return null;
      if (!merge(own, order)) return null;
    }
    const keys = new Map<string, Keys | GraphQLOutputType>();
    for (const key of order) {
      const { type, types, sets } = found.get(key) as Found;
      const below = sets.size > 0 ? this.#below(types, sets) : type;
      if (below === null) return null;
      keys.set(key, below);
    }
    return keys;
  }

  /** Tells each field that an object of this type answers. False: it cannot be known. */
  #collect(
    type: GraphQLObjectType,
    { selections }: SelectionSetNode,
    tell: (key: string, type: GraphQLOutputType, set: SelectionSetNode | undefined) => void,
  ): boolean {
    for (const selection of selections) {
      if (selection.directives?.length) return false;
      if (selection.kind === Kind.FIELD) {
        const key = (selection.alias ?? selection.name).value;
        const name = selection.name.value;
        const field = name === TypeNameMetaFieldDef.name ? TypeNameMetaFieldDef : type.getFields()[name];
        this.#left -= 1;
        if (this.#left < 0 || key === '__proto__' || !field) return false;
        tell(key, field.type, selection.selectionSet);
        continue;
      }
      const fragment = selection.kind === Kind.FRAGMENT_SPREAD ? this.#fragments.get(selection.name.value) : selection;
      if (!fragment) return false;
      if (!this.#applies(fragment.typeCondition?.name.value, type)) continue;
      if (!this.#collect(type, fragment.selectionSet, tell)) return false;
    }
    return true;
  }

  #applies(condition: string | undefined, type: GraphQLObjectType): boolean {
    if (condition === undefined || condition === type.name) return true;
    const conditional = this.#schema.getType(condition);
    return isAbstractType(conditional) && this.#schema.isSubType(conditional, type);
  }

  #concrete(type: GraphQLNamedType): readonly GraphQLObjectType[] {
    if (isAbstractType(type)) return this.#schema.getPossibleTypes(type);
    return isObjectType(type) ? [type] : [];
  }
}

/** Puts keys into an order that others have made. False: it has some of them the other way round. */
function merge(own: Iterable<string>, order: string[]): boolean {
  let place = 0;
  for (const key of own) {
    const known = order.indexOf(key);
    if (known < 0) order.splice(place, 0, key);
    else if (known < place) return false;
    place = (known < 0 ? place : known) + 1;
  }
  return true;
}

/** Names of GraphQL are the only text of a document that becomes text of the program. */
const NAME = /^[_A-Za-z][_0-9A-Za-z]*$/;

/** The program's source text: one function for each place where keys are selected. */
class Program {
  readonly #serialise: boolean;
  readonly #functions: string[] = [];
  readonly #leaves: WriteJson[] = [];

  constructor(serialise: boolean) {
    this.#serialise = serialise;
  }

  compile(keys: Keys): WriteJson {
    const root = this.#declare(keys);
    const source = `'use strict';\n${this.#functions.join('\n')}\nreturn ${root};`;
    return new Function('NOT_PLAIN', 'leaves', 'tooLarge', source)(NOT_PLAIN, this.#leaves, tooLarge) as WriteJson;
  }

  /**
   * Adds the function that writes an object with these keys, null, or a list of such; gives its name. It keeps what has to come
   * before the next key: nothing yet (0), a comma after a text whose quote is still open (1), or a comma (2). Text is looked at in
   * place, its quotes are part of the constant pieces: calls and pieces for each value would cost as much as is saved.
   */
  #declare(keys: Keys): string {
    const lines: string[] = [];
    for (const [key, below] of keys) {
      if (!NAME.test(key)) throw new Error(`"${key}" is no name`);
      lines.push(`value = object.${key};`, `if (value !== undefined) {`, ...this.#add(key, below), '}');
    }
    const name = `write${this.#functions.length}`;
    this.#functions.push(`function ${name}(object) {
      if (object === null || object === undefined) return 'null';
      let text = '';
      if (Array.isArray(object)) {
        for (let i = 0; i < object.length; i++) {
          text += (i === 0 ? '' : ',') + ${name}(object[i]);
          ${CHECK}
        }
        return '[' + text + ']';
      }
      let value, before = 0;
      ${lines.join('\n')}
      ${CHECK}
      return before === 0 ? '{}' : text + (before === 1 ? '"}' : '}');
    }`);
    return name;
  }

  #add(key: string, below: Keys | GraphQLOutputType): readonly string[] {
    const start = (piece: string) => `(before === 2 ? ',${piece}' : before === 1 ? '",${piece}' : '{${piece}')`;
    const other = (writer: string) => `{ text += ${start(`"${key}":`)} + ${writer}(value); before = 2; ${CHECK} }`;
    if (below instanceof Map) return [other(this.#declare(below))];
    const type = getNullableType(below as GraphQLOutputType);
    const leaf = `leaves[${this.#leaves.push(this.#serialise ? serialisedLeaf(type) : leafAsIs) - 1}]`;
    if (type === GraphQLBoolean) {
      const constant = (piece: string) => `{ text += ${start(`"${key}":${piece}`)}; before = 2; }`;
      return [
        `if (value === true) ${constant('true')} else if (value === false) ${constant('false')} else ${other(leaf)}`,
      ];
    }
    if (this.#serialise && type !== GraphQLString && type !== GraphQLID) return [other(leaf)];
    return [
      `if (typeof value === 'string' && !NOT_PLAIN.test(value)) { text += ${start(`"${key}":"`)} + value; before = 1; }`,
      `else ${other(leaf)}`,
    ];
  }
}

/** In the program, after each text whose length the document does not bound. */
const CHECK = `if (text.length > ${MAX_RESPONSE_BYTES}) tooLarge();`;

function tooLarge(): never {
  throw new ResponseTooLarge();
}

function leafAsIs(value: unknown): string {
  if (typeof value === 'string') return NOT_PLAIN.test(value) ? JSON.stringify(value) : `"${value}"`;
  // What has no text (a function) is null, as it is in a list: a key that is there stays there.
  return JSON.stringify(value) ?? 'null';
}

function serialisedLeaf(type: GraphQLOutputType): WriteJson {
  if (isListType(type)) {
    const item = serialisedLeaf(getNullableType(type.ofType));
    return (value) => (value === null ? 'null' : `[${(value as unknown[]).map(item).join(',')}]`);
  }
  if (!isLeafType(type)) throw new Error(`${String(type)} is no leaf`);
  return (value) => {
    if (value === null || value === undefined) return 'null';
    const serialised = type.serialize(value);
    if (serialised === undefined || serialised === null) throw new Error(`${type.name} has no such value`);
    return leafAsIs(serialised);
  };
}
