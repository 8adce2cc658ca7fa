import { ServiceError } from '../../platform/errors.ts';
import type { RequestContext } from '../context.ts';
import type { MaybePromise } from '../maybe-promise.ts';
import type { TextResult } from './compile-to-text.ts';
import type { Variables } from './document.ts';
import { LiveResults } from './live/live-results.ts';
import { ResultSharing } from './live/shared-results.ts';
import { Operation } from './operation.ts';
import type { FoundOperation, Operations } from './operations.ts';
import { type ErrorLog, type PublicResult, publicError, publicResult } from './public-error.ts';
import { readParams } from './request-params.ts';
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
  /** HTTP status if the error codes do not decide it. */
  readonly status?: number;
  /** Whether a valid subscription of an authenticated caller was refused. */
  readonly isRefusedStream?: boolean;
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

/** The part of GraphQL execution that all transports share. Transports only read and write bytes. */
export class Endpoint {
  readonly operations: Operations;
  readonly log: ErrorLog;
  readonly sharing: ResultSharing;
  readonly rates: Rates;

  constructor(operations: Operations, log: ErrorLog, rates: Rates = {}) {
    this.sharing = new ResultSharing(log);
    this.rates = rates;
    this.operations = operations;
    this.log = log;
  }

  /** Executes a query or mutation, without a promise if the execution is synchronous. Never throws or rejects. */
  run(
    body: unknown,
    context: RequestContext,
    { queriesOnly, toText }: RunOptions = {},
    prepared?: FoundOperation,
  ): MaybePromise<GraphqlResponse> {
    const errorContext = { requestId: context.requestId, log: this.log };
    let isMutation = false;
    const response = (executed: TextResult): GraphqlResponse => {
      const { dataText } = executed;
      const result = publicResult(executed, errorContext);
      if (dataText !== undefined || !isTooLarge(result)) return { result, wellFormed: true, dataText };
      return { result: { errors: [publicError(new ResponseTooLarge(isMutation), errorContext)] }, wellFormed: true };
    };
    const refuse = (error: unknown): GraphqlResponse => ({
      result: { errors: [publicError(error, errorContext)] },
      wellFormed: false,
    });
    const execute = (operation: FoundOperation, variables: Variables | undefined): MaybePromise<GraphqlResponse> => {
      if (!(operation instanceof Operation)) return response({ errors: operation });
      if (operation.kind === 'subscription') {
        throw new ServiceError(
          'METHOD_NOT_ALLOWED',
          'Subscriptions are not served by this transport: use a WebSocket, or send Accept: text/event-stream',
        );
      }
      if (queriesOnly && operation.kind !== 'query')
        throw new ServiceError('METHOD_NOT_ALLOWED', 'Mutations are not allowed by GET: use POST');
      isMutation = operation.kind === 'mutation';
      const result = operation.execute(context, variables, toText);
      return result instanceof Promise ? result.then(response).catch(refuse) : response(result);
    };
    try {
      const { query, variables, operationName } = readParams(body);
      const sent = variables ?? undefined;
      const found = prepared ?? this.operations.findFor(context, query, operationName);
      if (!(found instanceof Promise)) return execute(found, sent);
      return found.then((operation) => execute(operation, sent)).catch(refuse);
    } catch (error) {
      return refuse(error);
    }
  }

  /** The response to a request that is refused before its operation starts. */
  refusal(error: unknown, requestId: string): GraphqlResponse {
    const errorContext = { requestId, log: this.log };
    return { result: { errors: [publicError(error, errorContext)] }, wellFormed: false };
  }

  /** Executes any operation. An accepted subscription returns its LiveResults. Never rejects. */
  async start(
    body: unknown,
    context: RequestContext,
    options: StartOptions = {},
  ): Promise<GraphqlResponse | LiveResults> {
    const operation = await this.#prepared(body, context);
    if (!(operation instanceof Operation) || operation.kind !== 'subscription') {
      await options.queryTurn?.();
      return this.run(body, context, options, operation);
    }
    const errorContext = { requestId: context.requestId, log: this.log };
    let isRefusedStream = false;
    try {
      const { variables } = readParams(body);
      isRefusedStream = true;
      this.rates.subscription?.(context);
      const stream = await operation.subscribe(context, variables ?? undefined);
      if ('source' in stream) return new LiveResults(stream, context, this.sharing, errorContext);
      return refusal(publicResult(stream, errorContext), isRefusedStream);
    } catch (error) {
      return refusal({ errors: [publicError(error, errorContext)] }, isRefusedStream);
    }
  }

  #prepared(body: unknown, context: RequestContext): MaybePromise<FoundOperation> | undefined {
    if (typeof body !== 'object' || body === null || !('query' in body) || typeof body.query !== 'string') return;
    const name = 'operationName' in body && typeof body.operationName === 'string' ? body.operationName : null;
    return this.operations.findFor(context, body.query, name);
  }
}

/** Response of a refused subscription. UNAUTHORIZED keeps its status, so it does not count as a refused stream. */
function refusal(result: PublicResult, isStream: boolean): GraphqlResponse {
  const isUnauthorized = result.errors?.some(({ extensions }) => extensions.code === 'UNAUTHORIZED') === true;
  return { result, wellFormed: true, isRefusedStream: isStream && !isUnauthorized };
}
