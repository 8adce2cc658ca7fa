import findMyWay from 'find-my-way';
import { ServiceError } from '../../platform/errors.ts';
import type { ApiDocument } from './docs-page.ts';
import type { PreparedRoute } from './prepared-route.ts';
import { documentOf, emptyOf } from './responses.ts';
import type { RestRequest } from './rest-request.ts';
import { existsIn, REVISIONS, type Revision } from './revisions.ts';
import type { Route } from './route.ts';

interface MethodEntry {
  readonly prepared: PreparedRoute;
  /** `Allow` of a 405 that the operation of this method returns: the other methods of the path. */
  readonly others: Record<Revision, string>;
}

export interface PathEntry {
  readonly entries: Map<string, MethodEntry>;
  readonly document: ApiDocument | null;
}

/** Longer parameters are NOT_FOUND: no id is that long. */
const MAX_PARAM_LENGTH = 256;

export type Paths = ReturnType<typeof buildPaths>;

/** Router of all paths, each stored under GET. Errors: an Error if a path has the same method twice. */
export function buildPaths(
  routes: readonly Route[],
  prepared: ReadonlyMap<Route, PreparedRoute>,
  documents: readonly ApiDocument[],
) {
  const router = findMyWay({
    caseSensitive: true,
    // Otherwise DELETE …/clusters/ with an empty id would be DELETE …/clusters, which deletes all clusters.
    ignoreTrailingSlash: false,
    maxParamLength: MAX_PARAM_LENGTH,
    // The query is parsed after the caller is authorized.
    querystringParser: (search) => search,
    onBadUrl: () => undefined,
  });
  const paths = new Map<string, PathEntry>();
  for (const document of documents) paths.set(document.path, { entries: new Map(), document });
  for (const route of routes) {
    const path: PathEntry = paths.get(route.path) ?? { entries: new Map(), document: null };
    paths.set(route.path, path);
    if (path.document || path.entries.has(route.method))
      throw new Error(`${route.method} ${route.path} is defined twice: remove one of the routes`);
    const others = {} as Record<Revision, string>;
    const ready = prepared.get(route);
    if (ready === undefined) throw new Error(`${route.method} ${route.path} was not prepared`);
    path.entries.set(route.method, { prepared: ready, others });
  }
  for (const path of paths.values()) {
    for (const [method, { others }] of path.entries) {
      for (const revision of REVISIONS) others[revision] = allowed(path, revision, method);
    }
  }
  for (const [text, path] of paths) router.on('GET', text.replaceAll(/\{(\w+)\}/g, ':$1'), () => undefined, path);
  return router.compile();
}

export function serveDocument(rest: RestRequest, document: ApiDocument, method: string): Response {
  rest.allow = 'GET, HEAD, OPTIONS';
  if (method === 'GET') return documentOf(rest, document);
  if (method === 'OPTIONS') return emptyOf(rest, { allow: rest.allow });
  throw methodNotAllowed(method, rest.allow);
}

/** The response of a path to a method that it does not have: OPTIONS lists the methods. */
export function refuseMethod(rest: RestRequest, path: PathEntry, method: string): Response {
  rest.allow = allowed(path, rest.revision);
  if (rest.allow === '') throw new ServiceError('NOT_FOUND', `This path does not exist in revision ${rest.revision}`);
  if (method === 'OPTIONS') return emptyOf(rest, { allow: rest.allow });
  throw methodNotAllowed(method, rest.allow);
}

const methodNotAllowed = (method: string, allow: string) =>
  new ServiceError('METHOD_NOT_ALLOWED', `${method} is not allowed for this path: use one of ${allow}`);

function allowed({ entries }: PathEntry, revision: Revision, except?: string): string {
  const methods: string[] = [];
  for (const [method, { prepared }] of entries) {
    if (method === except || !existsIn(revision, prepared.route)) continue;
    methods.push(method);
    if (method === 'GET') methods.push('HEAD');
  }
  if (methods.length > 0 || except !== undefined) methods.push('OPTIONS');
  return methods.join(', ');
}
