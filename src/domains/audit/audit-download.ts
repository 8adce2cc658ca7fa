import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import type { RequestContext } from '../../gateway/context.ts';
import type { RequestFacts } from '../../gateway/graphql/endpoint.ts';
import { publicError } from '../../gateway/graphql/public-error.ts';
import { requestIdOf } from '../../gateway/rest/request-id.ts';
import { drained } from '../../gateway/rest/stream-text.ts';
import { requireRootAdmin } from '../../platform/auth/viewer.ts';
import { ERROR_STATUS, invalid } from '../../platform/errors.ts';
import { type AuditRange, auditLines } from './audit-lines.ts';

export const AUDIT_PATH = '/audit.jsonl';

const DOWNLOAD = { operation: 'downloadAudit', input: {} } as const;

export interface AuditDownloadOptions {
  /** Errors: UNAUTHORIZED. */
  readonly contextFor: (request: RequestFacts) => RequestContext | Promise<RequestContext>;
  readonly log: Logger;
}

/**
 * All entries as JSON lines, for root administrators: as fast as they are read, a page in memory. `X-Audit-Head` has the sequence and the
 * hash of the newest. Credentials and rights are asked for again before each page; where they have ended, the connection is cut, so
 * that a part is never taken for the whole.
 */
export class AuditDownload {
  readonly #options: AuditDownloadOptions;

  constructor(options: AuditDownloadOptions) {
    this.#options = options;
  }

  /** Never throws, never rejects. */
  handle(req: IncomingMessage, res: ServerResponse): void {
    const requestId = requestIdOf(req);
    req.headers['x-request-id'] = requestId;
    res.setHeader('x-request-id', requestId);
    this.#answer(req, res).catch((error: unknown) => {
      const { log } = this.#options;
      if (res.headersSent) {
        if (!res.destroyed) log.error({ err: error, requestId }, 'the audit broke off while it was written');
        res.destroy();
        return;
      }
      const { message, extensions } = publicError(error, { requestId, log });
      const status = ERROR_STATUS[extensions.code];
      const headers = {
        'content-type': 'application/json; charset=utf-8',
        ...(status === 401 && { 'www-authenticate': 'Bearer realm="brokergraph"' }),
      };
      res.writeHead(status, headers).end(JSON.stringify({ message, ...extensions, status }));
    });
  }

  async #answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
    if (req.method !== 'GET' && req.method !== 'HEAD') {
      res.writeHead(405, { allow: 'GET, HEAD' }).end();
      return;
    }
    const letIn = async (): Promise<RequestContext> => {
      const headers = req.headers as Record<string, string | undefined>;
      const address = req.socket.remoteAddress ?? '';
      const context = await this.#options.contextFor({
        headers,
        address,
        url: req.url ?? '',
        isContinued: res.headersSent,
      });
      try {
        requireRootAdmin(context.viewer);
      } catch (error) {
        // Later on a right has ended, which is no attempt.
        if (!res.headersSent) context.services.audit.refusedRead(DOWNLOAD, context, error);
        throw error;
      }
      return context;
    };
    const { db, services } = await letIn();
    const range = rangeOf(req.url ?? '');
    const { sequence, hash } = await services.audit.head();
    res.writeHead(200, {
      'content-type': 'application/jsonl; charset=utf-8',
      'content-disposition': 'attachment; filename="audit.jsonl"',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'x-audit-head': `${sequence} ${hash}`,
    });
    if (req.method === 'HEAD') {
      res.end();
      return;
    }
    for await (const lines of auditLines(db, range, sequence, letIn)) {
      if (!res.write(lines)) await drained(res);
      if (res.destroyed) return;
    }
    res.end();
  }
}

/** Errors: INVALID. */
function rangeOf(url: string): AuditRange {
  const query = new URLSearchParams(url.split('?')[1] ?? '');
  const moment = (name: 'from' | 'to'): Date | null => {
    const text = query.get(name);
    if (text === null) return null;
    const at = new Date(text);
    if (Number.isNaN(at.getTime())) throw invalid([{ path: name, reason: 'is no moment as 2026-01-31T00:00:00Z' }]);
    return at;
  };
  return { from: moment('from'), to: moment('to') };
}
