import type { GraphQLSchema } from 'graphql';
import type { Logger } from 'pino';
import type { RequestContext } from '../../gateway/context.ts';
import type { RequestFacts } from '../../gateway/graphql/endpoint.ts';
import { isJsonType } from '../../gateway/graphql/http.ts';
import { compileOperation } from '../../gateway/graphql/internal-operation.ts';
import { emptyResponse, type FetchHandler } from '../../gateway/http/fetch-handler.ts';
import { receiveBody } from '../../gateway/http/read-body.ts';
import type { SessionCookie } from '../../gateway/http/session-cookie.ts';
import type { Traffic } from '../../gateway/http/traffic.ts';
import { plainHandler } from '../../gateway/rest/plain-handler.ts';
import type { RestRequest } from '../../gateway/rest/rest-request.ts';
import type { Viewer } from '../../platform/auth/viewer.ts';
import { invalid, ServiceError } from '../../platform/errors.ts';
import { networkOf } from '../../platform/limits/network.ts';

export const SESSION_PATH = '/auth/session';

/** A token has some 50 characters. */
const MAX_BODY_BYTES = 1_000;

interface SessionEntryOptions {
  readonly schema: GraphQLSchema;
  readonly cookie: SessionCookie;
  readonly contextFor: (facts: RequestFacts) => RequestContext | Promise<RequestContext>;
  readonly traffic: Traffic;
  readonly log: Logger;
}

/**
 * The session of a browser. `POST` with `{ "token": … }`, which `login` or `completeSignIn` has returned, stores the
 * session in a cookie; `DELETE` ends the session and deletes the cookie. Both only for pages of this service.
 */
export function sessionEntry({ schema, cookie, contextFor, traffic, log }: SessionEntryOptions): FetchHandler {
  const logout = compileOperation(schema, 'mutation { logout { isLoggedOut } }');

  const open = async (rest: RestRequest): Promise<string> => {
    if (!isJsonType(rest.headers['content-type'], rest.headers['content-encoding'])) {
      throw new ServiceError('INVALID', 'The body must be application/json in UTF-8');
    }
    const { bytes, release } = await receiveBody(rest.request, networkOf(rest.address), {
      maxBytes: MAX_BODY_BYTES,
      traffic,
    });
    release();
    const token = tokenIn(bytes);
    const { headers, address, url } = rest;
    const { viewer } = await contextFor({ headers: { ...headers, authorization: `Bearer ${token}` }, address, url });
    requireSession(viewer);
    return cookie.containing(token);
  };

  /** An ended session is no error: the cookie is deleted as well. */
  const close = async (rest: RestRequest): Promise<string> => {
    try {
      const context = await contextFor(rest);
      const { errors: [error] = [] } = context.viewer === null ? {} : await logout.execute(context);
      if (error) throw error;
    } catch (error) {
      if (!(error instanceof ServiceError && error.code === 'UNAUTHORIZED')) throw error;
    }
    return cookie.deleted;
  };

  const respond = async (rest: RestRequest): Promise<Response> => {
    const change = rest.request.method === 'POST' ? open : rest.request.method === 'DELETE' ? close : null;
    if (change === null) return emptyResponse(405, { allow: 'POST, DELETE' });
    cookie.requireOwnPage(rest.headers);
    return emptyResponse(204, { 'set-cookie': await change(rest), 'cache-control': 'no-store' });
  };

  return plainHandler(respond, log);
}

function tokenIn(bytes: Buffer): string {
  try {
    const { token } = JSON.parse(bytes.toString());
    if (typeof token === 'string') return token;
  } catch {
    // The same as a body without a token.
  }
  throw invalid([{ path: 'token', reason: 'must be the token of a session, in a JSON object' }]);
}

function requireSession(viewer: Viewer | null): void {
  if (viewer?.kind !== 'USER') throw invalid([{ path: 'token', reason: 'must be the token of a session' }]);
}
