import {
  type DocumentNode,
  type FragmentDefinitionNode,
  type GraphQLNamedType,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLSchema,
  getNamedType,
  isAbstractType,
  isObjectType,
  Kind,
  type SelectionSetNode,
  TypeNameMetaFieldDef,
} from 'graphql';
import { applies, fragmentsOf, operationOf } from './document.ts';

/** Maximum number of fields over all concrete types. A larger writer costs more to generate than it saves. */
const MAX_FIELDS = 2_000;

/** Keys of a selection in the order of the response, each with the keys below it or the type of its leaf. */
export type ResponseKeys = ReadonlyMap<string, ResponseKeys | GraphQLOutputType>;

/** Keys of the only operation of a valid document. `null` if they depend on more than the document, or are too many. */
export const responseKeys = (schema: GraphQLSchema, document: DocumentNode): ResponseKeys | null =>
  new Selection(schema, document).keys();

interface Found {
  readonly type: GraphQLOutputType;
  readonly types: Set<GraphQLObjectType>;
  readonly sets: Set<SelectionSetNode>;
}

class Selection {
  readonly #schema: GraphQLSchema;
  readonly #document: DocumentNode;
  readonly #fragments: ReadonlyMap<string, FragmentDefinitionNode>;
  #left = MAX_FIELDS;

  constructor(schema: GraphQLSchema, document: DocumentNode) {
    this.#schema = schema;
    this.#document = document;
    this.#fragments = fragmentsOf(document);
  }

  keys(): ResponseKeys | null {
    const operation = operationOf(this.#document);
    const root = operation && this.#schema.getRootType(operation.operation);
    return root ? this.#below([root], [operation.selectionSet]) : null;
  }

  #below(types: Iterable<GraphQLObjectType>, sets: Iterable<SelectionSetNode>): ResponseKeys | null {
    const found = new Map<string, Found>();
    const order: string[] = [];
    for (const type of types) {
      const own = new Set<string>();
      const add = (key: string, field: GraphQLOutputType, selectionSet: SelectionSetNode | undefined) => {
        // Validation ensures that the key is the same leaf, or no leaf, in all types.
        const entry = found.get(key) ?? { type: field, types: new Set(), sets: new Set() };
        found.set(key, entry);
        own.add(key);
        if (!selectionSet) return;
        entry.sets.add(selectionSet);
        for (const concrete of this.#concrete(getNamedType(field))) entry.types.add(concrete);
      };
      for (const set of sets) if (!this.#collect(type, set, add)) return null;
      if (!merge(own, order)) return null;
    }
    const keys = new Map<string, ResponseKeys | GraphQLOutputType>();
    for (const key of order) {
      const { type, types, sets } = found.get(key) as Found;
      const below = sets.size > 0 ? this.#below(types, sets) : type;
      if (below === null) return null;
      keys.set(key, below);
    }
    return keys;
  }

  /** Adds each field that an object of this type has. Returns false if the fields depend on more than the document. */
  #collect(
    type: GraphQLObjectType,
    { selections }: SelectionSetNode,
    add: (key: string, type: GraphQLOutputType, set: SelectionSetNode | undefined) => void,
  ): boolean {
    for (const selection of selections) {
      if (selection.directives?.length) return false;
      if (selection.kind === Kind.FIELD) {
        const key = (selection.alias ?? selection.name).value;
        const name = selection.name.value;
        const field = name === TypeNameMetaFieldDef.name ? TypeNameMetaFieldDef : type.getFields()[name];
        this.#left -= 1;
        if (this.#left < 0 || key === '__proto__' || !field) return false;
        add(key, field.type, selection.selectionSet);
        continue;
      }
      const fragment = selection.kind === Kind.FRAGMENT_SPREAD ? this.#fragments.get(selection.name.value) : selection;
      if (!fragment) return false;
      if (!applies(this.#schema, fragment, type)) continue;
      if (!this.#collect(type, fragment.selectionSet, add)) return false;
    }
    return true;
  }

  #concrete(type: GraphQLNamedType): readonly GraphQLObjectType[] {
    if (isAbstractType(type)) return this.#schema.getPossibleTypes(type);
    return isObjectType(type) ? [type] : [];
  }
}

/** Merges keys into a common order. Returns false if it has two of them in the opposite order. */
function merge(own: Iterable<string>, order: string[]): boolean {
  let index = 0;
  for (const key of own) {
    const known = order.indexOf(key);
    if (known < 0) order.splice(index, 0, key);
    else if (known < index) return false;
    index = (known < 0 ? index : known) + 1;
  }
  return true;
}
