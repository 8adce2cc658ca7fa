import findMyWay from 'find-my-way';
import { ServiceError } from '../../platform/errors.ts';
import type { ApiDocument } from './documents.ts';
import type { Exchange } from './exchange.ts';
import type { PreparedRoute } from './prepared-route.ts';
import { existsIn, REVISIONS, type Revision } from './revisions.ts';
import type { Route } from './route.ts';

/** One method of a path. */
export interface Entry<C> {
  readonly route: Route;
  readonly prepared: PreparedRoute<C>;
  /** `Allow` of a 405 that this very method is answered with: the others of the path. */
  readonly others: Record<Revision, string>;
}

/** Everything there is under one path. */
export interface Place<C> {
  readonly entries: Map<string, Entry<C>>;
  readonly document: ApiDocument | null;
}

/** Longer ids exist nowhere; what is longer is not found. */
const MAX_PARAM_LENGTH = 256;

type Paths<C> = ReturnType<typeof makePaths<C>>;

/** By what was prepared: its paths, and the documents beside them. */
const made = new WeakMap<object, { readonly documents: readonly ApiDocument[]; readonly paths: Paths<never> }>();

/**
 * All paths, each found by GET whatever its methods are. Servers in one process that serve the same share them. Errors: what is there
 * twice, so that it stops the start.
 */
export function findPlaces<C>(
  routes: readonly Route[],
  prepared: ReadonlyMap<Route, PreparedRoute<C>>,
  documents: readonly ApiDocument[],
): Paths<C> {
  const known = made.get(prepared);
  if (known?.documents === documents) return known.paths;
  const paths = makePaths(routes, prepared, documents);
  made.set(prepared, { documents, paths });
  return paths;
}

function makePaths<C>(
  routes: readonly Route[],
  prepared: ReadonlyMap<Route, PreparedRoute<C>>,
  documents: readonly ApiDocument[],
) {
  const router = findMyWay({
    caseSensitive: true,
    // With it, DELETE …/clusters/ (an id that came out empty) would be DELETE …/clusters: all of them.
    ignoreTrailingSlash: false,
    maxParamLength: MAX_PARAM_LENGTH,
    // Parsed later, when the caller has been let in.
    querystringParser: (search) => search,
    onBadUrl: () => undefined,
  });
  const places = new Map<string, Place<C>>();
  for (const document of documents) places.set(document.path, { entries: new Map(), document });
  for (const route of routes) {
    const place: Place<C> = places.get(route.path) ?? { entries: new Map(), document: null };
    places.set(route.path, place);
    if (place.document || place.entries.has(route.method))
      throw new Error(`${route.method} ${route.path} is there twice`);
    const others = {} as Record<Revision, string>;
    const ready = prepared.get(route);
    if (ready === undefined) throw new Error(`${route.method} ${route.path} was not prepared`);
    place.entries.set(route.method, { route, prepared: ready, others });
  }
  for (const place of places.values()) {
    for (const { route, others } of place.entries.values()) {
      for (const revision of REVISIONS) others[revision] = allowed(place, revision, route.method);
    }
  }
  for (const [path, place] of places) router.on('GET', path.replaceAll(/\{(\w+)\}/g, ':$1'), () => undefined, place);
  return router.compile();
}

export function serveDocument(exchange: Exchange, { contentType, body, headers }: ApiDocument, method: string): void {
  exchange.allow = 'GET, HEAD, OPTIONS';
  if (method === 'GET') exchange.document(contentType, body(), headers);
  else if (method === 'OPTIONS') exchange.empty(204, ['Allow', exchange.allow]);
  else throw new ServiceError('METHOD_NOT_ALLOWED', `${method} is not possible here; ${exchange.allow} are`);
}

export function refuseMethod<C>(exchange: Exchange, place: Place<C>, method: string): void {
  exchange.allow = allowed(place, exchange.revision);
  if (exchange.allow === '')
    throw new ServiceError('NOT_FOUND', `There is nothing under this path in revision ${exchange.revision}`);
  if (method === 'OPTIONS') exchange.empty(204, ['Allow', exchange.allow]);
  else throw new ServiceError('METHOD_NOT_ALLOWED', `${method} is not possible here; ${exchange.allow} are`);
}

/** Methods of a path in a revision; without `except`, which this very request has found to be impossible. */
function allowed<C>({ entries }: Place<C>, revision: Revision, except?: string): string {
  const methods: string[] = [];
  for (const { route } of entries.values()) {
    if (route.method === except || !existsIn(revision, route)) continue;
    methods.push(route.method);
    if (route.method === 'GET') methods.push('HEAD');
  }
  if (methods.length > 0 || except !== undefined) methods.push('OPTIONS');
  return methods.join(', ');
}
