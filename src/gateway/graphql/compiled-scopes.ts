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
  type GraphQLOutputType,
  type GraphQLResolveInfo,
  type GraphQLSchema,
  isAbstractType,
  isInterfaceType,
  isListType,
  isNonNullType,
  isObjectType,
} from 'graphql';
import type { RequestContext } from '../context.ts';
import { objectTypesOf } from './document.ts';
import { asError } from './jit-runtime.ts';
import type { TypeScope } from './type-scopes.ts';
import { isThenable, originalResolver, type Resolver } from './whole-lists.ts';

type Field = GraphQLField<unknown, unknown>;

/** Returns the value with an error in place of each refused object, or a promise of it. */
type Guard = (value: unknown, context: RequestContext, info: GraphQLResolveInfo) => unknown;

/** Returns true or throws the refusal. */
type Check = (value: object, context: RequestContext, info: GraphQLResolveInfo) => unknown;

/** The fields of one operation. */
export class ScopedFields {
  readonly #schema: GraphQLSchema;
  readonly #fields: ReadonlySet<Field>;

  constructor(schema: GraphQLSchema, fields: ReadonlySet<Field>) {
    this.#schema = schema;
    this.#fields = fields;
  }

  /** A resolver that also checks scopes. `undefined` for a property that needs no check of its own. */
  resolverOf(field: Field): Resolver | undefined {
    if (isPlain(field)) return undefined;
    const original = originalResolver(field);
    const guard = this.#guardOf(field.type);
    if (guard === null) return original;
    const { name } = field;
    const resolve: Resolver = original ?? ((source) => (source as Readonly<Record<string, unknown>>)[name]);
    return (source, args, context, info) =>
      guard(resolve(source, args, context, info), context as RequestContext, info);
  }

  #guardOf(type: GraphQLOutputType): Guard | null {
    if (isNonNullType(type)) return this.#guardOf(type.ofType);
    if (isListType(type)) {
      const guard = this.#guardOf(type.ofType);
      return guard && listGuard(guard);
    }
    const check = checkOf(this.#schema, type);
    const properties = objectTypesOf(this.#schema, type).flatMap((one) => this.#guardedProperties(one));
    return check === null && properties.length === 0 ? null : objectGuard(check, properties);
  }

  /** Properties that compiled code reads without a resolver, so that the guard of their object checks them. */
  #guardedProperties(type: GraphQLObjectType): GuardedProperty[] {
    return Object.values(type.getFields()).flatMap((field) => {
      const guard = this.#fields.has(field) && isPlain(field) ? this.#guardOf(field.type) : null;
      return guard === null ? [] : { name: field.name, guard };
    });
  }
}

/** Object types whose `isTypeOf` compiled code must not call. */
export const isScoped = (type: GraphQLNamedType): type is GraphQLObjectType =>
  isObjectType(type) && type.isTypeOf != null;

/** Whether compiled code reads the property. The resolver may have been replaced. */
const isPlain = (field: Field): boolean =>
  field.extensions.isPlain === true && originalResolver(field) === field.extensions.pothosOriginalResolve;

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

interface GuardedProperty {
  readonly name: string;
  readonly guard: Guard;
}

const objectGuard = (check: Check | null, properties: readonly GuardedProperty[]): Guard =>
  whenSettled((value, context, info) => {
    try {
      if (check !== null && check(value, context, info) !== true) throw new Error('A scope of a type is asynchronous');
    } catch (error) {
      // An Error as a value is the error of the field. `instanceof` before the check would cost as much as the check.
      if (value instanceof Error) return value;
      return asError(error);
    }
    let guarded = value;
    for (const { name, guard } of properties) {
      const property: unknown = (value as Readonly<Record<string, unknown>>)[name];
      const result = guard(property, context, info);
      if (result !== property) guarded = Object.create(guarded, { [name]: { value: result } });
    }
    return guarded;
  });

const listGuard = (guard: Guard): Guard =>
  whenSettled((value, context, info) => {
    if (!(Symbol.iterator in value)) return value;
    const list: readonly unknown[] = Array.isArray(value) ? value : Array.from(value as Iterable<unknown>);
    let guarded: unknown[] | null = null;
    for (let i = 0; i < list.length; i++) {
      const result = guard(list[i], context, info);
      if (result !== list[i]) {
        guarded ??= [...list];
        guarded[i] = result;
      }
    }
    return guarded ?? list;
  });

function whenSettled(guard: (...args: Parameters<Check>) => unknown): Guard {
  const guarded: Guard = (value, context, info) => {
    if (typeof value !== 'object' || value === null) return value;
    return isThenable(value) ? value.then((settled) => guarded(settled, context, info)) : guard(value, context, info);
  };
  return guarded;
}
