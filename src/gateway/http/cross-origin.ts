import { after } from '../../platform/value-or-promise.ts';
import { emptyResponse, type FetchHandler } from './fetch-handler.ts';

const EXPOSED = 'Allow, Retry-After, WWW-Authenticate, X-Request-Id, X-Total-Count';

/** Allows pages of the given origins to use a handler. https://fetch.spec.whatwg.org/#http-cors-protocol */
export function forOrigins(origins: readonly string[], methods: string, handler: FetchHandler): FetchHandler {
  if (origins.length === 0) return handler;
  const allowed = new Set(origins);
  return (request, from) => {
    const origin = request.headers.get('origin');
    const isAllowed = origin !== null && allowed.has(origin);
    if (isAllowed && request.method === 'OPTIONS' && request.headers.has('access-control-request-method')) {
      return emptyResponse(204, {
        vary: 'Origin',
        'access-control-allow-origin': origin,
        'access-control-allow-methods': methods,
        'access-control-allow-headers': 'Authorization, Content-Type, X-Request-Id',
        'access-control-max-age': '600',
      });
    }
    return after(handler(request, from), (response) => {
      // Set even without an origin: a cache must not use that response for requests with one.
      response.headers.append('vary', 'Origin');
      if (isAllowed) {
        response.headers.set('access-control-allow-origin', origin);
        response.headers.set('access-control-expose-headers', EXPOSED);
      }
      return response;
    });
  };
}
