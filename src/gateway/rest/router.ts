/**
 * Serves the REST interface: finds the entry, lets the caller in, checks the input, runs the entry's operation in process, and writes
 * the picked part of its data.
 *
 * Order of refusals: 400 bad path or revision, 404 unknown path, 405 unknown method, 401 credentials, 404 project or broker out of
 * sight, 403 role, 400 or 413 input, then whatever the operation says. Every refusal has the error body. What is not a ServiceError is a
 * bug: logged whole under the request id, answered as INTERNAL_ERROR without its text.
 *
 * All operations are checked by `createRestServer`; it throws when one is bad. `handle` never throws and keeps no state of its own.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ExecutionResult, GraphQLSchema } from 'graphql';
import type { RequiredRole } from '../../platform/auth/viewer.ts';
import { invalid, ServiceError, withPlaces } from '../../platform/errors.ts';
import type { StartingCaller } from '../../platform/limits/operation-starts.ts';
import type { RequestFacts } from '../graphql/endpoint.ts';
import { type ErrorLog, type PublicError, publicError, publicResult } from '../graphql/public-error.ts';
import { boundedJson, isTooLarge, MAX_RESPONSE_BYTES, ResponseTooLarge } from '../graphql/response-limit.ts';
import { maxBodyBytesOf, Traffic } from '../http/traffic.ts';
import { readJsonBody, UnreadBodyError } from './body.ts';
import type { ApiDocument } from './documents.ts';
import { Exchange } from './exchange.ts';
import { placeInRequest } from './issue-places.ts';
import { type AskNext, longLists } from './long-lists.ts';
import { follow, totalOf } from './pick.ts';
import { type Entry, findPlaces, type Place, refuseMethod, serveDocument } from './places.ts';
import { type CompiledOperation, type CompileOperation, type PreparedRoute, prepareRoutes } from './prepared-route.ts';
import { requestIdOf } from './request-id.ts';
import { existsIn, revisionOf } from './revisions.ts';
import type { Route, RouteInput } from './route.ts';
import { type ListPage, listPieces, pageOf } from './stream-list.ts';
import { streamText } from './stream-text.ts';

export interface RestServerOptions<C> {
  readonly routes: readonly Route[];
  readonly schema: GraphQLSchema;
  /** Errors: UNAUTHORIZED for credentials that are unknown or expired. Without credentials it makes a context without a viewer. */
  readonly contextFor: (request: RequestFacts) => C | Promise<C>;
  /** Errors: UNAUTHORIZED, NOT_FOUND, NOT_ALLOWED. */
  readonly authorize: (context: C, role: RequiredRole, params: Readonly<Record<string, string>>) => void;
  readonly compileOperation: CompileOperation<C>;
  /** Told of a field that `authorize` refused, which the operation would have asked for. Of a mutation the answer waits. Never rejects. */
  readonly onRefused?: (refused: RefusedField, context: C, error: unknown) => Promise<void> | void;
  readonly log: ErrorLog;
  /** Default: 1 MiB. */
  readonly maxBodyBytes?: number;
  /** Whether a caller has valid credentials; bodies of others are smaller. Default: every caller has. */
  readonly isKnown?: (context: C) => boolean;
  /** The caller whose operations wait for each other when there are many. Default: all are one. */
  readonly callerOf?: (context: C) => StartingCaller;
  /** Budgets of bytes under way. Default: budgets of its own. */
  readonly traffic?: Traffic;
  /** Called with the bytes of a body before it is used. Errors: RATE_LIMITED. */
  readonly onBody?: (context: C, bytes: number) => void;
  /** Take `?token=` as credentials where no Authorization header is sent. Default: false. */
  readonly tokenInQuery?: boolean;
  /** Public documents served beside the routes. */
  readonly documents?: readonly ApiDocument[];
}

export interface RefusedField {
  readonly name: string;
  readonly isMutation: boolean;
  /** As far as the path tells it. */
  readonly input: Readonly<Record<string, unknown>>;
}

export interface RestServer {
  /** Answers every request; never throws, never rejects. */
  handle(req: IncomingMessage, res: ServerResponse): void;
}

type Params = Readonly<Record<string, string>>;

/** A list that is answered page by page. */
interface Pages {
  /** Of the first page. */
  readonly variables: Readonly<Record<string, unknown>>;
  readonly pageSize: number;
  /** Entries at most; Infinity for all. More than a page. */
  readonly wanted: number;
}

const MAX_BODY_BYTES = 1024 * 1024;

const NOBODY: StartingCaller = { viewer: null, address: '' };
/** Bytes in UTF-8 of one unit of a JavaScript string, at most. */
const MAX_BYTES_OF_UNIT = 3;

const NOTHING: Readonly<Record<string, unknown>> = Object.freeze({});

export function createRestServer<C>(options: RestServerOptions<C>): RestServer {
  const { routes, schema, compileOperation, documents = [] } = options;
  const { contextFor, authorize, onRefused, log, maxBodyBytes = MAX_BODY_BYTES, tokenInQuery = false } = options;
  const { isKnown = () => true, traffic = new Traffic(), onBody, callerOf = () => NOBODY } = options;
  const places = findPlaces(routes, prepareRoutes(routes, { schema, compileOperation }), documents);

  function handle(req: IncomingMessage, res: ServerResponse): void {
    const exchange = new Exchange(req, res, requestIdOf(req), traffic);
    try {
      begin(exchange);
    } catch (error) {
      fail(exchange, error);
    }
  }

  function begin(exchange: Exchange): void {
    const { req } = exchange;
    exchange.revision = revisionOf(req.headers.accept);
    // All methods of a path are in one tree: a path is looked up once, whatever the method.
    const found = places.find('GET', exchange.url);
    const place: Place<C> | null | undefined = found?.store;
    if (place === null) throw invalid([{ path: 'path', reason: 'is not percent-encoded UTF-8' }]);
    if (!found || place === undefined) throw unknownPath();
    const params = found.params as Params;
    for (const name in params) {
      const value = params[name];
      if (!value || value.includes('\0')) throw unknownPath();
    }
    const method = exchange.isHead ? 'GET' : (req.method ?? '');
    if (place.document) {
      serveDocument(exchange, place.document, method);
      return;
    }
    const entry = place.entries.get(method);
    if (entry === undefined || !existsIn(exchange.revision, entry.route)) {
      refuseMethod(exchange, place, method);
      return;
    }
    exchange.allow = entry.others[exchange.revision];
    // The parser given to find-my-way hands the text through.
    const search = found.searchParams as unknown as string;
    if (tokenInQuery && req.headers.authorization === undefined && search.includes('token=')) {
      const token = new URLSearchParams(search).get('token');
      if (token) exchange.presentToken(token);
    }
    const context = contextFor(exchange);
    if (context instanceof Promise) {
      context
        .then((known) => enter(exchange, entry, params, search, known))
        .catch((error: unknown) => fail(exchange, error));
    } else enter(exchange, entry, params, search, context);
  }

  function enter(exchange: Exchange, { route, prepared }: Entry<C>, params: Params, search: string, context: C): void {
    try {
      authorize(context, route.role, params);
    } catch (error) {
      const told = onRefused?.({ ...prepared.field, input: inputInPath(route, params) }, context, error);
      if (!(told instanceof Promise)) throw error;
      void told.then(() => fail(exchange, error));
      return;
    }
    const query = prepared.versions[exchange.revision].parseQuery(search);
    const { checkBody } = prepared;
    if (checkBody === null) {
      runSoon(exchange, prepared, () => ({ params, query, body: NOTHING, list: [] }), context);
      return;
    }
    const maxBytes = maxBodyBytesOf(isKnown(context), maxBodyBytes);
    readJsonBody(exchange.req, exchange.res, {
      maxBytes,
      traffic,
      instead: route.isBodyOptional ? NOTHING : undefined,
      onBytes: (bytes) => onBody?.(context, bytes),
    })
      .then((parse) => {
        const inputOf = (): RouteInput => {
          const body = parse();
          checkBody(body);
          if (Array.isArray(body)) return { params, query, body: NOTHING, list: body };
          return { params, query, body: body as RouteInput['body'], list: [] };
        };
        runSoon(exchange, prepared, inputOf, context);
      })
      .catch((error: unknown) => fail(exchange, error));
  }

  function runSoon(exchange: Exchange, prepared: PreparedRoute<C>, inputOf: () => RouteInput, context: C): void {
    const start = () => {
      try {
        run(exchange, prepared, inputOf(), context);
      } catch (error) {
        fail(exchange, error);
      }
    };
    traffic.starts.soon(callerOf(context), start, () => !exchange.res.destroyed);
  }

  function run(exchange: Exchange, prepared: PreparedRoute<C>, input: RouteInput, context: C): void {
    const { route, operation } = prepared;
    const { stream } = route;
    let variables = route.variables ? route.variables(input) : NOTHING;
    let pages: Pages | null = null;
    if (stream) {
      const wanted = stream.when(input) ? Number.POSITIVE_INFINITY : Number(variables.first);
      if (wanted > stream.pageSize) {
        variables = { ...variables, first: stream.pageSize, after: null };
        pages = { variables, pageSize: stream.pageSize, wanted };
      }
    }
    const result = operation.execute(context, variables);
    if (result instanceof Promise) {
      result
        .then((known) => finish(exchange, prepared, input, known, pages))
        .catch((error: unknown) => fail(exchange, error));
    } else finish(exchange, prepared, input, result, pages);
  }

  function finish(
    exchange: Exchange,
    prepared: PreparedRoute<C>,
    input: RouteInput,
    result: ExecutionResult,
    pages: Pages | null,
  ): void {
    const error = firstError(exchange, result);
    if (error) {
      const { code, info } = error.extensions;
      const refusal = new ServiceError(code, error.message, info ? { info } : {});
      exchange.fail(withPlaces(refusal, (path) => placeInRequest(prepared.route, path)));
      return;
    }
    const { status, pageInfo } = prepared;
    const total = totalOf(result.data, prepared.total);
    if (prepared.route.lists) {
      writeWithLists(exchange, prepared, input, bodyOf(prepared, input, result));
      return;
    }
    const text = wholeText(exchange, prepared, input, result);
    if (status === 204) exchange.empty(204);
    else if (pages === null || !pageOf(result, pageInfo).hasNextPage) exchange.json(status, text, total);
    else {
      const first: ListPage = { text, ...pageOf(result, pageInfo) };
      const pieces = listPieces(first, nextPageOf(exchange, prepared, input, pages));
      writePieces(exchange, prepared, pieces, total);
    }
  }

  function writePieces(
    exchange: Exchange,
    { status, route }: PreparedRoute<C>,
    pieces: AsyncIterable<string>,
    total?: number,
  ): void {
    streamText(exchange, status, total, pieces).catch((err: unknown) => {
      log.error({ err, requestId: exchange.requestId, path: route.path }, 'a list broke off while it was written');
    });
  }

  /** A body with lists in it, of which some may go on after what the operation gave. */
  function writeWithLists(exchange: Exchange, prepared: PreparedRoute<C>, input: RouteInput, body: unknown): void {
    const { route, next, versions, status, write } = prepared;
    const { lists } = route;
    versions[exchange.revision].trim?.(body);
    if (isTooLarge(body)) throw new ResponseTooLarge();
    const goOn = lists && longLists(body, { ...lists, wanted: lists.wanted(input) });
    if (!lists || !goOn || next === null) {
      exchange.json(status, write(body));
      return;
    }
    const askNext: AskNext = async ({ within, entry }, first, after) => {
      const variables = { ...lists.next.variables(input, within, entry), first, after };
      const result = await goOnWith(exchange, prepared, input, next.operation, variables);
      const page = follow(result.data, next.pick);
      if (page === null || page === undefined) throw new Error('There is nothing left of the list');
      return page as Record<string, unknown>;
    };
    writePieces(exchange, prepared, goOn(askNext));
  }

  /** Runs the operation for one page after the other, until there are none or as many entries as were wanted. */
  function nextPageOf(
    exchange: Exchange,
    prepared: PreparedRoute<C>,
    input: RouteInput,
    { variables, pageSize, wanted }: Pages,
  ): (after: string | null) => Promise<ListPage> {
    let left = wanted - pageSize;
    return async (after) => {
      const first = Math.min(pageSize, left);
      left -= first;
      const place = { ...variables, first, after, offset: 0 };
      const result = await goOnWith(exchange, prepared, input, prepared.operation, place);
      const { hasNextPage, endCursor } = pageOf(result, prepared.pageInfo);
      const text = textOf(exchange, prepared, input, result);
      return { text, hasNextPage: hasNextPage && left > 0, endCursor };
    };
  }

  /**
   * A further page of an answer that has begun. A long list takes as long as its caller likes, so the caller is let in anew for each
   * page: credentials and rights may have ended, and less may be told.
   */
  async function goOnWith(
    exchange: Exchange,
    { route }: PreparedRoute<C>,
    { params }: RouteInput,
    operation: CompiledOperation<C>,
    variables: Readonly<Record<string, unknown>>,
  ): Promise<ExecutionResult> {
    // What is known is at hand and may be taken as fast as it is written: others have their turn between two pages.
    await nextTurn();
    exchange.isContinued = true;
    const context = await contextFor(exchange);
    authorize(context, route.role, params);
    const result = await operation.execute(context, variables);
    const error = firstError(exchange, result);
    if (error) throw new ServiceError(error.extensions.code, error.message);
    return result;
  }

  /** What a failed result is answered with; one error per request can be. */
  function firstError({ requestId }: Exchange, result: ExecutionResult): PublicError | undefined {
    return result.errors ? publicResult(result, { requestId, log }).errors?.[0] : undefined;
  }

  /** The part of a result that is answered. Errors: NOT_FOUND where there is nothing to pick. */
  function bodyOf({ picks, route }: PreparedRoute<C>, input: RouteInput, { data }: ExecutionResult): unknown {
    for (const pick of picks ?? []) {
      const body = follow(data, pick);
      if (body !== null && body !== undefined) return body;
    }
    throw new ServiceError('NOT_FOUND', route.notFound?.(input) ?? `${route.summary}: there is no such thing`);
  }

  /** The same as JSON. */
  function textOf(
    { revision }: Exchange,
    prepared: PreparedRoute<C>,
    input: RouteInput,
    result: ExecutionResult,
  ): string {
    const { picks, route, versions, write } = prepared;
    if (picks === null) return route.pick === null ? '{}' : '';
    const body = bodyOf(prepared, input, result);
    const { nameKey, singleBy = '' } = route;
    if (
      nameKey !== undefined &&
      input.query.verbose === false &&
      input.query[singleBy] === undefined &&
      Array.isArray(body)
    ) {
      return boundedJson(body.map((item: Record<string, unknown>) => item[nameKey]));
    }
    versions[revision].trim?.(body);
    return write(body);
  }

  /** The same, where it is the whole response. Errors: also ResponseTooLarge. */
  function wholeText(
    exchange: Exchange,
    prepared: PreparedRoute<C>,
    input: RouteInput,
    result: ExecutionResult,
  ): string {
    try {
      const text = textOf(exchange, prepared, input, result);
      if (text.length * MAX_BYTES_OF_UNIT > MAX_RESPONSE_BYTES && Buffer.byteLength(text) > MAX_RESPONSE_BYTES) {
        throw new ResponseTooLarge();
      }
      return text;
    } catch (error) {
      throw error instanceof ResponseTooLarge ? new ResponseTooLarge(prepared.field.isMutation) : error;
    }
  }

  function fail(exchange: Exchange, error: unknown): void {
    exchange.fail(publicError(error, { requestId: exchange.requestId, log }), error instanceof UnreadBodyError);
  }

  return { handle };
}

/** Of what comes otherwise nothing is read, and what cannot be made without it is left out. */
function inputInPath(route: Route, params: Params): Readonly<Record<string, unknown>> {
  try {
    const { input, ...others } = route.variables?.({ params, query: {}, body: {}, list: [] }) ?? {};
    return { ...(typeof input === 'object' ? input : others), ...params };
  } catch {
    return params;
  }
}

const unknownPath = () => new ServiceError('NOT_FOUND', 'There is nothing under this path');
