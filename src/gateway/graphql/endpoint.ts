/**
 * What every road into the graph shares (the short road, Yoga, event streams, WebSocket): from parameters and a context to an answer that
 * a caller may read. The roads only differ in how bytes come and go.
 */

import { ServiceError } from '../../platform/errors.ts';
import type { RequestContext } from '../context.ts';
import type { Variables } from './compile.ts';
import { LiveResults } from './live/live-results.ts';
import { Sharing } from './live/shared-results.ts';
import { type FoundOperation, type MaybePromise, Operation, type Operations } from './operations.ts';
import { type ErrorLog, type PublicResult, publicError, publicResult } from './public-error.ts';
import { isTooLarge, ResponseTooLarge } from './response-limit.ts';
import type { TextResult } from './text-run.ts';

export interface RequestFacts {
  /** Names in lower case; `x-request-id` is always there. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** Address of the caller. */
  readonly address: string;
  /** Path and query. */
  readonly url: string;
  /** Whether it belongs to a request that was counted before, such as a further page of its response. Default: false. */
  readonly isContinued?: boolean;
}

/** Throws UNAUTHORIZED for credentials that are unknown, expired or revoked. No credentials: a context without viewer. */
export type ContextFor = (request: RequestFacts) => RequestContext | Promise<RequestContext>;

export interface GraphqlParams {
  readonly query: string;
  readonly variables?: Variables | null;
  readonly operationName?: string | null;
}

export interface Answer {
  readonly result: PublicResult;
  /** False: not a GraphQL request at all, whatever its media type. */
  readonly wellFormed: boolean;
  /** `result.data` as JSON. Where it is there, `result` itself must not be written. */
  readonly dataText?: string | undefined;
  /** True: of a subscription that was asked for as it should be, by somebody who may ask, and refused. */
  readonly isRefusedStream?: boolean;
}

export interface RunOptions {
  /** GET may not change anything. */
  readonly queriesOnly?: boolean;
  /** The caller takes `dataText`. */
  readonly toText?: boolean;
}

/** Rates of callers. Errors: RATE_LIMITED. Default: no limits. */
export interface Rates {
  /** Takes the bytes of a body, or of a message over a WebSocket. */
  body?(caller: RequestContext, bytes: number): void;
  /** Takes a subscription that is about to be opened. */
  subscription?(caller: RequestContext): void;
}

export class Endpoint {
  readonly operations: Operations;
  readonly log: ErrorLog;
  readonly sharing: Sharing;
  readonly rates: Rates;

  constructor(operations: Operations, log: ErrorLog, rates: Rates = {}) {
    this.sharing = new Sharing(log);
    this.rates = rates;
    this.operations = operations;
    this.log = log;
  }

  /** Answers a query or mutation; at once when nothing had to be waited for. Never throws, never rejects. */
  run(body: unknown, context: RequestContext, options: RunOptions = {}): MaybePromise<Answer> {
    return this.#run(body, context, options);
  }

  /** `prepared`: the operation of the body, if it has been prepared. */
  #run(
    body: unknown,
    context: RequestContext,
    { queriesOnly, toText }: RunOptions,
    prepared?: FoundOperation,
  ): MaybePromise<Answer> {
    const place = { requestId: context.requestId, log: this.log };
    let isMutation = false;
    const answer = (executed: TextResult): Answer => {
      const { dataText } = executed;
      const result = publicResult(executed, place);
      // The writer of `dataText` has the same bound.
      if (dataText !== undefined || !isTooLarge(result)) return { result, wellFormed: true, dataText };
      return { result: { errors: [publicError(new ResponseTooLarge(isMutation), place)] }, wellFormed: true };
    };
    const refuse = (error: unknown): Answer => ({ result: { errors: [publicError(error, place)] }, wellFormed: false });
    const execute = (operation: FoundOperation, variables: Variables | undefined): MaybePromise<Answer> => {
      if (!(operation instanceof Operation)) return answer({ errors: operation });
      if (operation.kind === 'subscription') {
        throw new ServiceError('METHOD_NOT_ALLOWED', 'Subscribe over WebSocket, or accept text/event-stream');
      }
      if (queriesOnly && operation.kind !== 'query')
        throw new ServiceError('METHOD_NOT_ALLOWED', 'Mutations need POST');
      isMutation = operation.kind === 'mutation';
      const result = toText ? operation.executeToText(context, variables) : operation.execute(context, variables);
      return result instanceof Promise ? result.then(answer).catch(refuse) : answer(result);
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

  /** Answers any operation: with its results for a subscription that is let in. Never throws, never rejects. */
  async start(body: unknown, context: RequestContext, options: RunOptions = {}): Promise<Answer | LiveResults> {
    const operation = await this.#prepared(body, context);
    if (!(operation instanceof Operation) || operation.kind !== 'subscription') {
      return this.#run(body, context, options, operation);
    }
    const place = { requestId: context.requestId, log: this.log };
    let isRefusedStream = false;
    try {
      const { variables } = readParams(body);
      isRefusedStream = true;
      this.rates.subscription?.(context);
      const stream = await operation.subscribe(context, variables ?? undefined);
      if ('source' in stream) return new LiveResults(stream, context, this.sharing, place);
      return refusal(publicResult(stream, place), isRefusedStream);
    } catch (error) {
      return refusal({ errors: [publicError(error, place)] }, isRefusedStream);
    }
  }

  /** Undefined for what is no GraphQL request. */
  #prepared(body: unknown, context: RequestContext): MaybePromise<FoundOperation> | undefined {
    if (typeof body !== 'object' || body === null || !('query' in body) || typeof body.query !== 'string') return;
    const name = 'operationName' in body && typeof body.operationName === 'string' ? body.operationName : null;
    return this.operations.findFor(context, body.query, name);
  }
}

/** Who has not signed in is told so by the status, too, whatever was asked for. */
function refusal(result: PublicResult, isStream: boolean): Answer {
  const isUnknown = result.errors?.some(({ extensions }) => extensions.code === 'UNAUTHORIZED') === true;
  return { result, wellFormed: true, isRefusedStream: isStream && !isUnknown };
}

/** Throws INVALID for what is no GraphQL request. */
export function readParams(body: unknown): GraphqlParams {
  if (Array.isArray(body)) throw new ServiceError('INVALID', 'One operation for each request: batches are not served');
  if (typeof body !== 'object' || body === null) throw new ServiceError('INVALID', 'The body must be a JSON object');
  const { query, variables, operationName, extensions } = body as Record<string, unknown>;
  if (typeof query !== 'string') throw new ServiceError('INVALID', '"query" must be a string');
  if (!isObject(variables)) throw new ServiceError('INVALID', '"variables" must be an object');
  if (!isObject(extensions)) throw new ServiceError('INVALID', '"extensions" must be an object');
  if (operationName !== undefined && operationName !== null && typeof operationName !== 'string') {
    throw new ServiceError('INVALID', '"operationName" must be a string');
  }
  return { query, variables: variables as Variables | null, operationName: operationName ?? null };
}

const isObject = (value: unknown): boolean =>
  value === undefined || value === null || (typeof value === 'object' && !Array.isArray(value));
