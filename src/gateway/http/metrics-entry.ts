import { createHash, timingSafeEqual } from 'node:crypto';
import { Response } from '@whatwg-node/server';
import type { Viewer } from '../../platform/auth/viewer.ts';
import { errorHeaders } from './error-headers.ts';
import { addressOf, emptyResponse, type FetchHandler, jsonResponse, type RequestOrigin } from './fetch-handler.ts';

interface MetricsEntryOptions {
  readonly metrics: { readonly contentType: string; text(): Promise<string> };
  readonly token: string | null;
  /** Whether a request without credentials is allowed, if no token is set. */
  readonly isOpenFor: (request: Request, origin: RequestOrigin) => boolean;
  /** Errors: UNAUTHORIZED. */
  readonly viewerOf: (request: Request, origin: RequestOrigin) => Viewer | null | Promise<Viewer | null>;
}

/** `/metrics`. Requires the metrics token or a root administrator; without a token, `isOpenFor` decides. */
export function metricsEntry({ metrics, token, isOpenFor, viewerOf }: MetricsEntryOptions): FetchHandler {
  const tokenHash = token === null ? null : hash(token);

  const isAllowed = async (request: Request, origin: RequestOrigin): Promise<boolean> => {
    if (tokenHash === null && isOpenFor(request, origin)) return true;
    const sent = /^bearer (.*)$/i.exec(request.headers.get('authorization') ?? '')?.[1]?.trim();
    if (sent === undefined) return false;
    // Hashes have the same length, as timingSafeEqual requires.
    if (tokenHash !== null && timingSafeEqual(hash(sent), tokenHash)) return true;
    try {
      return (await viewerOf(request, origin))?.isRootAdmin === true;
    } catch {
      return false;
    }
  };

  return async (request, origin) => {
    const { method } = request;
    if (method !== 'GET' && method !== 'HEAD') return emptyResponse(405, { allow: 'GET, HEAD' });
    if (!(await isAllowed(request, origin))) {
      const message =
        'Metrics need the token of METRICS_TOKEN, or the token of a root administrator: Authorization: Bearer <token>';
      return jsonResponse(401, { message, code: 'UNAUTHORIZED', status: 401 }, errorHeaders(401));
    }
    try {
      const headers = { 'content-type': metrics.contentType };
      const text = await metrics.text();
      return new Response(method === 'HEAD' ? null : text, { headers });
    } catch {
      return jsonResponse(500, { message: 'Metrics could not be collected', status: 500 });
    }
  };
}

const hash = (text: string): Buffer => createHash('sha256').update(text).digest();

/** Whether a request comes from this machine, and not through a proxy on it. */
export function isLocal({ headers }: Request, origin: RequestOrigin): boolean {
  if (headers.has('x-forwarded-for') || headers.has('forwarded')) return false;
  return /^(::ffff:)?127\.|^::1$/.test(addressOf(origin));
}
