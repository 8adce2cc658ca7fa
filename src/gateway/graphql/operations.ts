/**
 * Cache of prepared documents: parsed, checked against the limits, validated and, from their second use on, compiled.
 * Documents that never repeat cost no compilation. Refused documents are cached as well. The least recently used are
 * evicted.
 */
import { type DocumentNode, GraphQLError, type GraphQLSchema, parse, specifiedRules, validate } from 'graphql';
import { LRUCache } from 'lru-cache';
import type { ValueOrPromise } from '../../platform/value-or-promise.ts';
import { operationDocument } from './document.ts';
import { checkShape, DEFAULT_LIMITS, usesIntrospection } from './limits.ts';
import { asGraphQLError, hiddenErrors, Operation, type OperationOptions } from './operation.ts';
import { Preparation, type PreparationCaller } from './preparation.ts';
import type { CompiledPrograms } from './program.ts';
import { guardLists } from './whole-lists.ts';

type SharedOptions = 'limits' | 'introspection' | 'onIntrospectionRefused' | 'executor';

/** `executor`: `js` never compiles and serves to compare the executors. Default: `auto`. */
interface OperationsOptions extends Partial<Pick<OperationOptions, SharedOptions>> {
  /** Its list resolvers are changed in place, see whole-lists.ts. */
  readonly schema: GraphQLSchema;
  /** Of one caller, for documents that are not cached. `Infinity`: no limit. Default: see `Preparation`. */
  readonly preparationMsPerSecond?: number | undefined;
}

export type FoundOperation = Operation | RefusedDocument;

/**
 * `namesSchema`: the errors may name what the schema has. `hidesSuggestions`: they have no “Did you mean …?”, which
 * callers without credentials must not measure by its time either.
 */
type RefusedDocument = readonly GraphQLError[] & {
  readonly namesSchema?: boolean;
  readonly hidesSuggestions?: boolean;
};

const MAX_DOCUMENTS = 1_000;
const MAX_CACHED_TEXT = 4_000_000;
const MAX_DOCUMENT_TEXT = 100_000;
/** A program takes about 300 kB, some take several MB. */
const MAX_COMPILED = 256;
/** A result takes about 4 MB. */
const MAX_INTROSPECTIONS = 8;

export class Operations {
  readonly #options: OperationOptions;
  readonly #documents: LRUCache<string, PreparedDocument>;

  constructor({
    schema,
    limits = DEFAULT_LIMITS,
    introspection = 'signed-in',
    onIntrospectionRefused = () => undefined,
    executor = 'auto',
    preparationMsPerSecond,
  }: OperationsOptions) {
    guardLists(schema);
    const compiled: CompiledPrograms = new LRUCache({ max: MAX_COMPILED, dispose: (evict) => evict() });
    this.#options = {
      schema,
      limits,
      introspection,
      introspections: new LRUCache({ max: MAX_INTROSPECTIONS }),
      onIntrospectionRefused,
      executor,
      compiled,
      preparation: preparationMsPerSecond === Infinity ? null : new Preparation(preparationMsPerSecond),
    };
    this.#documents = new LRUCache({
      max: MAX_DOCUMENTS,
      maxSize: MAX_CACHED_TEXT,
      maxEntrySize: MAX_DOCUMENT_TEXT,
      sizeCalculation: (_, text) => text.length + 1,
    });
  }

  get schema(): GraphQLSchema {
    return this.#options.schema;
  }

  findFor(
    caller: PreparationCaller,
    text: string,
    operationName: string | null = null,
  ): ValueOrPromise<FoundOperation> {
    const { preparation } = this.#options;
    // Callers without credentials do not learn the schema by guesses.
    const isHidden = caller.viewer === null && this.#options.introspection === 'signed-in';
    const cached = () => this.#documentOf(text, isHidden)?.cached(operationName);
    const prepare = () => this.#prepare(text, operationName, isHidden);
    const shown = (found: FoundOperation) =>
      isHidden && !(found instanceof Operation) && found.namesSchema ? hiddenErrors() : found;
    const found = cached();
    if (found !== undefined || preparation === null) return shown(found ?? prepare());
    return preparation.prepare(caller, cached, prepare).then(shown, (error) => [asGraphQLError(error)]);
  }

  /** A caller with credentials gets the suggestions that another caller did not need. */
  #documentOf(text: string, isHidden: boolean): PreparedDocument | undefined {
    const document = this.#documents.get(text);
    return document?.hidesSuggestions && !isHidden ? undefined : document;
  }

  #prepare(text: string, name: string | null, isHidden: boolean): FoundOperation {
    let document = this.#documentOf(text, isHidden);
    if (!document) {
      document = new PreparedDocument(this.#options, text, isHidden);
      this.#documents.set(text, document);
    }
    return document.operation(name);
  }
}

class PreparedDocument {
  readonly #options: OperationOptions;
  readonly #prepared: DocumentNode | RefusedDocument;
  readonly #usesIntrospection: boolean;
  /** By the name in requests. */
  readonly #operations = new Map<string | null, Operation>();

  constructor(options: OperationOptions, text: string, hideSuggestions: boolean) {
    this.#options = options;
    this.#prepared = prepare(options, text, hideSuggestions);
    this.#usesIntrospection = 'kind' in this.#prepared && usesIntrospection(this.#prepared);
  }

  get hidesSuggestions(): boolean {
    return !('kind' in this.#prepared) && this.#prepared.hidesSuggestions === true;
  }

  /** `undefined` if the operation is not prepared yet. */
  cached(name: string | null): FoundOperation | undefined {
    return 'kind' in this.#prepared ? this.#operations.get(name) : this.#prepared;
  }

  operation(name: string | null): FoundOperation {
    if (!('kind' in this.#prepared)) return this.#prepared;
    const document = operationDocument(this.#prepared, name);
    if (!document) {
      const message =
        name === null
          ? 'Must provide operation name if query contains multiple operations.'
          : `Unknown operation named "${name}".`;
      return [new GraphQLError(message)];
    }
    const ownName = document.definitions[0].name?.value ?? null;
    const known = this.#operations.get(ownName);
    const operation = known ?? new Operation(this.#options, document, this.#usesIntrospection);
    this.#operations.set(ownName, operation).set(name, operation);
    return operation;
  }
}

function prepare(
  { schema, limits }: OperationOptions,
  text: string,
  hideSuggestions: boolean,
): DocumentNode | RefusedDocument {
  try {
    const document = parse(text, { maxTokens: limits.tokens });
    checkShape(document, limits);
    const errors = validate(schema, document, specifiedRules, { maxErrors: 10, hideSuggestions });
    return errors.length === 0
      ? document
      : Object.assign(errors, { namesSchema: true, hidesSuggestions: hideSuggestions });
  } catch (error) {
    return [asGraphQLError(error)];
  }
}
