/**
 * Documents, ready to run: parsed, checked against the limits, validated and, from their second use on, compiled.
 *
 * The first use runs by graphql-js, so that a stream of documents that never come back costs no compilation. A document that
 * the compiler refuses stays with graphql-js; both answer the same. Refused documents are kept too: sending one again
 * costs a look-up.
 *
 * Bounds: MAX_COMPILED programs of all documents together, the least recently used are compiled anew when they come back;
 * `maxDocuments` entries and `MAX_CACHED_TEXT` characters of text, the least recently used go first; a longer
 * document is never kept.
 */
import {
  createSourceEventStream,
  type DocumentNode,
  type ExecutionResult,
  execute,
  GraphQLError,
  type GraphQLSchema,
  Kind,
  type OperationDefinitionNode,
  OperationTypeNode,
  parse,
  specifiedRules,
  validate,
  visit,
} from 'graphql';
import { LRUCache } from 'lru-cache';
import type { Viewer } from '../../platform/auth/viewer.ts';
import { ServiceError } from '../../platform/errors.ts';
import {
  type CompiledRun,
  type CompileOptions,
  compile,
  conditionVariables,
  NotCompilable,
  operationOf,
  type Variables,
} from './compile.ts';
import { asksForSchema, Cost, checkShape, DEFAULT_LIMITS, type GraphqlLimits } from './limits.ts';
import { Preparation, type PreparationCaller } from './preparation.ts';
import { compileToText, type TextResult } from './text-run.ts';
import { VariableReader } from './variables.ts';
import { beginWalk, walkProblem } from './walk-limit.ts';
import { guardLists } from './whole-lists.ts';

export interface OperationsOptions {
  /** Its list resolvers are changed in place: see whole-lists.ts. */
  readonly schema: GraphQLSchema;
  readonly limits?: GraphqlLimits;
  /** Who may ask for the schema. Default: signed-in viewers. */
  readonly introspection?: 'signed-in' | 'always';
  /** Told of each refusal of it. */
  readonly onIntrospectionRefused?: (context: OperationContext, error: ServiceError) => void;
  /** Default 1,000. */
  readonly maxDocuments?: number;
  /**
   * Milliseconds in each second that one caller may spend on documents which are not cached. Infinity: not limited. Default: see
   * `Preparation`.
   */
  readonly preparationMsPerSecond?: number | undefined;
  /** `js` never compiles: for comparing the executors. Default `auto`. */
  readonly executor?: 'auto' | 'js';
}

/** What the operations themselves read of a request's context. */
export interface OperationContext extends PreparationCaller {
  readonly viewer: Viewer | null;
}

/** Programs in use, each with what makes its operation forget it. */
type CompiledPrograms = LRUCache<CompiledRun, () => void>;

interface OperationsParts extends Required<Omit<OperationsOptions, 'maxDocuments' | 'preparationMsPerSecond'>> {
  readonly compiled: CompiledPrograms;
  /** Null: callers are not limited. */
  readonly preparation: Preparation | null;
}

/** The operation, or the errors that refuse it. */
export type FoundOperation = Operation | readonly GraphQLError[];

/** A subscription that was let in. */
export interface SourceStream {
  readonly operation: Operation;
  /** Streams of one operation with the same key make the same of an event, for callers with the same rights. */
  readonly key: string;
  readonly source: AsyncIterable<unknown>;
  /** Never throws, never rejects. Each run needs a context of its own. */
  run(event: unknown, context: OperationContext): MaybePromise<ExecutionResult>;
}

export type MaybePromise<T> = T | Promise<T>;

const MAX_CACHED_TEXT = 4_000_000;
const MAX_DOCUMENT_TEXT = 100_000;
/** Combinations of @skip and @include that are compiled for one operation; others stay with graphql-js. */
const MAX_VARIANTS = 16;
/** A program takes some 300 kB, up to some MB: one for each variant of each document would be more than there is. */
const MAX_COMPILED = 256;
const NO_VARIABLES: Variables = Object.freeze({});

export class Operations {
  readonly #options: OperationsParts;
  readonly #documents: LRUCache<string, PreparedDocument>;

  constructor({
    schema,
    limits = DEFAULT_LIMITS,
    introspection = 'signed-in',
    onIntrospectionRefused = () => undefined,
    maxDocuments = 1_000,
    executor = 'auto',
    preparationMsPerSecond,
  }: OperationsOptions) {
    guardLists(schema);
    const compiled: CompiledPrograms = new LRUCache({ max: MAX_COMPILED, dispose: (forget) => forget() });
    this.#options = {
      schema,
      limits,
      introspection,
      onIntrospectionRefused,
      executor,
      compiled,
      preparation: preparationMsPerSecond === Infinity ? null : new Preparation(preparationMsPerSecond),
    };
    this.#documents = new LRUCache({
      max: maxDocuments,
      maxSize: MAX_CACHED_TEXT,
      maxEntrySize: MAX_DOCUMENT_TEXT,
      sizeCalculation: (_, text) => text.length + 1,
    });
  }

  get schema(): GraphQLSchema {
    return this.#options.schema;
  }

  /** For a document whose caller is not limited. */
  find(text: string, operationName: string | null = null): FoundOperation {
    return this.#known(text, operationName) ?? this.#prepare(text, operationName);
  }

  /** Returns a cached operation at once. Others are prepared at the expense of the caller, which may refuse them: RATE_LIMITED. */
  findFor(caller: PreparationCaller, text: string, operationName: string | null = null): MaybePromise<FoundOperation> {
    const known = () => this.#known(text, operationName);
    const prepare = () => this.#prepare(text, operationName);
    const { preparation } = this.#options;
    const cached = known();
    if (cached !== undefined || preparation === null) return cached ?? prepare();
    return preparation.prepare(caller, known, prepare).catch((error) => [asGraphQLError(error)]);
  }

  #known(text: string, name: string | null): FoundOperation | undefined {
    return this.#documents.get(text)?.known(name);
  }

  #prepare(text: string, name: string | null): FoundOperation {
    let document = this.#documents.get(text);
    if (!document) {
      document = new PreparedDocument(this.#options, text);
      this.#documents.set(text, document);
    }
    return document.operation(name);
  }
}

class PreparedDocument {
  readonly #options: OperationsParts;
  readonly #document: DocumentNode | null;
  readonly #errors: readonly GraphQLError[];
  readonly #operations = new Map<OperationDefinitionNode, Operation>();
  #only: Operation | null = null;

  constructor(options: OperationsParts, text: string) {
    this.#options = options;
    const prepared = prepare(options, text);
    this.#document = 'kind' in prepared ? prepared : null;
    this.#errors = 'kind' in prepared ? [] : prepared;
  }

  /** Undefined: the operation is to be prepared. */
  known(name: string | null): FoundOperation | undefined {
    if (name === null && this.#only) return this.#only;
    if (!this.#document) return this.#errors;
    const node = name === null ? null : operationOf(this.#document, name);
    return node ? this.#operations.get(node) : undefined;
  }

  operation(name: string | null): FoundOperation {
    if (!this.#document) return this.#errors;
    const node = operationOf(this.#document, name);
    if (!node) {
      const words =
        name === null
          ? 'Must provide operation name if query contains multiple operations.'
          : `Unknown operation named "${name}".`;
      return [new GraphQLError(words)];
    }
    let operation = this.#operations.get(node);
    if (!operation) {
      operation = new Operation(this.#options, this.#document, node);
      this.#operations.set(node, operation);
    }
    if (name === null) this.#only = operation;
    return operation;
  }
}

function prepare({ schema, limits }: OperationsParts, text: string): DocumentNode | readonly GraphQLError[] {
  try {
    const document = parse(text, { maxTokens: limits.tokens });
    checkShape(document, limits);
    const errors = validate(schema, document, specifiedRules, { maxErrors: 10 });
    return errors.length === 0 ? document : errors;
  } catch (error) {
    return [asGraphQLError(error)];
  }
}

function asGraphQLError(error: unknown): GraphQLError {
  if (error instanceof GraphQLError) return error;
  const cause = error instanceof Error ? error : new Error(String(error));
  return new GraphQLError(cause.message, { originalError: cause });
}

/** One executable operation. Results hold the errors as they were thrown: `publicResult` makes them fit for a caller. */
export class Operation {
  readonly kind: OperationTypeNode;
  readonly name: string | null;
  readonly document: DocumentNode;
  readonly #options: OperationsParts;
  readonly #cost: Cost;
  readonly #variables: VariableReader;
  readonly #guarded: boolean;
  readonly #program: Program;
  readonly #toText: Program;
  /** Variables that only say where a subscription begins, each undefined: results do not depend on them. */
  readonly #beginnings: Readonly<Record<string, undefined>>;

  constructor(options: OperationsParts, document: DocumentNode, node: OperationDefinitionNode) {
    this.kind = node.operation;
    this.name = node.name?.value ?? null;
    this.document = document;
    this.#options = options;
    this.#cost = new Cost(options.schema, document, node, options.limits.cost);
    this.#variables = new VariableReader(options.schema, node.variableDefinitions);
    this.#guarded = options.introspection === 'signed-in' && asksForSchema(document);
    const { executor, compiled, preparation } = options;
    const programs = { compileAfter: executor === 'js' ? Infinity : 1, compiled, preparation };
    this.#beginnings = beginningsOf(document, node);
    this.#program = new Program(options.schema, document, node, programs);
    this.#toText =
      node.operation === OperationTypeNode.QUERY
        ? new Program(options.schema, document, node, { ...programs, toText: true })
        : this.#program;
  }

  /** Queries and mutations. Never throws, never rejects. */
  execute(context: OperationContext, variables: Variables = NO_VARIABLES): MaybePromise<ExecutionResult> {
    const coerced = this.#admit(context, variables);
    if (isRefusal(coerced)) return { errors: coerced };
    return bounded(context, () => this.#program.run(undefined, context, variables, coerced));
  }

  /** Like `execute`, for callers who write the result as JSON: where they find the text of `data`, they have to take that. */
  executeToText(context: OperationContext, variables: Variables = NO_VARIABLES): MaybePromise<TextResult> {
    const coerced = this.#admit(context, variables);
    if (isRefusal(coerced)) return { errors: coerced };
    return bounded(context, () => this.#toText.run(undefined, context, variables, coerced));
  }

  /** The events and how results are made of them, or the result that refuses it. */
  async subscribe(
    context: OperationContext,
    variables: Variables = NO_VARIABLES,
  ): Promise<SourceStream | ExecutionResult> {
    const coerced = this.#admit(context, variables);
    if (isRefusal(coerced)) return { errors: coerced };
    const source = await createSourceEventStream({
      schema: this.#options.schema,
      document: this.document,
      contextValue: context,
      variableValues: variables,
      operationName: this.name,
    }).catch(refuseNothing);
    if (!(Symbol.asyncIterator in source)) return source;
    const sent = variables;
    const values = coerced;
    return {
      operation: this,
      key: JSON.stringify({ ...values, ...this.#beginnings }),
      source,
      run: (event, current) => bounded(current, () => this.#program.run(event, current, sent, values)),
    };
  }

  #admit(context: OperationContext, variables: Variables): Variables | readonly GraphQLError[] {
    if (this.#guarded && context.viewer === null) {
      const refusal = new ServiceError(
        'UNAUTHORIZED',
        'Sign in to read the schema: log in, then send the token in the Authorization header',
      );
      this.#options.onIntrospectionRefused(context, refusal);
      return [asGraphQLError(refusal)];
    }
    const coerced = this.#variables.read(variables);
    if (isRefusal(coerced)) return coerced;
    try {
      this.#cost.check(context, variables, coerced);
    } catch (error) {
      // An argument that the cost cannot be calculated from refuses all: nobody knows what the rest would cost.
      return [asGraphQLError(error)];
    }
    return coerced;
  }
}

/** graphql-js falls over a subscription whose field is left out by @skip or @include; what resolvers throw comes as GraphQLError. */
function refuseNothing(error: unknown): ExecutionResult {
  if (!(error instanceof TypeError)) throw error;
  return { errors: [new GraphQLError('A subscription must ask for one field that is not left out.')] };
}

/** A run, or what refuses it afterwards. A mutation has happened then. */
function bounded(context: OperationContext, run: () => MaybePromise<ExecutionResult>): MaybePromise<ExecutionResult> {
  const checked = (result: ExecutionResult): ExecutionResult => {
    const problem = walkProblem(context);
    return problem === null ? result : { errors: [asGraphQLError(problem)] };
  };
  beginWalk(context);
  const result = run();
  return result instanceof Promise ? result.then(checked) : checked(result);
}

/** How leaves of the result are written; without any, as graphql-js does. */
export type LeafOptions = Pick<CompileOptions, 'serializers' | 'plainScalars'>;

interface ProgramOptions {
  /** Runs by graphql-js before the first compilation. */
  readonly compileAfter: number;
  readonly leaves?: LeafOptions;
  /** Compiled runs give TextResults: for queries. */
  readonly toText?: boolean;
  /** None: kept as long as the program. */
  readonly compiled?: CompiledPrograms;
  /** What callers may spend on compilation. Default: not limited. */
  readonly preparation?: Preparation | null;
}

/** The two executors behind one operation. */
class Program {
  readonly #schema: GraphQLSchema;
  readonly #document: DocumentNode;
  readonly #node: OperationDefinitionNode;
  readonly #options: ProgramOptions;
  readonly #variants = new Map<string, CompiledRun>();
  #conditions: readonly string[] | null = null;
  #uses = 0;
  #refused = false;

  constructor(schema: GraphQLSchema, document: DocumentNode, node: OperationDefinitionNode, options: ProgramOptions) {
    this.#schema = schema;
    this.#document = document;
    this.#node = node;
    this.#options = options;
  }

  run(root: unknown, context: unknown, sent: Variables, coerced: Variables): MaybePromise<ExecutionResult> {
    const result = this.#compiled(context, coerced)?.(root, context, coerced);
    if (result instanceof Promise) return result.then((known) => known ?? this.#interpret(root, context, sent));
    return result ?? this.#interpret(root, context, sent);
  }

  /** Compiles the variant for these variables. Throws NotCompilable. */
  compile(coerced: Variables): CompiledRun {
    return this.#known(coerced) ?? this.#compile(coerced);
  }

  #keyOf(coerced: Variables): string {
    this.#conditions ??= conditionVariables(this.#document);
    return this.#conditions.map((name) => (coerced[name] === true ? '1' : '0')).join('');
  }

  #known(coerced: Variables): CompiledRun | undefined {
    const known = this.#variants.get(this.#keyOf(coerced));
    // Marks it as used.
    if (known) this.#options.compiled?.get(known);
    return known;
  }

  #compile(coerced: Variables): CompiledRun {
    const key = this.#keyOf(coerced);
    if (this.#variants.size >= MAX_VARIANTS) throw new NotCompilable('too many combinations of conditions');
    const run = this.#options.toText
      ? compileToText(this.#schema, this.#document, this.#node, coerced)
      : compile(this.#schema, this.#document, this.#node, coerced, this.#options.leaves);
    this.#variants.set(key, run);
    this.#options.compiled?.set(run, () => this.#variants.delete(key));
    return run;
  }

  #compiled(context: unknown, coerced: Variables): CompiledRun | null {
    if (this.#refused) return null;
    if (this.#uses < this.#options.compileAfter) {
      this.#uses += 1;
      return null;
    }
    const known = this.#known(coerced);
    if (known) return known;
    const { preparation } = this.#options;
    const compile = () => this.#compile(coerced);
    try {
      // The context of a limited operation is that of its caller.
      return preparation ? preparation.compile(context as PreparationCaller, compile) : compile();
    } catch {
      // The compiler throws many kinds of errors at what it does not know; none of them is news to a caller.
      this.#refused = true;
      return null;
    }
  }

  #interpret(rootValue: unknown, contextValue: unknown, variableValues: Variables): MaybePromise<ExecutionResult> {
    return execute({
      schema: this.#schema,
      document: this.#document,
      rootValue,
      contextValue,
      variableValues,
      operationName: this.#node.name?.value ?? null,
    }) as MaybePromise<ExecutionResult>;
  }
}

/** Variables that nothing but `after` of the subscription's own field uses. */
function beginningsOf(
  document: DocumentNode,
  { operation, selectionSet }: OperationDefinitionNode,
): Record<string, undefined> {
  const names: Record<string, undefined> = {};
  if (operation !== OperationTypeNode.SUBSCRIPTION) return names;
  const begins = new Set<unknown>();
  for (const selection of selectionSet.selections) {
    const [after] =
      selection.kind === Kind.FIELD ? (selection.arguments ?? []).filter(({ name }) => name.value === 'after') : [];
    if (after?.value.kind === Kind.VARIABLE) begins.add(after.value);
  }
  const others = new Set<string>();
  visit(document, {
    VariableDefinition: () => false,
    Variable: (node) => {
      if (begins.has(node)) names[node.name.value] = undefined;
      else others.add(node.name.value);
    },
  });
  for (const name of others) delete names[name];
  return names;
}

const isRefusal = (read: Variables | readonly GraphQLError[]): read is readonly GraphQLError[] => Array.isArray(read);

export interface OwnOperationOptions extends LeafOptions {
  /** Maximum number of entries of lists and objects in the variables. Default: as for callers. */
  readonly maxVariableEntries?: number;
}

export interface CompiledOperation {
  readonly execute: (context: unknown, variables?: Variables) => MaybePromise<ExecutionResult>;
  /** Does now what the first execution would do. Throws NotCompilable where graphql-js would have to serve. */
  readonly compile: () => void;
}

/**
 * An operation of our own, without limits; compiled when it is executed first, since many never are. Throws an Error that tells what is
 * wrong with the document.
 */
export function compileOperation(
  schema: GraphQLSchema,
  text: string,
  { maxVariableEntries, ...leaves }: OwnOperationOptions = {},
): CompiledOperation {
  guardLists(schema);
  const document = parse(text);
  const [invalid] = validate(schema, document);
  if (invalid) throw invalid;
  const node = operationOf(document);
  if (!node || node.operation === OperationTypeNode.SUBSCRIPTION) throw new Error('One query or mutation is expected');
  const program = new Program(schema, document, node, { compileAfter: 0, leaves });
  const reader = new VariableReader(schema, node.variableDefinitions, maxVariableEntries);
  return {
    compile: () => void program.compile(NO_VARIABLES),
    execute(context, variables = NO_VARIABLES) {
      const coerced = reader.read(variables);
      if (isRefusal(coerced)) return { errors: coerced };
      return program.run(undefined, context, variables, coerced);
    },
  };
}
