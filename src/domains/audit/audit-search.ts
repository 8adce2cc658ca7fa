/**
 * Each query covers WINDOW entries: without a suitable index the database scans all, and SQLite blocks the event loop.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { AuditEntry, Prisma } from '../../generated/sqlite/client.ts';
import type { Database } from '../../platform/storage/database.ts';

const WINDOW = 20_000;

export interface AuditPage {
  /** From the start of the list, or from its end if negative. Default: 20,000. */
  readonly take?: number | undefined;
  /** By time. Default: `desc`, the newest first. */
  readonly order?: 'asc' | 'desc' | undefined;
  readonly cursor?: { readonly sequence?: number | undefined } | undefined;
  readonly select?: Prisma.AuditEntrySelect | undefined;
}

export async function findEntries(
  db: Database,
  where: Prisma.AuditEntryWhereInput,
  { take = WINDOW, order = 'desc', cursor, select }: AuditPage,
  window = WINDOW,
): Promise<AuditEntry[]> {
  const isUpwards = take < 0 !== (order === 'asc');
  const wanted = Math.abs(take);
  let { first, last } = await endsOf(db);
  if (isUpwards) first = Math.max(first, (cursor?.sequence ?? 0) + 1);
  else last = Math.min(last, (cursor?.sequence ?? last + 1) - 1);
  const found: AuditEntry[] = [];
  while (first <= last && found.length < wanted) {
    await nextTurn();
    const from = isUpwards ? first : Math.max(first, last - window + 1);
    const to = isUpwards ? Math.min(last, first + window - 1) : last;
    const rows = await db.auditEntry.findMany({
      ...(select && { select }),
      where: { AND: [where, { sequence: { gte: from, lte: to } }] },
      orderBy: { sequence: isUpwards ? 'asc' : 'desc' },
      take: wanted - found.length,
    });
    found.push(...rows);
    if (isUpwards) first = to + 1;
    else last = from - 1;
  }
  return take < 0 ? found.reverse() : found;
}

export async function countEntries(db: Database, where: Prisma.AuditEntryWhereInput, window = WINDOW): Promise<number> {
  const { first, last } = await endsOf(db);
  let count = 0;
  for (let from = first; from <= last; from += window) {
    await nextTurn();
    const sequence = { gte: from, lte: Math.min(last, from + window - 1) };
    count += await db.auditEntry.count({ where: { AND: [where, { sequence }] } });
  }
  return count;
}

export async function endsOf(db: Database): Promise<{ first: number; last: number }> {
  const { _min, _max } = await db.auditEntry.aggregate({ _min: { sequence: true }, _max: { sequence: true } });
  return { first: _min.sequence ?? 1, last: _max.sequence ?? 0 };
}
