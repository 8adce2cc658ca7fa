import { ServiceError } from '../../platform/errors.ts';
import { after, type ValueOrPromise } from '../../platform/value-or-promise.ts';
import type { RequestContext } from '../context.ts';
import type { TextResult } from './compile-to-text.ts';
import { LiveResults } from './live/live-results.ts';
import { ResultSharing } from './live/shared-results.ts';
import { Operation } from './operation.ts';
import type { FoundOperation, Operations } from './operations.ts';
import { type OperationLog, type PublicResult, publicError, publicResult } from './public-error.ts';
import { type GraphqlParams, readParams } from './request-params.ts';
import { isTooLarge, ResponseTooLarge } from './response-limit.ts';

export interface RequestFacts {
  /** Header fields by name in lower case. `x-request-id` is always set. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly address: string;
  readonly url: string;
  /** Whether the rate limit has counted the request: it reads another page of a REST response. Default: false. */
  readonly isContinued?: boolean;
}

/** Its viewer is null without credentials. Errors: UNAUTHORIZED if they are unknown, expired or revoked. */
export type ContextFor = (request: RequestFacts) => RequestContext | Promise<RequestContext>;

export interface GraphqlResponse {
  readonly result: PublicResult;
  /** Whether the request was a valid GraphQL request of its media type. */
  readonly wellFormed: boolean;
  /** If it is set, `result.data` is not serialised and must not be written. */
  readonly dataText?: string | undefined;
  /** Whether the result may contain a new secret. Default: false. */
  readonly isMutation?: boolean;
  /** HTTP status if the error codes do not decide it. */
  readonly status?: number;
  /** Whether a valid subscription of an authenticated caller was refused. */
  readonly isRefusedStream?: boolean;
}

export function textOf({ result, dataText }: GraphqlResponse): string {
  if (dataText === undefined) return JSON.stringify(result);
  if (result.errors === undefined) return `{"data":${dataText}}`;
  return `{"errors":${JSON.stringify(result.errors)},"data":${dataText}}`;
}

interface RunOptions {
  /** Whether mutations are refused, as for GET. Default: false. */
  readonly queriesOnly?: boolean;
  readonly toText?: boolean;
}

interface StartOptions extends RunOptions {
  /** Resolves when the transport has room for the result of a query or mutation. Called after the preparation. */
  readonly queryTurn?: () => Promise<void>;
}

export interface Rates {
  body?(caller: RequestContext, bytes: number): void;
  subscription?(caller: RequestContext): void;
}

const NO_STREAM = 'Subscriptions are not served by this transport: use a WebSocket, or send Accept: text/event-stream';
const QUERIES_ONLY = 'Mutations are not allowed by GET: use POST';

/** The part of GraphQL execution that all transports share. Transports only read and write bytes. */
export class Endpoint {
  readonly operations: Operations;
  readonly log: OperationLog;
  readonly sharing: ResultSharing;
  readonly rates: Rates;

  constructor(operations: Operations, log: OperationLog, rates: Rates = {}) {
    this.sharing = new ResultSharing(log);
    this.rates = rates;
    this.operations = operations;
    this.log = log;
  }

  /** Executes a query or mutation, without a promise if the execution is synchronous. Never throws or rejects. */
  run(body: unknown, context: RequestContext, options: RunOptions = {}): ValueOrPromise<GraphqlResponse> {
    const refuse = (error: unknown) => this.refusal(error, context.requestId);
    try {
      const params = readParams(body);
      const found = this.operations.findFor(context, params.query, params.operationName);
      const execute = (operation: FoundOperation) => this.#execute(operation, params, context, options);
      const response = found instanceof Promise ? found.then(execute) : execute(found);
      return response instanceof Promise ? response.catch(refuse) : response;
    } catch (error) {
      return refuse(error);
    }
  }

  /** Executes any operation. An accepted subscription returns its LiveResults. Never rejects. */
  async start(
    body: unknown,
    context: RequestContext,
    options: StartOptions = {},
  ): Promise<GraphqlResponse | LiveResults> {
    try {
      const params = readParams(body);
      const operation = await this.operations.findFor(context, params.query, params.operationName);
      if (operation instanceof Operation && operation.kind === 'subscription') {
        return await this.#subscribe(operation, params, context);
      }
      await options.queryTurn?.();
      return await this.#execute(operation, params, context, options);
    } catch (error) {
      return this.refusal(error, context.requestId);
    }
  }

  /** The response to a request that is refused before its operation starts. */
  refusal(error: unknown, requestId: string): GraphqlResponse {
    return { result: { errors: [publicError(error, { requestId, log: this.log })] }, wellFormed: false };
  }

  #execute(
    operation: FoundOperation,
    { variables, extensions }: GraphqlParams,
    context: RequestContext,
    { queriesOnly, toText }: RunOptions,
  ): ValueOrPromise<GraphqlResponse> {
    const errorContext = { requestId: context.requestId, log: this.log };
    if (!(operation instanceof Operation)) {
      return { result: publicResult({ errors: operation }, errorContext), wellFormed: true };
    }
    const { kind } = operation;
    if (kind === 'subscription') throw new ServiceError('METHOD_NOT_ALLOWED', NO_STREAM);
    if (queriesOnly && kind !== 'query') throw new ServiceError('METHOD_NOT_ALLOWED', QUERIES_ONLY);
    const asksCost = extensions?.cost === true;
    const isText = toText && !asksCost;
    const start = performance.now();
    return after(operation.execute(context, variables ?? undefined, isText), (executed: TextResult) => {
      this.log.ran?.(operation, performance.now() - start, context);
      const { dataText } = executed;
      const plain = publicResult(executed, errorContext);
      // Without data the operation may have been refused because of its arguments, which have no cost then.
      const cost = asksCost && plain.data ? operation.costOf(context, variables ?? undefined) : null;
      const result = cost === null ? plain : { ...plain, extensions: { cost } };
      if (dataText !== undefined || !isTooLarge(result))
        return { result, wellFormed: true, dataText, isMutation: kind === 'mutation' };
      const error = publicError(new ResponseTooLarge(kind === 'mutation'), errorContext);
      return { result: { errors: [error] }, wellFormed: true };
    });
  }

  async #subscribe(
    operation: Operation,
    { variables }: GraphqlParams,
    context: RequestContext,
  ): Promise<GraphqlResponse | LiveResults> {
    const errorContext = { requestId: context.requestId, log: this.log };
    let result: PublicResult;
    try {
      this.rates.subscription?.(context);
      const start = performance.now();
      const stream = await operation.subscribe(context, variables ?? undefined);
      this.log.ran?.(operation, performance.now() - start, context);
      if ('source' in stream) return new LiveResults(stream, context, this.sharing, errorContext);
      result = publicResult(stream, errorContext);
    } catch (error) {
      result = { errors: [publicError(error, errorContext)] };
    }
    // UNAUTHORIZED keeps its status.
    const isUnauthorized = result.errors?.some(({ extensions }) => extensions.code === 'UNAUTHORIZED') === true;
    return { result, wellFormed: true, isRefusedStream: !isUnauthorized };
  }
}
