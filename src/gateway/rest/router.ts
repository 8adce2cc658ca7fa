import type { ExecutionResult, GraphQLSchema } from 'graphql';
import { invalid, ServiceError, withPlaces } from '../../platform/errors.ts';
import { networkOf } from '../../platform/limits/network.ts';
import { QueueFull } from '../../platform/scheduling/concurrency-limit.ts';
import { after, attempt, type ValueOrPromise } from '../../platform/value-or-promise.ts';
import type { RequestContext } from '../context.ts';
import { type OperationLog, publicError } from '../graphql/public-error.ts';
import type { FetchHandler, RequestOrigin } from '../http/fetch-handler.ts';
import { receiveBody, UnreadBodyError } from '../http/read-body.ts';
import { maxBodyBytesOf, Traffic } from '../http/traffic.ts';
import { bodyParser } from './body.ts';
import type { ApiDocument } from './docs/api-documents.ts';
import { NOT_UTF8 } from './input.ts';
import { requestPathOf } from './issue-paths.ts';
import { pageOf } from './long-lists.ts';
import { PageReader, type PageReaderOptions, type Pages } from './page-reader.ts';
import { allowed, buildPaths, type PathEntry, type Paths, refuseMethod, serveDocument } from './paths.ts';
import { type PreparedRoute, type PrepareRoute, routePreparer } from './prepared-route.ts';
import { bodyOf, type Call, totalOf, wholeText } from './response-body.ts';
import { emptyOf, errorOf, jsonOf } from './responses.ts';
import { RestRequest } from './rest-request.ts';
import { existsIn, revisionOf } from './revisions.ts';
import type { Route, RouteInput } from './route.ts';

export interface RestServerOptions extends Omit<PageReaderOptions, 'traffic' | 'log'> {
  readonly log: OperationLog;
  readonly routes: readonly Route[];
  readonly schema: GraphQLSchema;
  /** Called when `authorize` refuses a route. The response waits for the promise, which never rejects. */
  readonly onRefused?: (refused: RefusedField, context: RequestContext, error: unknown) => Promise<void> | void;
  readonly maxBodyBytes?: number;
  readonly traffic?: Traffic;
  /** Called with the size of a body before it is parsed. Errors: RATE_LIMITED. */
  readonly onBody?: (context: RequestContext, bytes: number) => void;
  /** Whether `?token=` is accepted if there is no Authorization header. Default: false. */
  readonly tokenInQuery?: boolean;
  readonly documents?: readonly ApiDocument[];
}

interface RefusedField {
  readonly name: string;
  readonly isMutation: boolean;
  readonly input: Readonly<Record<string, unknown>>;
}

type Params = Readonly<Record<string, string>>;

const MAX_BODY_BYTES = 1024 * 1024;
const NOTHING: Readonly<Record<string, unknown>> = Object.freeze({});

/** Errors: an Error if a path has the same method twice. */
export function createRestServer(options: RestServerOptions): FetchHandler {
  const router = new RestRouter(options);
  return (request, origin) => router.handle(request, origin);
}

/**
 * Order of errors: 400 invalid path or revision, 404 unknown path, 405 method, 401, 404 invisible project or broker,
 * 403, 400 or 413 input, then those of the operation.
 */
class RestRouter {
  readonly #options: RestServerOptions;
  readonly #traffic: Traffic;
  readonly #paths: Paths;
  readonly #prepare: PrepareRoute;
  readonly #pages: PageReader;

  constructor(options: RestServerOptions) {
    const { routes, schema, documents = [], traffic = new Traffic() } = options;
    this.#options = options;
    this.#traffic = traffic;
    this.#paths = buildPaths(routes, documents);
    this.#prepare = routePreparer(schema);
    // `#refuse` counts the errors.
    const log = { error: (fields: object, text: string) => options.log.error(fields, text) };
    this.#pages = new PageReader({ ...options, log, traffic });
  }

  /** Never throws or rejects. Without a promise if the operation and its context are synchronous. */
  handle(request: Request, origin: RequestOrigin): ValueOrPromise<Response> {
    const rest = new RestRequest(request, origin);
    return attempt(
      () => this.#route(rest),
      (error) => this.#refuse(rest, error),
    );
  }

  #route(rest: RestRequest): ValueOrPromise<Response> {
    const { request, headers } = rest;
    rest.revision = revisionOf(headers.accept);
    // All methods of a path are stored under GET: a path is looked up once, whatever the method.
    const found = this.#paths().find('GET', rest.url);
    const path: PathEntry | null | undefined = found?.store;
    if (path === null) throw invalid([{ path: 'path', reason: NOT_UTF8 }]);
    if (!found || path === undefined) throw unknownPath();
    const params = found.params as Params;
    for (const name in params) {
      const value = params[name];
      if (!value || value.includes('\0')) throw unknownPath();
    }
    const method = rest.isHead ? 'GET' : request.method;
    if (path.document) return serveDocument(rest, path.document, method);
    const route = path.entries.get(method);
    if (route === undefined || !existsIn(rest.revision, route)) return refuseMethod(rest, path, method);
    const prepared = this.#prepare(route);
    rest.allow = () => allowed(path, rest.revision, method);
    // find-my-way returns the unparsed text: see its querystringParser.
    const search = found.searchParams as unknown as string;
    const { contextFor, tokenInQuery = false } = this.#options;
    if (tokenInQuery && headers.authorization === undefined && search.includes('token=')) {
      const token = new URLSearchParams(search).get('token');
      if (token) headers.authorization = `Bearer ${token}`;
    }
    return after(contextFor(rest), (context) => this.#enter(rest, prepared, params, search, context));
  }

  #enter(
    rest: RestRequest,
    prepared: PreparedRoute,
    params: Params,
    search: string,
    context: RequestContext,
  ): ValueOrPromise<Response> {
    const { authorize, onRefused } = this.#options;
    const { route, role, field, versions, checkBody } = prepared;
    try {
      authorize(context, role, params);
    } catch (error) {
      const recorded = onRefused?.({ ...field, input: inputInPath(route, params) }, context, error);
      if (!(recorded instanceof Promise)) throw error;
      return recorded.then(() => this.#refuse(rest, error));
    }
    const query = versions[rest.revision].parseQuery(search);
    const callWith = (body: RouteInput['body'], list: RouteInput['list'] = []): Call => {
      return { rest, prepared, input: { params, query, body, list } };
    };
    if (checkBody === null) return this.#runSoon(rest, context, () => callWith(NOTHING));
    return this.#withBody(rest, route, context, (body) => {
      checkBody(body);
      return Array.isArray(body) ? callWith(NOTHING, body) : callWith(body as RouteInput['body']);
    });
  }

  async #withBody(
    rest: RestRequest,
    { isBodyOptional }: Route,
    context: RequestContext,
    callOf: (body: unknown) => Call,
  ): Promise<Response> {
    const { maxBodyBytes = MAX_BODY_BYTES, onBody } = this.#options;
    const maxBytes = maxBodyBytesOf(context.viewer !== null, maxBodyBytes);
    const limits = { maxBytes, traffic: this.#traffic };
    const { bytes, release } = await receiveBody(rest.request, networkOf(context.address), limits);
    try {
      onBody?.(context, bytes.length);
      const parse = bodyParser(rest.request, bytes, isBodyOptional ? NOTHING : undefined);
      return await this.#runSoon(rest, context, () => callOf(parse()));
    } finally {
      release();
    }
  }

  #runSoon(rest: RestRequest, context: RequestContext, callOf: () => Call): ValueOrPromise<Response> {
    const { starts } = this.#traffic;
    const start = () => this.#run(callOf(), context);
    if (starts.isFree) return start();
    return new Promise((resolve, reject) => {
      const isWanted = () => !rest.request.signal.aborted;
      const respond = () => resolve(attempt(start, (error) => this.#refuse(rest, error)));
      starts.run(context, respond, isWanted).catch((error) => reject(error instanceof QueueFull ? abandoned() : error));
    });
  }

  #run(call: Call, context: RequestContext): ValueOrPromise<Response> {
    const { prepared, input } = call;
    const { stream, variables: variablesOf } = prepared.route;
    let variables: Readonly<Record<string, unknown>> = variablesOf ? variablesOf(input) : input.params;
    let pages: Pages | null = null;
    if (stream) {
      const wanted = stream.when(input) ? Number.POSITIVE_INFINITY : Number(variables.first);
      if (wanted > stream.pageSize) {
        variables = { ...variables, first: stream.pageSize, after: null };
        pages = { variables, pageSize: stream.pageSize, wanted };
      }
    }
    const start = performance.now();
    return after(prepared.operation.execute(context, variables), (result) => {
      this.#options.log.ran?.(prepared.field, performance.now() - start, context);
      return this.#respond(call, result, pages);
    });
  }

  #respond(call: Call, result: ExecutionResult, pages: Pages | null): Response {
    const { rest, prepared } = call;
    const { status, route } = prepared;
    const error = this.#pages.firstError(rest, result);
    if (error) {
      const { code, info } = error.extensions;
      const refusal = new ServiceError(code, error.message, info ? { info } : {});
      throw withPlaces(refusal, (path) => requestPathOf(route, path));
    }
    if (route.lists) return this.#pages.bodyWithLists(call, bodyOf(call, result));
    const total = totalOf(result.data, prepared.total);
    const text = wholeText(call, result);
    if (status === 204) return emptyOf(rest);
    if (pages !== null) {
      const page = pageOf(result, prepared.pageInfo);
      if (page.hasNextPage) return this.#pages.list(call, { ...pages, total, first: { text, ...page } });
    }
    return jsonOf(rest, text, { status, total, traffic: this.#traffic });
  }

  #refuse(rest: RestRequest, error: unknown): Response {
    const { requestId, origin } = rest;
    if (error instanceof UnreadBodyError) origin.res?.setHeader('connection', 'close');
    return errorOf(rest, publicError(error, { requestId, log: this.#options.log }), this.#traffic);
  }
}

/** Without variables that need a query or a body. */
function inputInPath(route: Route, params: Params): Readonly<Record<string, unknown>> {
  try {
    const { input, ...others } = route.variables?.({ params, query: {}, body: {}, list: [] }) ?? {};
    return { ...(typeof input === 'object' ? input : others), ...params };
  } catch {
    return params;
  }
}

/** For a caller who has left. */
const abandoned = () =>
  new ServiceError('RATE_LIMITED', 'The request was not started', { info: { retryAfterSeconds: 1 } });

const unknownPath = () => new ServiceError('NOT_FOUND', 'This path does not exist');
