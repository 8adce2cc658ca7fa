/**
 * Coerces the variables of one operation (GraphQL specification, 6.1.2) with bounded work: graphql-js prints the
 * offending value into each error, which took half a minute for an object with 100,000 unknown keys. Errors: INVALID
 * with the path and the reason of each problem, TOO_LARGE beyond `maxEntries` entries of lists and objects.
 *
 * ExactNumbers in the sent variables are replaced with JavaScript numbers, except in values of the scalar JSON.
 */
import {
  GraphQLError,
  type GraphQLInputObjectType,
  type GraphQLInputType,
  type GraphQLLeafType,
  type GraphQLSchema,
  getNullableType,
  isEnumType,
  isInputObjectType,
  isInputType,
  isListType,
  isNonNullType,
  typeFromAST,
  type VariableDefinitionNode,
  valueFromAST,
} from 'graphql';
import { invalid, ServiceError } from '../../platform/errors.ts';
import { ExactNumber } from '../../platform/text/exact-number.ts';
import { nearestName } from '../../platform/text/nearest-name.ts';
import { HALF_OF_PAIR } from '../../platform/text/texts.ts';
import { NO_VARIABLES, type Variables } from './document.ts';

/** Default of `maxEntries`. JSON of 1 MB has at most 500,000 entries, an access document of that size 60,000. */
const MAX_ENTRIES = 200_000;
/** As for the bodies of REST. Deeper values would exhaust the stack of every function that walks them. */
const MAX_DEPTH = 100;
const MAX_ERRORS = 5;
/** Characters of an unknown key that an error repeats. */
const MAX_NAME = 100;

interface Variable {
  readonly node: VariableDefinitionNode;
  readonly name: string;
  readonly type: GraphQLInputType;
  readonly hasDefault: boolean;
  readonly defaultValue: unknown;
}

export class VariableReader {
  readonly #variables: readonly Variable[];
  readonly #maxEntries: number;
  /** Whether a variable is called `__proto__`, which must not become the prototype of the values. */
  readonly #hasProto: boolean;

  constructor(
    schema: GraphQLSchema,
    definitions: readonly VariableDefinitionNode[] = [],
    maxEntries: number = MAX_ENTRIES,
  ) {
    this.#maxEntries = maxEntries;
    this.#variables = definitions.map((node) => {
      const type = typeFromAST(schema, node.type);
      if (!isInputType(type)) throw new Error(`The type of "$${node.variable.name.value}" is not an input type`);
      return {
        node,
        name: node.variable.name.value,
        type,
        hasDefault: node.defaultValue !== undefined,
        defaultValue: node.defaultValue && valueFromAST(node.defaultValue, type),
      };
    });
    this.#hasProto = this.#variables.some(({ name }) => name === '__proto__');
  }

  read(sent: Variables): Variables | readonly GraphQLError[] {
    if (this.#variables.length === 0) return NO_VARIABLES;
    const values: Record<string, unknown> = this.#hasProto ? Object.create(null) : {};
    const reading = new Reading(sent, this.#maxEntries);
    try {
      for (const variable of this.#variables) {
        const { node, name, type } = variable;
        if (!Object.hasOwn(sent, name)) {
          if (variable.hasDefault) values[name] = variable.defaultValue;
          else if (isNonNullType(type)) reading.refuse(node, `of required type "${type}" was not provided.`);
        } else if (sent[name] === null && isNonNullType(type)) {
          reading.refuse(node, `of non-null type "${type}" must not be null.`);
        } else values[name] = reading.variable(node, sent[name], type);
      }
    } catch (error) {
      if (!(error instanceof Stop)) throw error;
    }
    if (reading.errors !== null) return reading.errors;
    return this.#hasProto ? { ...values } : values;
  }
}

export const isRefusal = (read: Variables | readonly GraphQLError[]): read is readonly GraphQLError[] =>
  Array.isArray(read);

class Stop extends Error {}

class Reading {
  /** `null` if there are none. */
  errors: GraphQLError[] | null = null;
  readonly #sent: Variables;
  readonly #maxEntries: number;
  #entries = 0;
  #depth = 0;
  #node: VariableDefinitionNode | null = null;
  readonly #path: (string | number)[] = [];

  constructor(sent: Variables, maxEntries: number) {
    this.#sent = sent;
    this.#maxEntries = maxEntries;
  }

  refuse(node: VariableDefinitionNode, words: string): void {
    this.#add(new GraphQLError(`Variable "$${node.variable.name.value}" ${words}`, { nodes: node }));
  }

  #add(error: GraphQLError): void {
    this.errors ??= [];
    this.errors.push(error);
    if (this.errors.length >= MAX_ERRORS) throw new Stop();
  }

  variable(node: VariableDefinitionNode, value: unknown, type: GraphQLInputType): unknown {
    this.#node = node;
    return this.#at(node.variable.name.value, value, type);
  }

  #at(step: string | number, value: unknown, type: GraphQLInputType): unknown {
    this.#path.push(step);
    const coerced = this.#value(value, type);
    this.#path.pop();
    return coerced;
  }

  #value(value: unknown, type: GraphQLInputType): unknown {
    if (isNonNullType(type)) {
      if (value !== null && value !== undefined) return this.#value(value, type.ofType);
      return this.#refuse(`Expected non-nullable type "${type}" not to be null.`);
    }
    if (value === null || value === undefined) return null;
    if (isListType(type)) {
      const { ofType } = type;
      // A list accepts one item in place of a list of one item.
      if (!Array.isArray(value)) return [this.#value(value, ofType)];
      const item = getNullableType(ofType);
      // Code that searches such a list relies on it.
      if (isEnumType(item) && value.length > item.getValues().length)
        return this.#refuse(`A list of ${item.name} must not have a value twice.`);
      this.#count(value.length);
      return value.map((item, index) => this.#at(index, item, ofType));
    }
    return isInputObjectType(type) ? this.#object(value, type) : this.#leaf(value, type);
  }

  #object(value: unknown, type: GraphQLInputObjectType): unknown {
    if (typeof value !== 'object' || value === null || Array.isArray(value) || value instanceof ExactNumber) {
      return this.#refuse(`Expected type "${type.name}" to be an object.`);
    }
    if (this.#depth >= MAX_DEPTH) return this.#refuse(`${type.name} ${TOO_DEEP}`);
    const fields = type.getFields();
    const given = value as Readonly<Record<string, unknown>>;
    const keys = Object.keys(given);
    for (const key of keys) if (!fields[key]) this.#unknownKey(key, type);
    this.#count(keys.length);
    this.#depth += 1;
    const values: Record<string, unknown> = {};
    let count = 0;
    for (const name in fields) {
      const field = fields[name];
      if (field === undefined) continue;
      const inner = given[name];
      if (inner !== undefined) values[name] = this.#at(name, inner, field.type);
      else if (field.defaultValue !== undefined) values[name] = field.defaultValue;
      else {
        if (isNonNullType(field.type)) {
          this.#refuse(`Field "${name}" of required type "${field.type}" was not provided.`);
        }
        continue;
      }
      count += 1;
    }
    this.#depth -= 1;
    if (type.isOneOf) this.#checkOneOf(values, count, type);
    return values;
  }

  #unknownKey(key: string, type: GraphQLInputObjectType): void {
    const name = key.length > MAX_NAME ? `${key.slice(0, MAX_NAME)}…` : key;
    const meant = nearestName(key, Object.keys(type.getFields()));
    const hint = meant === null ? '' : ` Did you mean "${meant}"?`;
    this.#refuse(`Field "${name}" is not defined by type "${type.name}".${hint}`);
  }

  #checkOneOf(values: Readonly<Record<string, unknown>>, count: number, type: GraphQLInputObjectType): void {
    if (count !== 1) this.#refuse(`Exactly one key must be specified for OneOf type "${type.name}".`);
    const [name] = Object.keys(values);
    if (name === undefined || values[name] !== null) return;
    this.#path.push(name);
    this.#refuse(`Field "${name}" must be non-null.`);
    this.#path.pop();
  }

  #leaf(value: unknown, type: GraphQLLeafType): unknown {
    try {
      if (typeof value === 'string' && !value.isWellFormed()) return this.#refuse(HALF_OF_PAIR);
      if (typeof value !== 'object') return parsed(value, type);
      if (value instanceof ExactNumber) return this.#number(value, type);
      // Errors of scalars print the value. An empty value in its place shows whether the type accepts lists or objects.
      parsed(Array.isArray(value) ? [] : {}, type);
      const fault = this.#countAll(value, MAX_DEPTH);
      if (fault !== null) return this.#refuse(`${type.name} ${fault}`);
      return parsed(value, type);
    } catch (error) {
      if (error instanceof Stop) throw error;
      return this.#refuse(error instanceof Error ? reasonOf(error) : `Expected type "${type.name}".`);
    }
  }

  /** Only JSON has exact numbers. In its place in `sent`, graphql-js reads the number as well. */
  #number(value: ExactNumber, type: GraphQLLeafType): unknown {
    if (type.name === 'JSON') return parsed(value, type);
    const rounded = type.name === 'ID' ? String(value) : Number(value);
    const last = this.#path.at(-1) ?? '';
    // The values of one request, which JSON.parse created.
    let container = this.#sent as Record<string | number, unknown>;
    for (const step of this.#path.slice(0, -1)) container = container[step] as typeof container;
    container[last] = rounded;
    return parsed(rounded, type);
  }

  #count(entries: number): void {
    this.#entries += entries;
    const limit = this.#maxEntries;
    if (this.#entries <= limit) return;
    const words = `The variables have more than ${limit} entries in lists and objects: send them in several requests`;
    // This error replaces all others.
    this.errors = null;
    this.#fail(new ServiceError('TOO_LARGE', words, { info: { limit } }));
    throw new Stop();
  }

  /** Counts the entries of a value without a declared structure. Returns why it is refused, if it is. */
  #countAll(value: unknown, levels: number): string | null {
    if (typeof value === 'string') return value.isWellFormed() ? null : HALF_OF_PAIR;
    if (typeof value !== 'object' || value === null || value instanceof ExactNumber) return null;
    if (levels === 0) return TOO_DEEP;
    if (!Array.isArray(value) && !Object.keys(value).every((key) => key.isWellFormed())) return HALF_OF_PAIR;
    const values: readonly unknown[] = Array.isArray(value) ? value : Object.values(value);
    this.#count(values.length);
    for (const inner of values) {
      const fault = this.#countAll(inner, levels - 1);
      if (fault !== null) return fault;
    }
    return null;
  }

  #refuse(reason: string): undefined {
    this.#fail(invalid([{ path: this.#path.join('.'), reason }]));
  }

  #fail(error: ServiceError): void {
    this.#add(new GraphQLError(error.message, { nodes: this.#node, originalError: error }));
  }
}

const TOO_DEEP = `must not be nested deeper than ${MAX_DEPTH} levels`;

/** Suggestions for a text compare it with each value of the enum, so long texts get none. */
function parsed(value: unknown, type: GraphQLLeafType): unknown {
  if (!isEnumType(type)) return type.parseValue(value);
  return type.parseValue(value, typeof value !== 'string' || value.length > MAX_NAME);
}

const reasonOf = ({ message }: Error): string =>
  withoutValue(message).replace(/^Value ".*" (does not exist in "\w+" enum\.)/s, 'The value $1');

/** Removes the value from a message of graphql-js. The value may be a password, or may contain one. */
export const withoutValue = (message: string): string =>
  message
    .replace(/^((?:Enum )?"?\w+"? cannot represent [^:]*): .*$/s, '$1')
    .replace(/^(Argument "\w+" has invalid value) .*$/s, '$1')
    .replace(/^(Expected value of type "[^"]*"), found (?!null\.$).*$/s, '$1');
