/**
 * Writes the data of one operation as JSON, like JSON.stringify but with keys as constants of a generated function: 15
 * µs instead of 25 µs for 50 entries (15 KB). With JSON.stringify, `bench/graphql.ts` serves lists of 50 8 to 28 %
 * slower. Selected objects must have no other keys than selected ones. Keys with the value undefined are omitted.
 * Errors: ResponseTooLarge.
 */
import {
  GraphQLBoolean,
  GraphQLID,
  type GraphQLOutputType,
  GraphQLString,
  getNullableType,
  isLeafType,
  isListType,
} from 'graphql';
import type { ResponseKeys } from './response-keys.ts';
import { MAX_RESPONSE_BYTES, ResponseTooLarge } from './response-limit.ts';

export type WriteJson = (value: unknown) => string;

/** Matches text that may need escapes in JSON. JSON.stringify writes such text. */
const NOT_PLAIN = /[^ !#-[\]-~]/;

/** `serialise`: whether leaves are resolvers' values, which their types serialise and may refuse. */
export const createJsonWriter = (keys: ResponseKeys, { serialise = false } = {}): WriteJson =>
  new Program(serialise).compile(keys);

/** Only GraphQL names of a document become source text. */
const NAME = /^[_A-Za-z][_0-9A-Za-z]*$/;

class Program {
  readonly #serialise: boolean;
  readonly #functions: string[] = [];
  readonly #leaves: WriteJson[] = [];

  constructor(serialise: boolean) {
    this.#serialise = serialise;
  }

  compile(keys: ResponseKeys): WriteJson {
    const root = this.#declare(keys);
    const source = `'use strict';\n${this.#functions.join('\n')}\nreturn ${root};`;
    return new Function('NOT_PLAIN', 'leaves', 'tooLarge', source)(NOT_PLAIN, this.#leaves, tooLarge) as WriteJson;
  }

  /**
   * Adds the function that writes an object with these keys, null, or a list of them. Returns its name. `before` is the
   * text before the next key: nothing (0), the quote of a text and a comma (1), or a comma (2). Text is tested inline,
   * because calls per value would cost as much as the writer saves.
   */
  #declare(keys: ResponseKeys): string {
    const lines: string[] = [];
    for (const [key, below] of keys) {
      if (!NAME.test(key)) throw new Error(`"${key}" is not a GraphQL name`);
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

  #add(key: string, below: ResponseKeys | GraphQLOutputType): readonly string[] {
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

const CHECK = `if (text.length > ${MAX_RESPONSE_BYTES}) tooLarge();`;

function tooLarge(): never {
  throw new ResponseTooLarge();
}

function leafAsIs(value: unknown): string {
  if (typeof value === 'string') return NOT_PLAIN.test(value) ? JSON.stringify(value) : `"${value}"`;
  // A value without JSON text (a function) becomes null, as in a list, so that its key stays.
  return JSON.stringify(value) ?? 'null';
}

function serialisedLeaf(type: GraphQLOutputType): WriteJson {
  if (isListType(type)) {
    const item = serialisedLeaf(getNullableType(type.ofType));
    return (value) => (value === null ? 'null' : `[${(value as unknown[]).map(item).join(',')}]`);
  }
  if (!isLeafType(type)) throw new Error(`${String(type)} is not a leaf type`);
  return (value) => {
    if (value === null || value === undefined) return 'null';
    const serialised = type.serialize(value);
    if (serialised === undefined || serialised === null) throw new Error(`${type.name} serialised a value to nothing`);
    return leafAsIs(serialised);
  };
}
