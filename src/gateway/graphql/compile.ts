/**
 * Turns one operation of a validated document into a function by graphql-jit.
 *
 * The compiler is only given what it does as graphql-js does it, and nothing that a client wrote ever becomes source text
 * except names:
 * - `@skip` and `@include` are decided before: one variant for each combination of the Boolean variables they use.
 * - Every literal argument becomes a variable, coerced by graphql-js, and so are the client's variables; the compiler sees
 *   variables of a scalar that takes any value.
 * - Documents that it would get wrong (names that collide in the generated code, `__proto__`, introspection) or that would
 *   grow into very large programs are refused with the reason, and stay with graphql-js.
 *
 * One rule for resolvers follows: an object whose field has no resolver holds that field as a plain value, never as a
 * promise or a function.
 */
import {
  type ASTNode,
  type DocumentNode,
  type ExecutionResult,
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLAbstractType,
  type GraphQLArgument,
  GraphQLBoolean,
  type GraphQLField,
  GraphQLID,
  type GraphQLInputType,
  type GraphQLObjectType,
  GraphQLScalarType,
  type GraphQLSchema,
  GraphQLString,
  getNamedType,
  type InlineFragmentNode,
  isAbstractType,
  isNonNullType,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
  type SelectionNode,
  type SelectionSetNode,
  TypeNameMetaFieldDef,
  type ValueNode,
  valueFromAST,
  visit,
} from 'graphql';
import { compileQuery, isCompiledQuery, mendJitRuntime } from './jit-runtime.ts';
import { withPlainScalars } from './plain-leaves.ts';
import { withOriginalResolvers } from './whole-lists.ts';

export type Variables = Readonly<Record<string, unknown>>;
export type Serializers = Readonly<Record<string, (value: unknown) => unknown>>;

/** Runs with variables that graphql-js has coerced. `null`: these values need graphql-js. */
export type CompiledRun = (
  rootValue: unknown,
  context: unknown,
  variables: Variables,
) => ExecutionResult | null | Promise<ExecutionResult | null>;

export interface CompileOptions {
  readonly serializers?: Serializers;
  /**
   * For results that are only written as JSON: leaves are given as the resolvers gave them (enums by their internal value), which
   * saves more than half of a list. Names the custom scalars for which that is the same text.
   */
  readonly plainScalars?: readonly string[];
  /** Fields over all concrete types: more make a program that costs more to compile than it saves. */
  readonly maxFields?: number;
}

export class NotCompilable extends Error {
  override readonly name = 'NotCompilable';
}

const DEFAULT_MAX_FIELDS = 2_000;
const RAW = 'CoercedValue__';
const LITERAL = 'literal__';

const raw = new GraphQLScalarType({ name: RAW });

mendJitRuntime();

/** The built-in scalars, without a call for the values that go out as they are. */
const DIRECT: Serializers = {
  String: (value) => (typeof value === 'string' ? value : GraphQLString.serialize(value)),
  ID: (value) => (typeof value === 'string' ? value : GraphQLID.serialize(value)),
  Boolean: (value) => (typeof value === 'boolean' ? value : GraphQLBoolean.serialize(value)),
};

export function operationOf(document: DocumentNode, name?: string | null): OperationDefinitionNode | null {
  const operations = document.definitions.filter((definition) => definition.kind === Kind.OPERATION_DEFINITION);
  if (name === undefined || name === null) return operations.length === 1 ? (operations[0] ?? null) : null;
  return operations.find((operation) => operation.name?.value === name) ?? null;
}

/** Boolean variables that decide `@skip` and `@include`, in a stable order. */
export function conditionVariables(document: DocumentNode): readonly string[] {
  const names = new Set<string>();
  visit(document, {
    Directive({ name, arguments: args }) {
      if (name.value !== 'skip' && name.value !== 'include') return;
      for (const { value } of args ?? []) if (value.kind === Kind.VARIABLE) names.add(value.name.value);
    },
  });
  return [...names].sort();
}

export function compile(
  schema: GraphQLSchema,
  document: DocumentNode,
  operation: OperationDefinitionNode,
  conditions: Variables,
  { serializers = {}, plainScalars, maxFields = DEFAULT_MAX_FIELDS }: CompileOptions = {},
): CompiledRun {
  const literals = new Literals(schema, operation);
  const rewritten = literals.hoist(withoutConditions(onlyOperation(document, operation), conditions));
  const { abstractTypes, fields } = new Shape(schema, rewritten, maxFields);
  const definition = operationOf(rewritten);
  if (!definition) throw new NotCompilable('no operation');
  const compileNow = () =>
    compileQuery(schemaWithRaw(schema), rewritten, undefined, {
      customSerializers: { ...DIRECT, ...serializers },
      disablingCapturingStackErrors: true,
      disableLeafSerialization: plainScalars !== undefined,
      resolverInfoEnricher: () => ({
        schema,
        operation: { ...definition, variableDefinitions: operation.variableDefinitions },
      }),
    });
  const compiled = withSafeTypeResolvers(abstractTypes, () =>
    withOriginalResolvers(fields, () => withPlainScalars(fields, plainScalars ?? [], compileNow)),
  );
  if (!isCompiledQuery(compiled)) throw new NotCompilable(compiled.errors?.[0]?.message ?? 'unknown reason');
  const { query } = compiled;
  return (rootValue, context, variables) => {
    const values = literals.fill(variables);
    return values && query(rootValue, context, values);
  };
}

/** The compiler looks variable types up by name, and must find a scalar that changes nothing. */
function schemaWithRaw(schema: GraphQLSchema): GraphQLSchema {
  return Object.create(schema, {
    getType: { value: (name: string) => (name === RAW ? raw : schema.getType(name)) },
  });
}

export function onlyOperation(document: DocumentNode, operation: OperationDefinitionNode): DocumentNode {
  const definitions = document.definitions.filter(
    (definition) => definition === operation || definition.kind === Kind.FRAGMENT_DEFINITION,
  );
  return { kind: Kind.DOCUMENT, definitions };
}

/** Leaves out what `@skip` and `@include` leave out. */
export function withoutConditions(document: DocumentNode, conditions: Variables): DocumentNode {
  const decide = (node: FieldNode | InlineFragmentNode | SelectionNode) => {
    for (const { name, arguments: args } of node.directives ?? []) {
      const value = args?.find((argument) => argument.name.value === 'if')?.value;
      const holds =
        value?.kind === Kind.VARIABLE ? conditions[value.name.value] : value?.kind === Kind.BOOLEAN && value.value;
      if (name.value === 'skip' && holds === true) return null;
      if (name.value === 'include' && holds !== true) return null;
    }
    return node.directives?.length ? { ...node, directives: [] } : undefined;
  };
  return visit(document, { Field: decide, InlineFragment: decide, FragmentSpread: decide });
}

/** Argument values: taken out of the document, and filled in for each run. */
class Literals {
  readonly #schema: GraphQLSchema;
  readonly #own: readonly string[];
  readonly #constants: Record<string, unknown> = {};
  readonly #computed: { readonly name: string; readonly node: ValueNode; readonly type: GraphQLInputType }[] = [];
  /** Nullable variables where an argument takes no null: graphql-js words that error. */
  readonly #required = new Set<string>();
  #count = 0;

  constructor(schema: GraphQLSchema, operation: OperationDefinitionNode) {
    this.#schema = schema;
    this.#own = (operation.variableDefinitions ?? []).map(({ variable }) => variable.name.value);
  }

  hoist(document: DocumentNode): DocumentNode {
    const definitions = document.definitions.map((definition) => {
      if (definition.kind === Kind.OPERATION_DEFINITION) {
        const root = this.#schema.getRootType(definition.operation);
        if (!root) throw new NotCompilable(`no root type for ${definition.operation}`);
        return { ...definition, selectionSet: this.#selections(definition.selectionSet, root.name) };
      }
      if (definition.kind !== Kind.FRAGMENT_DEFINITION) return definition;
      return {
        ...definition,
        selectionSet: this.#selections(definition.selectionSet, definition.typeCondition.name.value),
      };
    });
    if (this.#own.some((name) => name === '__proto__' || name.startsWith(LITERAL)))
      throw new NotCompilable('a variable name');
    const names = [...this.#own, ...Object.keys(this.#constants), ...this.#computed.map(({ name }) => name)];
    const variableDefinitions = names.map((name) => ({
      kind: Kind.VARIABLE_DEFINITION as const,
      variable: variableNode(name),
      type: { kind: Kind.NAMED_TYPE as const, name: { kind: Kind.NAME as const, value: RAW } },
    }));
    return {
      ...document,
      definitions: definitions.map((definition) =>
        definition.kind === Kind.OPERATION_DEFINITION ? { ...definition, variableDefinitions } : definition,
      ),
    };
  }

  fill(variables: Variables): Variables | null {
    for (const name of this.#required) if (variables[name] === undefined || variables[name] === null) return null;
    if (this.#count === 0) return variables;
    const values: Record<string, unknown> = { ...variables, ...this.#constants };
    for (const { name, node, type } of this.#computed) {
      const value = valueFromAST(node, type, variables);
      if (value === undefined) return null;
      values[name] = value;
    }
    return values;
  }

  #selections(set: SelectionSetNode, typeName: string): SelectionSetNode {
    const type = this.#schema.getType(typeName);
    const fields = type && 'getFields' in type ? type.getFields() : {};
    const selections = set.selections.map((selection): SelectionNode => {
      if (selection.kind === Kind.FRAGMENT_SPREAD) return selection;
      if (selection.kind === Kind.INLINE_FRAGMENT) {
        const inner = selection.typeCondition?.name.value ?? typeName;
        return { ...selection, selectionSet: this.#selections(selection.selectionSet, inner) };
      }
      const field = fields[selection.name.value] as GraphQLField<unknown, unknown> | undefined;
      if (!field) return selection;
      const args = selection.arguments?.map((argument) => {
        const definition = field.args.find(({ name }) => name === argument.name.value);
        return definition ? { ...argument, value: this.#argument(argument.value, definition) } : argument;
      });
      return {
        ...selection,
        ...(args && { arguments: args }),
        ...(selection.selectionSet && {
          selectionSet: this.#selections(selection.selectionSet, getNamedType(field.type).name),
        }),
      };
    });
    return { ...set, selections };
  }

  #argument(node: ValueNode, { type }: GraphQLArgument): ValueNode {
    if (node.kind === Kind.VARIABLE) {
      if (isNonNullType(type)) this.#required.add(node.name.value);
      return node;
    }
    const name = `${LITERAL}${this.#count++}`;
    const value = usesVariables(node) ? null : valueFromAST(node, type);
    if (value === undefined) throw new NotCompilable('a literal that its type does not take');
    // A resolver may keep or change the object it is given, so each run makes its own.
    if (node.kind === Kind.NULL || (typeof value !== 'object' && value !== null)) this.#constants[name] = value;
    else this.#computed.push({ name, node, type });
    return { ...variableNode(name), ...(node.loc && { loc: node.loc }) };
  }
}

const variableNode = (name: string) => ({
  kind: Kind.VARIABLE as const,
  name: { kind: Kind.NAME as const, value: name },
});

function usesVariables(node: ASTNode): boolean {
  if (node.kind === Kind.VARIABLE) return true;
  if (node.kind === Kind.LIST) return node.values.some(usesVariables);
  return node.kind === Kind.OBJECT && node.fields.some(({ value }) => usesVariables(value));
}

/** Walks the response as it can be for every concrete type, to find what the compiler would mix up. */
class Shape {
  /** What the response meets. */
  readonly abstractTypes = new Set<GraphQLAbstractType>();
  readonly fields = new Set<GraphQLField<unknown, unknown>>();
  readonly #schema: GraphQLSchema;
  readonly #fragments = new Map<string, FragmentDefinitionNode>();
  /** The generated code knows resolvers by type and field, resolve infos by path, both joined without a separator. */
  readonly #resolvers = new Map<string, string>();
  readonly #paths = new Map<string, string>();
  readonly #maxFields: number;
  #count = 0;

  constructor(schema: GraphQLSchema, document: DocumentNode, maxFields: number) {
    this.#schema = schema;
    this.#maxFields = maxFields;
    for (const definition of document.definitions) {
      if (definition.kind === Kind.FRAGMENT_DEFINITION) this.#fragments.set(definition.name.value, definition);
    }
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
      if (fragment && this.#applies(fragment.typeCondition?.name.value, type)) {
        this.#collect(type, fragment.selectionSet, nodes, visited);
      }
    }
  }

  #applies(condition: string | undefined, type: GraphQLObjectType): boolean {
    if (condition === undefined || condition === type.name) return true;
    const conditional = this.#schema.getType(condition);
    return isAbstractType(conditional) && this.#schema.isSubType(conditional, type);
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

/** The compiler keeps the function it finds on the type: while it compiles, it finds one that is called as graphql-js calls it. */
function withSafeTypeResolvers<T>(types: ReadonlySet<GraphQLAbstractType>, work: () => T): T {
  const originals = [...types].map((type) => [type, type.resolveType] as const);
  for (const [type, original] of originals) {
    if (!original) continue;
    type.resolveType = (value, context, info) => {
      const result = original(value, context, info, type);
      if (typeof result === 'object' && result !== null) {
        throw new Error(`resolveType of ${type.name} must give a name, at once: resolve the type with the object`);
      }
      return result;
    };
  }
  try {
    return work();
  } finally {
    for (const [type, original] of originals) type.resolveType = original;
  }
}
