import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Viewer } from '../../platform/auth/viewer.ts';
import type { HttpHandler } from './cross-origin.ts';
import { writeJson } from './text-body.ts';

interface MetricsEntryOptions {
  readonly metrics: { readonly contentType: string; text(): Promise<string> };
  readonly token: string | null;
  /** Whether a request without credentials is allowed, if no token is set. */
  readonly isOpenFor: (req: IncomingMessage) => boolean;
  /** Errors: UNAUTHORIZED. */
  readonly viewerOf: (req: IncomingMessage) => Viewer | null | Promise<Viewer | null>;
}

/** `/metrics`. Requires the metrics token or a root administrator; without a token, `isOpenFor` decides. */
export class MetricsEntry implements HttpHandler {
  readonly #options: MetricsEntryOptions;
  readonly #tokenHash: Buffer | null;

  constructor(options: MetricsEntryOptions) {
    this.#options = options;
    this.#tokenHash = options.token === null ? null : hash(options.token);
  }

  handle(req: IncomingMessage, res: ServerResponse): void {
    this.#respond(req, res).catch(() =>
      writeJson(res, 500, { message: 'Metrics could not be collected', status: 500 }),
    );
  }

  async #respond(req: IncomingMessage, res: ServerResponse): Promise<void> {
    if (req.method !== 'GET' && req.method !== 'HEAD') {
      res.writeHead(405, { allow: 'GET, HEAD' }).end();
      return;
    }
    if (!(await this.#isAllowed(req))) {
      res.setHeader('www-authenticate', 'Bearer realm="brokergraph"');
      const message =
        'Metrics need the token of METRICS_TOKEN, or the token of a root administrator: Authorization: Bearer <token>';
      writeJson(res, 401, { message, code: 'UNAUTHORIZED', status: 401 });
      return;
    }
    const { metrics } = this.#options;
    const text = await metrics.text();
    res.writeHead(200, { 'content-type': metrics.contentType }).end(req.method === 'HEAD' ? undefined : text);
  }

  async #isAllowed(req: IncomingMessage): Promise<boolean> {
    const { isOpenFor, viewerOf } = this.#options;
    if (this.#tokenHash === null && isOpenFor(req)) return true;
    const sent = /^bearer (.*)$/i.exec(req.headers.authorization ?? '')?.[1]?.trim();
    if (sent === undefined) return false;
    // Hashes have the same length, as timingSafeEqual requires.
    if (this.#tokenHash !== null && timingSafeEqual(hash(sent), this.#tokenHash)) return true;
    try {
      return (await viewerOf(req))?.isRootAdmin === true;
    } catch {
      return false;
    }
  }
}

const hash = (text: string): Buffer => createHash('sha256').update(text).digest();

/** Whether a request comes from this machine, and not through a proxy on it. */
export function isLocal({ socket, headers }: IncomingMessage): boolean {
  if (headers['x-forwarded-for'] !== undefined || headers.forwarded !== undefined) return false;
  return /^(::ffff:)?127\.|^::1$/.test(socket.remoteAddress ?? '');
}
