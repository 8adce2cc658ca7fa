import {
  type GraphQLAbstractType,
  type GraphQLField,
  type GraphQLObjectType,
  type GraphQLSchema,
  getNamedType,
  isAbstractType,
  type SelectionSetNode,
  TypeNameMetaFieldDef,
} from 'graphql';
import { fieldLister, NotCompilable, type OperationDocument, objectTypesOf } from './document.ts';

/** Maximum number of fields over all concrete types, because larger programs are no faster. */
const MAX_FIELDS = 2_000;

interface ResponseShape {
  readonly abstractTypes: ReadonlySet<GraphQLAbstractType>;
  readonly fields: ReadonlySet<GraphQLField<unknown, unknown>>;
}

/** Visits all fields of a response and refuses what graphql-jit 0.8.9 executes wrongly. Errors: NotCompilable. */
export function responseShape(schema: GraphQLSchema, document: OperationDocument): ResponseShape {
  const abstractTypes = new Set<GraphQLAbstractType>();
  const fields = new Set<GraphQLField<unknown, unknown>>();
  // Generated code identifies resolvers by type and field, and resolve infos by path, without a separator.
  const resolvers = new Map<string, string>();
  const paths = new Map<string, string>();
  const listFields = fieldLister(schema, document);
  let count = 0;
  const visit = (type: GraphQLObjectType, sets: readonly SelectionSetNode[], parent: readonly string[]): void => {
    for (const [key, nodes] of listFields(type, sets)) {
      count += 1;
      if (count > MAX_FIELDS) throw new NotCompilable(`more than ${MAX_FIELDS} fields`);
      if (key === '__proto__') throw new NotCompilable('a field named __proto__');
      const name = nodes[0].name.value;
      if (name === TypeNameMetaFieldDef.name) continue;
      const field = type.getFields()[name];
      if (!field) throw new NotCompilable(`${type.name}.${name} is introspection`);
      fields.add(field);
      const path = [...parent, key];
      claim(resolvers, `${type.name}${name}`, `${type.name}.${name}`);
      claim(paths, [...path].reverse().join('_'), path.join('.'));
      const below = nodes.flatMap(({ selectionSet }) => selectionSet ?? []);
      const inner = getNamedType(field.type);
      if (isAbstractType(inner)) abstractTypes.add(inner);
      for (const concrete of objectTypesOf(schema, inner)) {
        visit(concrete, below, isAbstractType(inner) ? [...path, concrete.name] : path);
      }
    }
  };
  const [{ operation, selectionSet }] = document.definitions;
  const root = schema.getRootType(operation);
  if (!root) throw new NotCompilable('no root type');
  visit(root, [selectionSet], []);
  return { abstractTypes, fields };
}

function claim(names: Map<string, string>, name: string, owner: string): void {
  const other = names.get(name);
  if (other !== undefined && other !== owner) throw new NotCompilable(`${owner} and ${other} collide`);
  names.set(name, owner);
}
