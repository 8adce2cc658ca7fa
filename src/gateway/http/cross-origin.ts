import type { IncomingMessage, ServerResponse } from 'node:http';

/** A part of the service that answers HTTP requests. */
export interface HttpHandler {
  handle(req: IncomingMessage, res: ServerResponse): void;
}

/** What pages may read beside the body. */
const EXPOSED = 'Allow, Retry-After, WWW-Authenticate, X-Request-Id, X-Total-Count';

/**
 * Lets pages of the named origins use a handler: answers their preflights, and marks answers as readable to them. For pages of
 * other origins nothing changes, so their browsers keep the answers from them. https://fetch.spec.whatwg.org/#http-cors-protocol
 */
export function forOrigins(origins: readonly string[], methods: string, handler: HttpHandler): HttpHandler {
  if (origins.length === 0) return handler;
  const allowed = new Set(origins);
  return {
    handle(req, res) {
      // Also without an origin: a cache must not keep that answer for callers who have one.
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
