/**
 * Each query covers WINDOW entries: without a suitable index the database scans all, and SQLite blocks the event loop.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { AuditEntry, Prisma } from '../../generated/sqlite/client.ts';
import { invalid } from '../../platform/errors.ts';
import type { Database, Engine } from '../../platform/storage/database.ts';
import { textIssues } from '../../platform/text/texts.ts';

const WINDOW = 20_000;

export interface AuditPage {
  /** Default: 20,000. */
  readonly take?: number | undefined;
  /** By `sequence`. Default: `desc`, the newest first. */
  readonly orderBy?: readonly { readonly sequence?: 'asc' | 'desc' }[];
  /** Excluded ends. */
  readonly where?: { readonly sequence?: { readonly gt?: number; readonly lt?: number } };
  readonly select?: Prisma.AuditEntrySelect | undefined;
}

/** SQLite refuses patterns of more than 50,000 bytes. */
const MAX_SEARCH = 1_000;

/**
 * Entries that contain a text, equally with both databases: only PostgreSQL treats `\` as an escape, and only SQLite
 * ignores the case. Errors: INVALID.
 */
export function searchCondition(search: string, engine: Engine): Prisma.AuditEntryWhereInput {
  const issues = textIssues('filter.search', search, { max: MAX_SEARCH });
  if (issues.length > 0) throw invalid(issues);
  const contains = (text: string) =>
    engine === 'sqlite' ? { contains: text } : { contains: text.replaceAll('\\', '\\\\'), mode: 'insensitive' };
  const plain = contains(search);
  // As values are stored.
  const inJson = contains(JSON.stringify(search).slice(1, -1));
  return { OR: [{ actorName: plain }, { targetId: plain }, { before: inJson }, { after: inJson }] };
}

/** An entry of a preview that succeeded: one that failed shows an attempt. `previewable`: operations with a dry run. */
export const previewCondition = (previewable: readonly string[]): Prisma.AuditEntryWhereInput => ({
  operation: { in: [...previewable] },
  result: 'DONE',
  // Not of the input of another operation, and never part of a text, in which quotation marks are escaped.
  after: { contains: '"dryRun":true' },
});

export async function findEntries(
  db: Database,
  where: Prisma.AuditEntryWhereInput,
  { take = WINDOW, orderBy = [], where: { sequence: { gt = 0, lt = Infinity } = {} } = {}, select }: AuditPage,
  window = WINDOW,
): Promise<AuditEntry[]> {
  const isUpwards = orderBy[0]?.sequence === 'asc';
  const ends = await endsOf(db);
  let first = Math.max(ends.first, gt + 1);
  let last = Math.min(ends.last, lt - 1);
  const found: AuditEntry[] = [];
  while (first <= last && found.length < take) {
    await nextTurn();
    const from = isUpwards ? first : Math.max(first, last - window + 1);
    const to = isUpwards ? Math.min(last, first + window - 1) : last;
    const rows = await db.auditEntry.findMany({
      ...(select && { select }),
      where: { AND: [where, { sequence: { gte: from, lte: to } }] },
      orderBy: { sequence: isUpwards ? 'asc' : 'desc' },
      take: take - found.length,
    });
    found.push(...rows);
    if (isUpwards) first = to + 1;
    else last = from - 1;
  }
  return found;
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
