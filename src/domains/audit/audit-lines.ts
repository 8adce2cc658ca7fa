import { setImmediate as nextTurn } from 'node:timers/promises';
import type { AuditEntry } from '../../generated/sqlite/client.ts';
import type { Database } from '../../platform/storage/database.ts';
import { PAGE } from './audit-verification.ts';

export interface AuditRange {
  /** Inclusive. */
  readonly from?: Date | null | undefined;
  /** Exclusive. */
  readonly to?: Date | null | undefined;
}

/**
 * The entries up to the sequence `last` as JSON lines, page by page. An error of `authorize`, called before each page,
 * ends them.
 */
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

/** The hashed values: `before` and `after` are strings that contain JSON. */
const auditLine = (entry: AuditEntry): string => `${JSON.stringify(entry)}\n`;
