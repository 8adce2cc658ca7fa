import {
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLSchema,
  getNamedType,
  type SelectionSetNode,
  TypeNameMetaFieldDef,
} from 'graphql';
import { fieldLister, type ListFields, type OperationDocument, objectTypesOf } from './document.ts';

/** Maximum number of fields over all concrete types. A larger writer costs more to generate than it saves. */
const MAX_FIELDS = 2_000;

/** Keys of a selection in the order of the response, each with the keys below it or the type of its leaf. */
export type ResponseKeys = ReadonlyMap<string, ResponseKeys | GraphQLOutputType>;

/** Keys of the operation of a valid document. `null` if they depend on more than the document, or are too many. */
export function responseKeys(schema: GraphQLSchema, document: OperationDocument): ResponseKeys | null {
  const [{ operation, selectionSet }] = document.definitions;
  const root = schema.getRootType(operation);
  return root ? new Selection(schema, document).below([root], [selectionSet]) : null;
}

interface Found {
  readonly type: GraphQLOutputType;
  readonly types: Set<GraphQLObjectType>;
  readonly sets: Set<SelectionSetNode>;
}

class Selection {
  readonly #schema: GraphQLSchema;
  readonly #listFields: ListFields;
  #left = MAX_FIELDS;

  constructor(schema: GraphQLSchema, document: OperationDocument) {
    this.#schema = schema;
    this.#listFields = fieldLister(schema, document);
  }

  below(types: Iterable<GraphQLObjectType>, sets: Iterable<SelectionSetNode>): ResponseKeys | null {
    const found = new Map<string, Found>();
    const lists: string[][] = [];
    for (const type of types) {
      const fields = this.#listFields(type, sets);
      for (const [key, nodes] of fields) {
        const [{ name }] = nodes;
        const field = name.value === TypeNameMetaFieldDef.name ? TypeNameMetaFieldDef : type.getFields()[name.value];
        this.#left -= nodes.length;
        if (this.#left < 0 || key === '__proto__' || !field) return null;
        // Validation ensures that the key is the same leaf, or no leaf, in all types.
        const entry = found.get(key) ?? { type: field.type, types: new Set(), sets: new Set() };
        found.set(key, entry);
        for (const concrete of objectTypesOf(this.#schema, getNamedType(field.type))) entry.types.add(concrete);
        for (const { directives, selectionSet } of nodes) {
          if (directives?.length) return null;
          if (selectionSet) entry.sets.add(selectionSet);
        }
      }
      lists.push([...fields.keys()]);
    }
    const order = commonOrder(lists);
    if (order === null) return null;
    const keys = new Map<string, ResponseKeys | GraphQLOutputType>();
    for (const key of order) {
      const { type, types, sets } = found.get(key) as Found;
      const below = sets.size > 0 ? this.below(types, sets) : type;
      if (below === null) return null;
      keys.set(key, below);
    }
    return keys;
  }
}

/**
 * One list that has the order of each list. `null` if two lists have two keys in opposite order. Callers choose the
 * keys, so the time is linear in their number.
 */
function commonOrder(lists: readonly (readonly string[])[]): string[] | null {
  const followers = new Map<string, string[]>();
  /** Number of lists in which the key before is not in the order yet. */
  const waits = new Map<string, number>();
  for (const keys of lists) {
    for (const [index, key] of keys.entries()) {
      waits.set(key, (waits.get(key) ?? 0) + (index > 0 ? 1 : 0));
      const next = keys[index + 1];
      if (next === undefined) continue;
      const known = followers.get(key);
      if (known) known.push(next);
      else followers.set(key, [next]);
    }
  }
  const order = [...waits.keys()].filter((key) => waits.get(key) === 0);
  // Grows while it is read.
  for (const key of order) {
    for (const next of followers.get(key) ?? []) {
      const left = (waits.get(next) ?? 0) - 1;
      waits.set(next, left);
      if (left === 0) order.push(next);
    }
  }
  return order.length === waits.size ? order : null;
}
