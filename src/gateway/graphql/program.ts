import { type ExecutionResult, execute, type GraphQLSchema } from 'graphql';
import type { LRUCache } from 'lru-cache';
import type { ValueOrPromise } from '../../platform/value-or-promise.ts';
import { type CompiledRun, compile } from './compile.ts';
import { compileToText } from './compile-to-text.ts';
import { conditionVariables, NotCompilable, type OperationDocument, type Variables } from './document.ts';
import type { Preparation, PreparationCaller } from './preparation.ts';

/** Cache of compiled programs of all operations. The value evicts the program from its operation. */
export type CompiledPrograms = LRUCache<CompiledRun, () => void>;

interface ProgramOptions {
  /** Number of runs by graphql-js before the first compilation. */
  readonly compileAfter: number;
  readonly hasRawLeaves?: boolean;
  /** Whether compiled runs return TextResults. Only for queries. Default: false. */
  readonly toText?: boolean;
  readonly compiled?: CompiledPrograms;
  readonly preparation?: Preparation | null;
}

/** Combinations of @skip and @include that are compiled for one operation. graphql-js executes the others. */
const MAX_VARIANTS = 16;

/** Both executors of one operation: compiled programs, and graphql-js as the fallback. */
export class Program {
  readonly #schema: GraphQLSchema;
  readonly #document: OperationDocument;
  readonly #options: ProgramOptions;
  readonly #variants = new Map<string, CompiledRun>();
  #conditions: readonly string[] | null = null;
  #uses = 0;
  #isNotCompilable = false;

  constructor(schema: GraphQLSchema, document: OperationDocument, options: ProgramOptions) {
    this.#schema = schema;
    this.#document = document;
    this.#options = options;
  }

  run(root: unknown, context: unknown, sent: Variables, coerced: Variables): ValueOrPromise<ExecutionResult> {
    const result = this.#compiled(context, coerced)?.(root, context, coerced);
    if (result instanceof Promise) return result.then((known) => known ?? this.#interpret(root, context, sent));
    return result ?? this.#interpret(root, context, sent);
  }

  compile(coerced: Variables): CompiledRun {
    return this.#cached(coerced) ?? this.#compile(coerced);
  }

  #conditionNames(): readonly string[] {
    this.#conditions ??= conditionVariables(this.#document);
    return this.#conditions;
  }

  #keyOf(coerced: Variables): string {
    return this.#conditionNames()
      .map((name) => (coerced[name] === true ? '1' : '0'))
      .join('');
  }

  #cached(coerced: Variables): CompiledRun | undefined {
    const run = this.#variants.get(this.#keyOf(coerced));
    if (run) this.#options.compiled?.get(run);
    return run;
  }

  #compile(coerced: Variables): CompiledRun {
    const key = this.#keyOf(coerced);
    if (this.#variants.size >= MAX_VARIANTS) throw new NotCompilable('too many combinations of conditions');
    const run = this.#options.toText
      ? compileToText(this.#schema, this.#document, coerced)
      : compile(this.#schema, this.#document, coerced, this.#options.hasRawLeaves);
    this.#variants.set(key, run);
    this.#options.compiled?.set(run, () => this.#variants.delete(key));
    return run;
  }

  #compiled(context: unknown, coerced: Variables): CompiledRun | null {
    if (this.#isNotCompilable) return null;
    if (this.#uses < this.#options.compileAfter) {
      this.#uses += 1;
      return null;
    }
    // A variable with a default value may be null where `if` must not be. graphql-js reports it at the right path.
    if (this.#conditionNames().some((name) => coerced[name] === null)) return null;
    const cached = this.#cached(coerced);
    if (cached) return cached;
    const { preparation } = this.#options;
    const compile = () => this.#compile(coerced);
    try {
      // The context of an operation with limits is that of its caller.
      return preparation ? preparation.compile(context as PreparationCaller, compile) : compile();
    } catch {
      // graphql-jit 0.8.9 throws errors of many classes for unsupported documents. Callers need not see them.
      this.#isNotCompilable = true;
      return null;
    }
  }

  #interpret(rootValue: unknown, contextValue: unknown, variableValues: Variables): ValueOrPromise<ExecutionResult> {
    return execute({
      schema: this.#schema,
      document: this.#document,
      rootValue,
      contextValue,
      variableValues,
    }) as ValueOrPromise<ExecutionResult>;
  }
}
