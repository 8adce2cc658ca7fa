/**
 * Works around graphql-js 16.15: if an item of a list fails synchronously after an earlier item returned a promise,
 * graphql-js abandons that promise, and its rejection ends Node. Items that are promises never fail synchronously, so
 * resolvers of lists return promises. Compiled operations use the original resolvers.
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

export type Resolver = GraphQLFieldResolver<unknown, unknown>;

const ORIGINAL = Symbol('original resolver');

interface Guarded extends Resolver {
  readonly [ORIGINAL]: Resolver | undefined;
}

const schemas = new WeakSet<GraphQLSchema>();

/** Wraps the list resolvers of the schema in place. Safe to call twice. */
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

/** The resolver of a field before `guardLists`. */
export const originalResolver = ({ resolve }: GraphQLField<unknown, unknown>): Resolver | undefined =>
  isGuarded(resolve) ? resolve[ORIGINAL] : resolve;

function isGuarded(resolve: Resolver | undefined): resolve is Guarded {
  return resolve !== undefined && ORIGINAL in resolve;
}

function guard(original: Resolver | undefined): Guarded {
  const resolve = original ?? defaultFieldResolver;
  const guarded: Resolver = (source, args, context, info) => {
    const value: unknown = resolve(source, args, context, info);
    return isThenable(value) ? value.then(asPromises) : asPromises(value);
  };
  return Object.assign(guarded, { [ORIGINAL]: original });
}

function asPromises(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || !(Symbol.iterator in value)) return value;
  return Array.from(value as Iterable<unknown>, (item) =>
    isThenable(item) ? item : Array.isArray(item) ? Promise.resolve(asPromises(item)) : Promise.resolve(item),
  );
}

export const isThenable = (value: unknown): value is Promise<unknown> =>
  typeof value === 'object' && value !== null && typeof (value as { readonly then?: unknown }).then === 'function';
