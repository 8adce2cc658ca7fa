/**
 * A guard for lists under graphql-js. When an item fails at once after an earlier item began to wait, graphql-js leaves the
 * list and nobody listens to the earlier item any more: if that fails too, Node ends the process for an unhandled rejection,
 * which any caller can bring about with two failing fields. A list of promises has no items that fail at once, so the
 * resolvers of lists are made to give promises. Compiled operations do not need it and keep the original resolvers.
 */
import {
  defaultFieldResolver,
  type GraphQLField,
  type GraphQLFieldResolver,
  type GraphQLSchema,
  getNamedType,
  getNullableType,
  isCompositeType,
  isListType,
  isObjectType,
} from 'graphql';

type Resolver = GraphQLFieldResolver<unknown, unknown>;
type Field = GraphQLField<unknown, unknown>;

const ORIGINAL = Symbol('original resolver');

interface Guarded extends Resolver {
  readonly [ORIGINAL]: Resolver | undefined;
}

const schemas = new WeakSet<GraphQLSchema>();

/** Changes the resolvers of the schema in place; doing it twice does nothing. */
export function guardLists(schema: GraphQLSchema): void {
  if (schemas.has(schema)) return;
  schemas.add(schema);
  for (const type of Object.values(schema.getTypeMap())) {
    if (!isObjectType(type) || type.name.startsWith('__')) continue;
    for (const field of Object.values(type.getFields())) {
      if (
        isListType(getNullableType(field.type)) &&
        isCompositeType(getNamedType(field.type)) &&
        !isGuarded(field.resolve)
      ) {
        field.resolve = guard(field.resolve);
      }
    }
  }
}

/** Does work while the fields have the resolvers they were made with. */
export function withOriginalResolvers<T>(fields: Iterable<Field>, work: () => T): T {
  const guarded = [...fields].flatMap((field) => (isGuarded(field.resolve) ? [{ field, resolve: field.resolve }] : []));
  for (const { field, resolve } of guarded) {
    const original = resolve[ORIGINAL];
    if (original) field.resolve = original;
    else delete field.resolve;
  }
  try {
    return work();
  } finally {
    for (const { field, resolve } of guarded) field.resolve = resolve;
  }
}

function isGuarded(resolve: Resolver | undefined): resolve is Guarded {
  return resolve !== undefined && ORIGINAL in resolve;
}

function guard(original: Resolver | undefined): Guarded {
  const resolve = original ?? defaultFieldResolver;
  const guarded: Resolver = (source, args, context, info) => {
    const value: unknown = resolve(source, args, context, info);
    return isThenable(value) ? value.then(allLater) : allLater(value);
  };
  return Object.assign(guarded, { [ORIGINAL]: original });
}

function allLater(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || !(Symbol.iterator in value)) return value;
  return Array.from(value as Iterable<unknown>, (item) =>
    isThenable(item) ? item : Array.isArray(item) ? Promise.resolve(allLater(item)) : Promise.resolve(item),
  );
}

function isThenable(value: unknown): value is Promise<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';
}
