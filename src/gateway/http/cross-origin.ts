import type { IncomingMessage, ServerResponse } from 'node:http';

export interface HttpHandler {
  handle(req: IncomingMessage, res: ServerResponse): void;
}

const EXPOSED = 'Allow, Retry-After, WWW-Authenticate, X-Request-Id, X-Total-Count';

/** Allows pages of the given origins to use a handler. https://fetch.spec.whatwg.org/#http-cors-protocol */
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
