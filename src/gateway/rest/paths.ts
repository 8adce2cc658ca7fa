import findMyWay from 'find-my-way';
import { ServiceError } from '../../platform/errors.ts';
import { lazily } from '../../platform/lazily.ts';
import type { ApiDocument } from './docs/api-documents.ts';
import { documentOf, emptyOf } from './responses.ts';
import type { RestRequest } from './rest-request.ts';
import { existsIn, type Revision } from './revisions.ts';
import type { Route } from './route.ts';

export interface PathEntry {
  readonly entries: Map<string, Route>;
  readonly document: ApiDocument | null;
}

/** Longer parameters are NOT_FOUND: no id is that long. */
const MAX_PARAM_LENGTH = 256;

export type Paths = ReturnType<typeof buildPaths>;

/**
 * The router of all paths, each stored under GET; compiled when it is first wanted. Errors: an Error if a path has the
 * same method twice.
 */
export function buildPaths(routes: readonly Route[], documents: readonly ApiDocument[]) {
  const paths = new Map<string, PathEntry>();
  for (const document of documents) paths.set(document.path, { entries: new Map(), document });
  for (const route of routes) {
    const path: PathEntry = paths.get(route.path) ?? { entries: new Map(), document: null };
    paths.set(route.path, path);
    if (path.document || path.entries.has(route.method))
      throw new Error(`${route.method} ${route.path} is defined twice: remove one of the routes`);
    path.entries.set(route.method, route);
  }
  return lazily(() => compiled(paths));
}

function compiled(paths: ReadonlyMap<string, PathEntry>) {
  const router = findMyWay({
    caseSensitive: true,
    // Otherwise DELETE …/clusters/ with an empty id would be DELETE …/clusters, which deletes all clusters.
    ignoreTrailingSlash: false,
    maxParamLength: MAX_PARAM_LENGTH,
    // The query is parsed after the caller is authorized.
    querystringParser: (search) => search,
    onBadUrl: () => undefined,
  });
  for (const [text, path] of paths) router.on('GET', text.replaceAll(/\{(\w+)\}/g, ':$1'), () => undefined, path);
  return router.compile();
}

export function serveDocument(rest: RestRequest, document: ApiDocument, method: string): Response {
  return method === 'GET' ? documentOf(rest, document) : refuse(rest, method, 'GET, HEAD, OPTIONS');
}

/** The response of a path to a method that it does not have: OPTIONS lists the methods. */
export function refuseMethod(rest: RestRequest, path: PathEntry, method: string): Response {
  const allow = allowed(path, rest.revision);
  if (allow === '') throw new ServiceError('NOT_FOUND', `This path does not exist in revision ${rest.revision}`);
  return refuse(rest, method, allow);
}

function refuse(rest: RestRequest, method: string, allow: string): Response {
  if (method === 'OPTIONS') return emptyOf(rest, { allow });
  rest.allow = () => allow;
  throw new ServiceError('METHOD_NOT_ALLOWED', `${method} is not allowed for this path: use one of ${allow}`);
}

/** The value of `Allow`: the methods of a path, or those besides `except`, whose operation refuses it. */
export function allowed({ entries }: PathEntry, revision: Revision, except?: string): string {
  const methods: string[] = [];
  for (const [method, route] of entries) {
    if (method === except || !existsIn(revision, route)) continue;
    methods.push(method);
    if (method === 'GET') methods.push('HEAD');
  }
  if (methods.length > 0 || except !== undefined) methods.push('OPTIONS');
  return methods.join(', ');
}
