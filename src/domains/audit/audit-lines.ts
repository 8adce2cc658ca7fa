import { setImmediate as others } from 'node:timers/promises';
import type { AuditEntry } from '../../generated/sqlite/client.ts';
import type { Database } from '../../platform/storage/database.ts';
import { PAGE } from './audit-verification.ts';

export interface AuditRange {
  /** From this moment on. */
  readonly from?: Date | null | undefined;
  /** Before this moment. */
  readonly to?: Date | null | undefined;
}

/**
 * The entries in their order as lines of JSON, a page at a time: those that are there when it begins. `mayGoOn` is asked before each page,
 * and its error ends the lines.
 */
export async function* auditLines(
  db: Database,
  { from, to }: AuditRange,
  last: number,
  mayGoOn: () => unknown = () => undefined,
): AsyncGenerator<string, void, void> {
  let after = 0;
  for (;;) {
    // SQLite answers within the turn: nothing else would run until the end.
    await others();
    await mayGoOn();
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

/** With the values as they are hashed: `before` and `after` are texts with JSON in them. */
const auditLine = (entry: AuditEntry): string => `${JSON.stringify(entry)}\n`;
