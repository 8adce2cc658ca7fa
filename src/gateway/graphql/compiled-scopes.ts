/**
 * Scopes of types in compiled operations. scope-auth checks them in `isTypeOf`, which graphql-jit 0.8.9 calls without
 * the context. A compiled operation therefore calls `isTypeOf` for the results of resolvers, and replaces refused
 * objects by errors, which cost only their field.
 */
import {
  type GraphQLAbstractType,
  type GraphQLField,
  type GraphQLNamedType,
  type GraphQLObjectType,
  type GraphQLResolveInfo,
  type GraphQLSchema,
  getNamedType,
  getNullableType,
  isAbstractType,
  isInterfaceType,
  isListType,
  isObjectType,
} from 'graphql';
import type { RequestContext } from '../context.ts';
import type { TypeScope } from './type-scopes.ts';
import { originalResolver, type Resolver } from './whole-lists.ts';

/** Returns true, or throws or rejects with the refusal. */
type Check = (value: unknown, context: RequestContext, info: GraphQLResolveInfo) => unknown;

/** The resolver of a field that also checks the scopes of its type; undefined for a plain property without scopes. */
export function scopedResolver(schema: GraphQLSchema, field: GraphQLField<unknown, unknown>): Resolver | undefined {
  const original = originalResolver(field);
  const check = checkOf(schema, getNamedType(field.type));
  if (check === null) return original;
  const { name } = field;
  const resolve: Resolver = original ?? ((source) => (source as Readonly<Record<string, unknown>>)[name]);
  const checkValue = isListType(getNullableType(field.type)) ? checkedList : checked;
  return (source, args, context, info) =>
    checkValue(resolve(source, args, context, info), check, context as RequestContext, info);
}

/** Object types whose `isTypeOf` compiled code must not call. */
export const isScoped = (type: GraphQLNamedType): type is GraphQLObjectType =>
  isObjectType(type) && type.isTypeOf != null;

function checkOf(schema: GraphQLSchema, type: GraphQLNamedType): Check | null {
  const check = isAbstractType(type) ? checkByType(schema, type) : isScoped(type) ? (type.isTypeOf as Check) : null;
  const [scope, ...others] = scopesOf(type);
  if (check === null || scope === undefined || others.length > 0) return check;
  const { allows } = scope;
  return (value, context, info) => allows(value, context) || check(value, context, info);
}

function checkByType(schema: GraphQLSchema, type: GraphQLAbstractType): Check | null {
  const checks = new Map(schema.getPossibleTypes(type).map((one) => [one.name, checkOf(schema, one)]));
  if ([...checks.values()].every((check) => check === null)) return null;
  return (value, context, info) => {
    // The compiled operation refuses promises and unknown names afterwards.
    const name: unknown = type.resolveType?.(value, context, info, type);
    const check = typeof name === 'string' ? checks.get(name) : null;
    return check ? check(value, context, info) : true;
  };
}

function scopesOf(type: GraphQLNamedType): TypeScope[] {
  const interfaces = isObjectType(type) || isInterfaceType(type) ? type.getInterfaces() : [];
  return [type, ...interfaces].flatMap(({ extensions }) => (extensions.scope as TypeScope | undefined) ?? []);
}

type Checked = (value: unknown, check: Check, context: RequestContext, info: GraphQLResolveInfo) => unknown;

/** The value, or the error with which its scope refuses it. */
const checked: Checked = (value, check, context, info) => {
  if (typeof value !== 'object' || value === null) return value;
  if (isThenable(value)) return value.then((settled) => checked(settled, check, context, info));
  if (Array.isArray(value)) return checkedList(value, check, context, info);
  try {
    const result = check(value, context, info);
    return result === true ? value : Promise.resolve(result).then(() => value);
  } catch (error) {
    // An Error as a value is the error of the field. `instanceof` before the check would cost as much as the check.
    if (value instanceof Error) return value;
    return error instanceof Error ? error : new Error(`Unexpected error value: ${String(error)}`);
  }
};

const checkedList: Checked = (value, check, context, info) => {
  if (typeof value !== 'object' || value === null) return value;
  if (isThenable(value)) return value.then((settled) => checkedList(settled, check, context, info));
  if (!(Symbol.iterator in value)) return value;
  return Array.from(value as Iterable<unknown>, (item) => checked(item, check, context, info));
};

const isThenable = (value: object): value is PromiseLike<unknown> =>
  typeof (value as { readonly then?: unknown }).then === 'function';
