import { setImmediate as nextTurn } from 'node:timers/promises';
import { Response } from '@whatwg-node/server';
import type { Logger } from 'pino';
import type { RequestContext } from '../../gateway/context.ts';
import type { RequestFacts } from '../../gateway/graphql/endpoint.ts';
import { emptyResponse, type FetchHandler } from '../../gateway/http/fetch-handler.ts';
import { streamBody } from '../../gateway/http/stream-body.ts';
import { plainHandler } from '../../gateway/rest/plain-handler.ts';
import type { RestRequest } from '../../gateway/rest/rest-request.ts';
import type { AuditEntry } from '../../generated/sqlite/client.ts';
import { requireRootAdmin } from '../../platform/auth/viewer.ts';
import { epochOfIso, isDateTime } from '../../platform/date-times.ts';
import { invalid } from '../../platform/errors.ts';
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
export function auditDownload({ contextFor, log }: AuditDownloadOptions): FetchHandler {
  const respond = async (rest: RestRequest): Promise<Response> => {
    const { requestId, isHead, origin } = rest;
    if (rest.request.method !== 'GET' && !isHead) return emptyResponse(405, { allow: 'GET, HEAD' });
    const authorize = async (): Promise<RequestContext> => {
      const context = await contextFor(rest);
      try {
        requireRootAdmin(context.viewer);
      } catch (error) {
        // After the first page, the right ended during the download. That is not an attempt of an unauthorized caller.
        if (!rest.isContinued) context.services.audit.refusedRead(DOWNLOAD, context, error);
        throw error;
      }
      return context;
    };
    const { db, services } = await authorize();
    const range = rangeOf(rest.url);
    const { sequence, hash } = await services.audit.head();
    rest.isContinued = true;
    const onError = (err: unknown) => log.error({ err, requestId }, 'the download of the audit was aborted');
    const body = isHead ? null : streamBody(auditLines(db, range, sequence, authorize), origin, onError);
    return new Response(body, {
      headers: {
        'content-type': 'application/jsonl; charset=utf-8',
        'content-disposition': 'attachment; filename="audit.jsonl"',
        'cache-control': 'no-store',
        'x-content-type-options': 'nosniff',
        'x-audit-head': `${sequence} ${hash}`,
      },
    });
  };

  return plainHandler(respond, log);
}

/** Each at most once. */
const PARAMETERS: readonly string[] = ['from', 'to', 'token'];

function rangeOf(url: string): AuditRange {
  const query = new URLSearchParams(url.split('?')[1] ?? '');
  const names = [...query.keys()];
  const unknown = names.find((name, at) => !PARAMETERS.includes(name) || names.indexOf(name) !== at);
  if (unknown !== undefined) {
    throw invalid([{ path: unknown, reason: `is unknown or repeated: the parameters are ${PARAMETERS.join(', ')}` }]);
  }
  const timeOf = (name: 'from' | 'to'): Date | null => {
    const text = query.get(name);
    if (text === null) return null;
    const at = epochOfIso(text);
    if (!isDateTime(at)) throw invalid([{ path: name, reason: 'must be a time such as 2026-01-31T00:00:00Z' }]);
    return new Date(at);
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
