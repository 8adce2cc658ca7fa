import {
  createSourceEventStream,
  type ExecutionResult,
  executeSync,
  GraphQLError,
  type GraphQLSchema,
  Kind,
  OperationTypeNode,
  visit,
} from 'graphql';
import type { LRUCache } from 'lru-cache';
import type { RequiredRole, Viewer } from '../../platform/auth/viewer.ts';
import { ServiceError } from '../../platform/errors.ts';
import { after, type ValueOrPromise } from '../../platform/value-or-promise.ts';
import type { TextResult } from './compile-to-text.ts';
import { Cost, type OperationCost } from './cost.ts';
import { NO_VARIABLES, type OperationDocument, rootFieldOf, type Variables } from './document.ts';
import type { GraphqlLimits } from './limits.ts';
import type { Preparation, PreparationCaller } from './preparation.ts';
import { type CompiledPrograms, Program } from './program.ts';
import { isRefusal, VariableReader } from './variables.ts';
import { beginWalk, walkProblem } from './walk-limit.ts';

export interface OperationContext extends PreparationCaller {
  readonly viewer: Viewer | null;
}

export interface OperationOptions {
  readonly schema: GraphQLSchema;
  readonly limits: GraphqlLimits;
  readonly introspection: 'signed-in' | 'always';
  readonly introspections: LRUCache<OperationDocument, TextResult>;
  readonly onIntrospectionRefused: (context: OperationContext, error: ServiceError) => void;
  readonly executor: 'auto' | 'js';
  readonly compiled: CompiledPrograms;
  /** `null`: callers are not limited. */
  readonly preparation: Preparation | null;
}

export interface SourceStream {
  readonly operation: Operation;
  /** Streams of one operation with the same key have the same results, for callers with the same permissions. */
  readonly key: string;
  readonly source: AsyncIterable<unknown>;
  /** Executes the operation for one event. Never throws or rejects. Each run needs its own context. */
  run(event: unknown, context: OperationContext): ValueOrPromise<ExecutionResult>;
}

/**
 * One executable operation; `name` is its first root field. Results contain the original errors; `publicResult`
 * converts them for callers.
 */
export class Operation {
  readonly kind: OperationTypeNode;
  readonly name: string;
  readonly #document: OperationDocument;
  readonly #options: OperationOptions;
  readonly #cost: Cost;
  readonly #variables: VariableReader;
  readonly #requiresSignIn: boolean;
  /** Whether callers without credentials may use all root fields, and so learn what their variables must be. */
  readonly #isPublic: boolean;
  readonly #program: Program;
  readonly #textProgram: Program;
  /** Whether the result depends on the document only. */
  readonly #isSchemaOnly: boolean;
  readonly #resumeVariables: Readonly<Record<string, undefined>>;

  constructor(options: OperationOptions, document: OperationDocument, usesIntrospection: boolean) {
    const { schema, limits, introspection, executor, compiled, preparation } = options;
    const [{ operation, variableDefinitions, selectionSet }] = document.definitions;
    this.kind = operation;
    this.name = rootFieldOf(document);
    this.#document = document;
    this.#options = options;
    this.#cost = new Cost(schema, document, limits.cost);
    this.#variables = new VariableReader(schema, variableDefinitions);
    this.#requiresSignIn = introspection === 'signed-in' && usesIntrospection;
    this.#isSchemaOnly =
      variableDefinitions?.length === 0 &&
      selectionSet.selections.every((one) => one.kind === Kind.FIELD && /^__(schema|type)$/.test(one.name.value));
    this.#isPublic = introspection === 'always' || isPublic(schema, document);
    this.#resumeVariables = resumeVariables(document);
    const programs = { compileAfter: executor === 'js' ? Infinity : 1, compiled, preparation };
    this.#program = new Program(schema, document, programs);
    this.#textProgram =
      operation === OperationTypeNode.QUERY
        ? new Program(schema, document, { ...programs, toText: true })
        : this.#program;
  }

  /**
   * Executes a query or mutation. Never throws or rejects. With `toText` the result may have `dataText`, which the
   * caller must write.
   */
  execute(context: OperationContext, variables: Variables = NO_VARIABLES, toText = false): ValueOrPromise<TextResult> {
    const coerced = this.#admit(context, variables);
    if (isRefusal(coerced)) return { errors: coerced };
    if (this.#isSchemaOnly) return this.#introspected(context);
    const program = toText ? this.#textProgram : this.#program;
    return bounded(context, () => program.run(undefined, context, variables, coerced));
  }

  /** The same for all callers. An introspection of the whole schema takes 80 ms, and its text has 800 KB. */
  #introspected(context: OperationContext): TextResult {
    const { schema, introspections, preparation } = this.#options;
    const known = introspections.get(this.#document);
    if (known !== undefined) return known;
    const execute = (): TextResult => {
      const { data = null, errors } = executeSync({ schema, document: this.#document });
      return errors ? { data, errors } : { data, dataText: JSON.stringify(data) };
    };
    let result: TextResult;
    try {
      result = preparation === null ? execute() : preparation.run(context, execute);
    } catch (error) {
      return { errors: [asGraphQLError(error)] };
    }
    if (result.errors) return result;
    introspections.set(this.#document, result);
    return result;
  }

  /** `null` if the variables are refused. */
  costOf(context: OperationContext, variables: Variables = NO_VARIABLES): OperationCost | null {
    const coerced = this.#variables.read(variables);
    return isRefusal(coerced) ? null : this.#cost.of(context, variables, coerced);
  }

  async subscribe(
    context: OperationContext,
    variables: Variables = NO_VARIABLES,
  ): Promise<SourceStream | ExecutionResult> {
    const coerced = this.#admit(context, variables);
    if (isRefusal(coerced)) return { errors: coerced };
    const source = await createSourceEventStream({
      schema: this.#options.schema,
      document: this.#document,
      contextValue: context,
      variableValues: variables,
    }).catch(refuseWithoutField);
    if (!(Symbol.asyncIterator in source)) return source;
    return {
      operation: this,
      key: JSON.stringify({ ...coerced, ...this.#resumeVariables }),
      source,
      run: (event, current) => bounded(current, () => this.#program.run(event, current, variables, coerced)),
    };
  }

  /** Returns the coerced variables, or the errors that refuse the operation. */
  #admit(context: OperationContext, variables: Variables): Variables | readonly GraphQLError[] {
    if (this.#requiresSignIn && context.viewer === null) {
      const refusal = new ServiceError(
        'UNAUTHORIZED',
        'Sign in to read the schema: log in, then send the token in the Authorization header',
      );
      this.#options.onIntrospectionRefused(context, refusal);
      return [asGraphQLError(refusal)];
    }
    const coerced = this.#variables.read(variables);
    if (isRefusal(coerced)) return context.viewer === null && !this.#isPublic ? hiddenErrors() : coerced;
    try {
      this.#cost.check(context, variables, coerced);
    } catch (error) {
      return [asGraphQLError(error)];
    }
    return coerced;
  }
}

/** In place of errors that would describe the schema to a caller without credentials. */
export const hiddenErrors = (): GraphQLError[] => [
  asGraphQLError(new ServiceError('INVALID', 'The operation is not valid: sign in to see why')),
];

function isPublic(schema: GraphQLSchema, { definitions: [{ operation, selectionSet }] }: OperationDocument): boolean {
  const fields = schema.getRootType(operation)?.getFields();
  return selectionSet.selections.every(
    (selection) =>
      selection.kind === Kind.FIELD &&
      fields?.[selection.name.value]?.extensions.requires === ('PUBLIC' satisfies RequiredRole),
  );
}

export function asGraphQLError(error: unknown): GraphQLError {
  if (error instanceof GraphQLError) return error;
  const cause = error instanceof Error ? error : new Error(String(error));
  return new GraphQLError(cause.message, { originalError: cause });
}

/** graphql-js 16 throws a TypeError if @skip or @include excludes the field of a subscription. */
function refuseWithoutField(error: unknown): ExecutionResult {
  if (!(error instanceof TypeError)) throw error;
  const message = '@skip or @include excludes the field of the subscription: select exactly one field';
  return { errors: [new GraphQLError(message)] };
}

/** A mutation beyond the walk limit has been carried out. */
function bounded(
  context: OperationContext,
  run: () => ValueOrPromise<ExecutionResult>,
): ValueOrPromise<ExecutionResult> {
  const checked = (result: ExecutionResult): ExecutionResult => {
    const problem = walkProblem(context);
    return problem === null ? result : { errors: [asGraphQLError(problem)] };
  };
  beginWalk(context);
  return after(run(), checked);
}

/** Variables that only the argument `after` uses, each with the value undefined: results do not depend on them. */
function resumeVariables(document: OperationDocument): Record<string, undefined> {
  const [{ operation, selectionSet }] = document.definitions;
  const names: Record<string, undefined> = {};
  if (operation !== OperationTypeNode.SUBSCRIPTION) return names;
  const afterNodes = new Set<unknown>();
  for (const selection of selectionSet.selections) {
    const [after] =
      selection.kind === Kind.FIELD ? (selection.arguments ?? []).filter(({ name }) => name.value === 'after') : [];
    if (after?.value.kind === Kind.VARIABLE) afterNodes.add(after.value);
  }
  const others = new Set<string>();
  visit(document, {
    VariableDefinition: () => false,
    Variable: (node) => {
      if (afterNodes.has(node)) names[node.name.value] = undefined;
      else others.add(node.name.value);
    },
  });
  for (const name of others) delete names[name];
  return names;
}
