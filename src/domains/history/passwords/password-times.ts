import { runInSlices, type SlicedTask } from '../../../platform/scheduling/sliced-task.ts';
import type { Database } from '../../../platform/storage/database.ts';
import { findEntries } from '../../audit/audit-search.ts';
import { changesIn, type RecordedEntry } from '../access-changes/recorded-changes.ts';
import { operationsOf } from '../marks/mark-kinds.ts';

/** An entry has at most 16 kB, so these take less than a second. */
const MAX_ENTRIES = 1_000;

/** When this service set the passwords of accounts, as far as the audit records it. */
export interface PasswordTimes {
  /** By user name. `null` if the account was deleted afterwards. */
  readonly setAt: ReadonlyMap<string, Date | null>;
  /** Earlier changes are not known. `null` if the audit is empty. */
  readonly recordedSince: Date | null;
  /** Number of entries that do not say which of their changes were made. */
  readonly partEntries: number;
}

/** Passwords themselves are masked in the audit. The newest entry of an account counts. */
export async function readPasswordTimes(db: Database, brokerId: string): Promise<PasswordTimes> {
  const where = { brokerId, operation: { in: operationsOf(['ACCESS']) }, result: { in: ['DONE', 'UNKNOWN'] } };
  const entries = await findEntries(db, where, { take: MAX_ENTRIES });
  const oldest =
    entries.length === MAX_ENTRIES
      ? entries.at(-1)
      : await db.auditEntry.findFirst({ orderBy: { sequence: 'asc' }, select: { at: true } });
  return { ...(await runInSlices(timesIn(entries))), recordedSince: oldest?.at ?? null };
}

function* timesIn(entries: readonly RecordedEntry[]): SlicedTask<Omit<PasswordTimes, 'recordedSince'>> {
  const setAt = new Map<string, Date | null>();
  let partEntries = 0;
  for (const entry of entries) {
    const { changes, isWhole } = changesIn(entry);
    if (!isWhole) partEntries += 1;
    for (const [mutation, change] of changes.reverse()) {
      const { username } = change;
      if (typeof username !== 'string' || setAt.has(username)) continue;
      if (mutation === 'deleteAccount') setAt.set(username, null);
      else if (typeof change.password === 'string') setAt.set(username, entry.at);
    }
    yield;
  }
  return { setAt, partEntries };
}
