/**
 * Compiles the operation of a validated document into a function with graphql-jit. Only names of the client's text
 * become source text: `@skip` and `@include` are evaluated before, and literals become variables, which graphql-js
 * coerces. Documents that graphql-jit 0.8.9 would execute wrongly and very large ones are refused with NotCompilable.
 *
 * If a field has no resolver, its object must have a plain value for it, never a promise or a function.
 */
import {
  type ExecutionResult,
  type GraphQLAbstractType,
  GraphQLBoolean,
  type GraphQLField,
  GraphQLID,
  GraphQLList,
  GraphQLNonNull,
  type GraphQLOutputType,
  GraphQLScalarType,
  type GraphQLSchema,
  GraphQLString,
  getNamedType,
  isListType,
  isNonNullType,
  isScalarType,
  isSpecifiedScalarType,
} from 'graphql';
import { readsRelations, withSharedPath } from './compiled-paths.ts';
import { isScoped, ScopedFields } from './compiled-scopes.ts';
import { NotCompilable, type OperationDocument, type Variables, withoutConditions } from './document.ts';
import { compileQuery, isCompiledQuery, patchJitRuntime } from './jit-runtime.ts';
import { COERCED_TYPE, Literals } from './literals.ts';
import { responseShape } from './response-shape.ts';

/** Executes with coerced variables. Returns null if graphql-js has to execute with these values. */
export type CompiledRun = (
  rootValue: unknown,
  context: unknown,
  variables: Variables,
) => ExecutionResult | null | Promise<ExecutionResult | null>;

const coercedType = new GraphQLScalarType({ name: COERCED_TYPE });

patchJitRuntime();

/** Serialisers of built-in scalars that return valid values without a call. */
const DIRECT: Readonly<Record<string, (value: unknown) => unknown>> = {
  String: (value) => (typeof value === 'string' ? value : GraphQLString.serialize(value)),
  ID: (value) => (typeof value === 'string' ? value : GraphQLID.serialize(value)),
  Boolean: (value) => (typeof value === 'boolean' ? value : GraphQLBoolean.serialize(value)),
};

/**
 * `hasRawLeaves`: leaves are the values of resolvers, for results that are written as JSON. `serialize` is called for
 * no leaf, which saves more than half of the time of a list.
 */
export function compile(
  schema: GraphQLSchema,
  document: OperationDocument,
  conditions: Variables,
  hasRawLeaves = false,
): CompiledRun {
  const [{ variableDefinitions }] = document.definitions;
  const literals = new Literals(schema, document);
  const rewritten = literals.hoist(withoutConditions(document, conditions));
  const { abstractTypes, fields } = responseShape(schema, rewritten);
  const operation = { ...rewritten.definitions[0], variableDefinitions };
  const compileNow = () =>
    compileQuery(withCoercedType(schema), rewritten, undefined, {
      customSerializers: DIRECT,
      disablingCapturingStackErrors: true,
      disableLeafSerialization: hasRawLeaves,
      resolverInfoEnricher: () => ({ schema, operation }),
    });
  const isShared = readsRelations(fields);
  const scoped = new ScopedFields(schema, fields);
  const resolverOf = (field: GraphQLField<unknown, unknown>) => {
    const resolve = scoped.resolverOf(field);
    return isShared ? withSharedPath(field, resolve) : resolve;
  };
  const compiled = withChanges(
    [
      ...[...abstractTypes].map((type): Change => [type, 'resolveType', safeTypeResolver(type)]),
      ...Object.values(schema.getTypeMap())
        .filter(isScoped)
        .map((type): Change => [type, 'isTypeOf', undefined]),
      ...[...fields].map((field): Change => [field, 'resolve', resolverOf(field)]),
      ...[...fields].map((field): Change => [field, 'type', hasRawLeaves ? rawType(field.type) : field.type]),
    ],
    compileNow,
  );
  if (!isCompiledQuery(compiled)) throw new NotCompilable(compiled.errors?.[0]?.message ?? 'unknown reason');
  const { query } = compiled;
  return (rootValue, context, variables) => {
    const values = literals.fill(variables);
    return values && query(rootValue, context, values);
  };
}

/** The compiler finds types of variables by name. This schema also has the scalar without coercion. */
function withCoercedType(schema: GraphQLSchema): GraphQLSchema {
  return Object.create(schema, {
    getType: { value: (name: string) => (name === COERCED_TYPE ? coercedType : schema.getType(name)) },
  });
}

type Change = readonly [object: object, key: string, value: unknown];

/** Calls `work` while the properties of the schema have other values. */
function withChanges<T>(changes: readonly Change[], work: () => T): T {
  const originals = changes.map(([object, key]): Change => [object, key, Reflect.get(object, key)]);
  const set = ([object, key, value]: Change) => Reflect.set(object, key, value);
  changes.forEach(set);
  try {
    return work();
  } finally {
    originals.forEach(set);
  }
}

/** graphql-jit 0.8.9 calls `resolveType` without the type and accepts promises. */
function safeTypeResolver(type: GraphQLAbstractType): GraphQLAbstractType['resolveType'] {
  const original = type.resolveType;
  if (!original) return original;
  return (value, context, info) => {
    const result = original(value, context, info, type);
    if (typeof result === 'object' && result !== null) {
      throw new Error(`resolveType of ${type.name} must return a name synchronously: set the type on the object`);
    }
    return result;
  };
}

/** Replaces custom scalars by String, whose values the compiler returns unchanged. */
function rawType(type: GraphQLOutputType): GraphQLOutputType {
  const named = getNamedType(type);
  if (!isScalarType(named) || isSpecifiedScalarType(named)) return type;
  if (isNonNullType(type)) return new GraphQLNonNull(rawType(type.ofType));
  return isListType(type) ? new GraphQLList(rawType(type.ofType)) : GraphQLString;
}
