import type { IncomingMessage, ServerResponse } from 'node:http';

/** A part of the service that answers HTTP requests. */
export interface HttpHandler {
  handle(req: IncomingMessage, res: ServerResponse): void;
}

/** Response header fields that pages may read. */
const EXPOSED = 'Allow, Retry-After, WWW-Authenticate, X-Request-Id, X-Total-Count';

/**
 * Allows pages of the given origins to use a handler: responds to their preflight requests and marks responses as
 * readable for them. Pages of other origins cannot read responses. https://fetch.spec.whatwg.org/#http-cors-protocol
 */
export function forOrigins(origins: readonly string[], methods: string, handler: HttpHandler): HttpHandler {
  if (origins.length === 0) return handler;
  const allowed = new Set(origins);
  return {
    handle(req, res) {
      // Set even without an origin: a cache must not use that response for requests with one.
      res.setHeader('vary', 'Origin');
      const { origin } = req.headers;
      if (origin === undefined || !allowed.has(origin)) {
        handler.handle(req, res);
        return;
      }
      res.setHeader('access-control-allow-origin', origin);
      if (req.method === 'OPTIONS' && req.headers['access-control-request-method'] !== undefined) {
        res.writeHead(204, {
          'access-control-allow-methods': methods,
          'access-control-allow-headers': 'Authorization, Content-Type, X-Request-Id',
          'access-control-max-age': '600',
        });
        res.end();
        return;
      }
      res.setHeader('access-control-expose-headers', EXPOSED);
      handler.handle(req, res);
    },
  };
}
