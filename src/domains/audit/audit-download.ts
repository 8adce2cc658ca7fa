import type { IncomingMessage, ServerResponse } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { RequestContext } from '../../gateway/context.ts';
import type { RequestFacts } from '../../gateway/graphql/endpoint.ts';
import { publicError } from '../../gateway/graphql/public-error.ts';
import { requestIdOf } from '../../gateway/rest/exchange.ts';
import { drained } from '../../gateway/rest/long-lists.ts';
import type { AuditEntry } from '../../generated/sqlite/client.ts';
import { requireRootAdmin } from '../../platform/auth/viewer.ts';
import { ERROR_STATUS, invalid } from '../../platform/errors.ts';
import type { Database } from '../../platform/storage/database.ts';
import { PAGE } from './audit-verification.ts';

export const AUDIT_PATH = '/audit.jsonl';

const DOWNLOAD = { operation: 'downloadAudit', input: {} } as const;

interface AuditDownloadOptions {
  readonly contextFor: (request: RequestFacts) => RequestContext | Promise<RequestContext>;
  readonly log: Logger;
}

/**
 * Download of all entries as JSON lines, page by page. `X-Audit-Head` has the sequence and hash of the newest entry.
 * Rights are checked before each page; if they have ended, the connection is aborted, so that clients do not mistake a
 * part for the whole.
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
    this.#respond(req, res).catch((error: unknown) => {
      const { log } = this.#options;
      if (res.headersSent) {
        if (!res.destroyed) log.error({ err: error, requestId }, 'the download of the audit was aborted');
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

  async #respond(req: IncomingMessage, res: ServerResponse): Promise<void> {
    if (req.method !== 'GET' && req.method !== 'HEAD') {
      res.writeHead(405, { allow: 'GET, HEAD' }).end();
      return;
    }
    const authorize = async (): Promise<RequestContext> => {
      const headers = req.headers as Record<string, string | undefined>;
      const facts = { headers, address: req.socket.remoteAddress ?? '', url: req.url ?? '' };
      const context = await this.#options.contextFor({ ...facts, isContinued: res.headersSent });
      try {
        requireRootAdmin(context.viewer);
      } catch (error) {
        // After the first page, the right ended during the download. That is not an attempt of an unauthorized caller.
        if (!res.headersSent) context.services.audit.refusedRead(DOWNLOAD, context, error);
        throw error;
      }
      return context;
    };
    const { db, services } = await authorize();
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
    for await (const lines of auditLines(db, range, sequence, authorize)) {
      if (!res.write(lines)) await drained(res);
      if (res.destroyed) return;
    }
    res.end();
  }
}

function rangeOf(url: string): AuditRange {
  const query = new URLSearchParams(url.split('?')[1] ?? '');
  const timeOf = (name: 'from' | 'to'): Date | null => {
    const text = query.get(name);
    if (text === null) return null;
    const at = new Date(text);
    if (Number.isNaN(at.getTime()))
      throw invalid([{ path: name, reason: 'must be a time such as 2026-01-31T00:00:00Z' }]);
    return at;
  };
  return { from: timeOf('from'), to: timeOf('to') };
}

interface AuditRange {
  readonly from?: Date | null | undefined;
  /** Exclusive; `from` is inclusive. */
  readonly to?: Date | null | undefined;
}

/** Errors: those of `authorize`, which is called before each page. */
export async function* auditLines(
  db: Database,
  { from, to }: AuditRange,
  last: number,
  authorize: () => unknown = () => undefined,
): AsyncGenerator<string, void, void> {
  let after = 0;
  for (;;) {
    await nextTurn();
    await authorize();
    const page = await db.auditEntry.findMany({
      where: {
        sequence: { gt: after, lte: last },
        ...((from || to) && { at: { ...(from && { gte: from }), ...(to && { lt: to }) } }),
      },
      orderBy: { sequence: 'asc' },
      take: PAGE,
    });
    if (page.length > 0) yield page.map(auditLine).join('');
    if (page.length < PAGE) return;
    after = page.at(-1)?.sequence ?? last;
  }
}

const auditLine = (entry: AuditEntry): string => `${JSON.stringify(entry)}\n`;
