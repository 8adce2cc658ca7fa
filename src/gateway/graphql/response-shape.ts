import {
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLAbstractType,
  type GraphQLField,
  type GraphQLObjectType,
  type GraphQLSchema,
  getNamedType,
  isAbstractType,
  isObjectType,
  Kind,
  type SelectionSetNode,
  TypeNameMetaFieldDef,
} from 'graphql';
import { applies, fragmentsOf, NotCompilable, operationOf } from './document.ts';

/** Visits all fields of a response and refuses what graphql-jit 0.8.9 executes wrongly. Errors: NotCompilable. */
export class ResponseShape {
  readonly abstractTypes = new Set<GraphQLAbstractType>();
  readonly fields = new Set<GraphQLField<unknown, unknown>>();
  readonly #schema: GraphQLSchema;
  readonly #fragments: ReadonlyMap<string, FragmentDefinitionNode>;
  /** Generated code identifies resolvers by type and field, and resolve infos by path, without a separator. */
  readonly #resolvers = new Map<string, string>();
  readonly #paths = new Map<string, string>();
  readonly #maxFields: number;
  #count = 0;

  constructor(schema: GraphQLSchema, document: DocumentNode, maxFields: number) {
    this.#schema = schema;
    this.#maxFields = maxFields;
    this.#fragments = fragmentsOf(document);
    const operation = operationOf(document);
    if (!operation) throw new NotCompilable('no operation');
    const root = schema.getRootType(operation.operation);
    if (!root) throw new NotCompilable('no root type');
    this.#object(root, [operation.selectionSet], []);
  }

  #object(type: GraphQLObjectType, sets: readonly SelectionSetNode[], path: readonly string[]): void {
    const nodes = new Map<string, FieldNode[]>();
    const visited = new Set<string>();
    for (const set of sets) this.#collect(type, set, nodes, visited);
    for (const [key, fieldNodes] of nodes) this.#field(type, fieldNodes, [...path, key]);
  }

  #collect(
    type: GraphQLObjectType,
    set: SelectionSetNode,
    nodes: Map<string, FieldNode[]>,
    visited: Set<string>,
  ): void {
    for (const selection of set.selections) {
      if (selection.kind === Kind.FIELD) {
        const key = (selection.alias ?? selection.name).value;
        const list = nodes.get(key);
        if (list) list.push(selection);
        else nodes.set(key, [selection]);
        continue;
      }
      if (selection.kind === Kind.FRAGMENT_SPREAD) {
        if (visited.has(selection.name.value)) continue;
        visited.add(selection.name.value);
      }
      const fragment = selection.kind === Kind.FRAGMENT_SPREAD ? this.#fragments.get(selection.name.value) : selection;
      if (fragment && applies(this.#schema, fragment, type)) {
        this.#collect(type, fragment.selectionSet, nodes, visited);
      }
    }
  }

  #field(type: GraphQLObjectType, nodes: readonly FieldNode[], path: readonly string[]): void {
    const [node] = nodes;
    if (!node) return;
    this.#count += 1;
    if (this.#count > this.#maxFields) throw new NotCompilable(`more than ${this.#maxFields} fields`);
    const key = path.at(-1);
    if (key === '__proto__') throw new NotCompilable('a field named __proto__');
    const name = node.name.value;
    if (name === TypeNameMetaFieldDef.name) return;
    const field = type.getFields()[name];
    if (!field) throw new NotCompilable(`${type.name}.${name} is introspection`);
    this.fields.add(field);
    claim(this.#resolvers, `${type.name}${name}`, `${type.name}.${name}`);
    claim(this.#paths, [...path].reverse().join('_'), path.join('.'));
    const sets = nodes.flatMap(({ selectionSet }) => selectionSet ?? []);
    const inner = getNamedType(field.type);
    if (isObjectType(inner)) this.#object(inner, sets, path);
    if (!isAbstractType(inner)) return;
    this.abstractTypes.add(inner);
    for (const concrete of this.#schema.getPossibleTypes(inner)) this.#object(concrete, sets, [...path, concrete.name]);
  }
}

function claim(names: Map<string, string>, name: string, owner: string): void {
  const other = names.get(name);
  if (other !== undefined && other !== owner) throw new NotCompilable(`${owner} and ${other} collide`);
  names.set(name, owner);
}
