import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ExecutionResult, GraphQLSchema } from 'graphql';
import { invalid, ServiceError, withPlaces } from '../../platform/errors.ts';
import type { RequestContext } from '../context.ts';
import { publicError } from '../graphql/public-error.ts';
import type { HttpHandler } from '../http/cross-origin.ts';
import { UnreadBodyError } from '../http/read-body.ts';
import { maxBodyBytesOf, Traffic } from '../http/traffic.ts';
import { proceed } from '../maybe-promise.ts';
import { readJsonBody } from './body.ts';
import type { ApiDocument } from './docs-page.ts';
import { Exchange, requestIdOf } from './exchange.ts';
import { requestPathOf } from './issue-paths.ts';
import { pageOf } from './long-lists.ts';
import { type Pages, PageWriter, type PageWriterOptions } from './page-writer.ts';
import { buildPaths, type PathEntry, type Paths, refuseMethod, serveDocument } from './paths.ts';
import { type PreparedRoute, prepareRoutes } from './prepared-route.ts';
import { bodyOf, type Call, totalOf, wholeText } from './response-body.ts';
import { existsIn, revisionOf } from './revisions.ts';
import type { Route, RouteInput } from './route.ts';

export interface RestServerOptions extends PageWriterOptions {
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

/** Checks all operations. Errors: an Error that names the first invalid route. */
export function createRestServer(options: RestServerOptions): HttpHandler {
  const router = new RestRouter(options);
  return { handle: (req, res) => router.handle(req, res) };
}

/**
 * Order of errors: 400 invalid path or revision, 404 unknown path, 405 method, 401, 404 invisible project or broker,
 * 403, 400 or 413 input, then those of the operation.
 */
class RestRouter {
  readonly #options: RestServerOptions;
  readonly #traffic: Traffic;
  readonly #paths: Paths;
  readonly #pages: PageWriter;

  constructor(options: RestServerOptions) {
    const { routes, schema, documents = [], traffic = new Traffic() } = options;
    this.#options = options;
    this.#traffic = traffic;
    this.#paths = buildPaths(routes, prepareRoutes(routes, schema), documents);
    this.#pages = new PageWriter(options);
  }

  /** Never throws or rejects. */
  handle(req: IncomingMessage, res: ServerResponse): void {
    const exchange = new Exchange(req, res, requestIdOf(req), this.#traffic);
    proceed(exchange, () => this.#route(exchange), this.#failing(exchange));
  }

  #route(exchange: Exchange): void {
    const { req } = exchange;
    exchange.revision = revisionOf(req.headers.accept);
    // All methods of a path are stored under GET: a path is looked up once, whatever the method.
    const found = this.#paths.find('GET', exchange.url);
    const path: PathEntry | null | undefined = found?.store;
    if (path === null) throw invalid([{ path: 'path', reason: 'is not percent-encoded UTF-8' }]);
    if (!found || path === undefined) throw unknownPath();
    const params = found.params as Params;
    for (const name in params) {
      const value = params[name];
      if (!value || value.includes('\0')) throw unknownPath();
    }
    const method = exchange.isHead ? 'GET' : (req.method ?? '');
    if (path.document) {
      serveDocument(exchange, path.document, method);
      return;
    }
    const entry = path.entries.get(method);
    if (entry === undefined || !existsIn(exchange.revision, entry.prepared.route)) {
      refuseMethod(exchange, path, method);
      return;
    }
    exchange.allow = entry.others[exchange.revision];
    // find-my-way returns the unparsed text: see its querystringParser.
    const search = found.searchParams as unknown as string;
    const { contextFor, tokenInQuery = false } = this.#options;
    if (tokenInQuery && req.headers.authorization === undefined && search.includes('token=')) {
      const token = new URLSearchParams(search).get('token');
      if (token) exchange.presentToken(token);
    }
    const enter = (context: RequestContext) => this.#enter(exchange, entry.prepared, params, search, context);
    proceed(contextFor(exchange), enter, this.#failing(exchange));
  }

  #enter(exchange: Exchange, prepared: PreparedRoute, params: Params, search: string, context: RequestContext): void {
    const { authorize, onRefused, maxBodyBytes = MAX_BODY_BYTES, onBody } = this.#options;
    const { route, field, versions, checkBody } = prepared;
    try {
      authorize(context, route.role, params);
    } catch (error) {
      const recorded = onRefused?.({ ...field, input: inputInPath(route, params) }, context, error);
      if (!(recorded instanceof Promise)) throw error;
      void recorded.then(() => this.#fail(exchange, error));
      return;
    }
    const query = versions[exchange.revision].parseQuery(search);
    const callWith = (body: RouteInput['body'], list: RouteInput['list'] = []): Call => {
      return { exchange, prepared, input: { params, query, body, list } };
    };
    if (checkBody === null) {
      this.#runSoon(exchange, context, () => callWith(NOTHING));
      return;
    }
    const callOf = (body: unknown) => {
      checkBody(body);
      return Array.isArray(body) ? callWith(NOTHING, body) : callWith(body as RouteInput['body']);
    };
    readJsonBody(exchange.req, exchange.res, {
      maxBytes: maxBodyBytesOf(context.viewer !== null, maxBodyBytes),
      traffic: this.#traffic,
      emptyValue: route.isBodyOptional ? NOTHING : undefined,
      onBytes: (bytes) => onBody?.(context, bytes),
    })
      .then((parse) => this.#runSoon(exchange, context, () => callOf(parse())))
      .catch(this.#failing(exchange));
  }

  #runSoon(exchange: Exchange, context: RequestContext, callOf: () => Call): void {
    const start = () => proceed(callOf, () => this.#run(callOf(), context), this.#failing(exchange));
    this.#traffic.starts.soon(context, start, () => !exchange.res.destroyed);
  }

  #run(call: Call, context: RequestContext): void {
    const { exchange, prepared, input } = call;
    const { stream, variables: variablesOf } = prepared.route;
    let variables = variablesOf ? variablesOf(input) : NOTHING;
    let pages: Pages | null = null;
    if (stream) {
      const wanted = stream.when(input) ? Number.POSITIVE_INFINITY : Number(variables.first);
      if (wanted > stream.pageSize) {
        variables = { ...variables, first: stream.pageSize, after: null };
        pages = { variables, pageSize: stream.pageSize, wanted };
      }
    }
    const result = prepared.operation.execute(context, variables);
    proceed(result, (known) => this.#respond(call, known, pages), this.#failing(exchange));
  }

  #respond(call: Call, result: ExecutionResult, pages: Pages | null): void {
    const { exchange, prepared } = call;
    const error = this.#pages.firstError(exchange, result);
    if (error) {
      const { code, info } = error.extensions;
      const refusal = new ServiceError(code, error.message, info ? { info } : {});
      exchange.fail(withPlaces(refusal, (path) => requestPathOf(prepared.route, path)));
      return;
    }
    const { status, route } = prepared;
    if (route.lists) {
      this.#pages.writeBodyWithLists(call, bodyOf(call, result));
      return;
    }
    const total = totalOf(result.data, prepared.total);
    const text = wholeText(call, result);
    if (status === 204) exchange.empty(204);
    else if (pages === null) exchange.json(status, text, total);
    else {
      const page = pageOf(result, prepared.pageInfo);
      if (!page.hasNextPage) exchange.json(status, text, total);
      else this.#pages.writeList(call, { ...pages, total, first: { text, ...page } });
    }
  }

  #failing(exchange: Exchange): (error: unknown) => void {
    return (error) => this.#fail(exchange, error);
  }

  #fail(exchange: Exchange, error: unknown): void {
    const { requestId } = exchange;
    exchange.fail(publicError(error, { requestId, log: this.#options.log }), error instanceof UnreadBodyError);
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

const unknownPath = () => new ServiceError('NOT_FOUND', 'This path does not exist');
