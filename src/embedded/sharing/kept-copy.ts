import type { Journal } from '../store/journal.ts';

/** Each has one beside it (`before_…`) with the same columns. */
const ACCESS = ['access_client', 'access_group', 'access_role'];
const SHARED = ['retained', 'session', 'subscription', 'message', 'queue', 'incoming', 'delayed_will', 'will'];

const SETTINGS = 'accessControl';
const SETTINGS_BEFORE = 'accessControlBefore';
const KEPT = 'keptCopy';

/** ACCESS: sessions and messages are its own. SEED: all is, the others take it. ALL: it took those of the others. */
type Kept = 'ACCESS' | 'SEED' | 'ALL';

/*
 * What a broker had before it became a node of a cluster, in its journal: kept from before the first change until all nodes have joined.
 * A broker that is by itself before that has it again.
 */

export function keptIn(journal: Journal): Kept | null {
  const [row] = journal.rows<{ value: Kept }>('SELECT value FROM setting WHERE name = ?', KEPT);
  return row?.value ?? null;
}

/** Of a broker that is by itself. On disk when it resolves. */
export async function keepCopy(journal: Journal, { isSeed }: { readonly isSeed: boolean }): Promise<void> {
  if (!isSeed) copy(journal, ACCESS);
  journal.add('INSERT OR REPLACE INTO setting SELECT ?, value FROM setting WHERE name = ?', SETTINGS_BEFORE, SETTINGS);
  mark(journal, isSeed ? 'SEED' : 'ACCESS');
  await journal.commit();
}

/** Together with what is added to the journal next, which takes their place. */
export function keepShared(journal: Journal): void {
  if (keptIn(journal) !== 'ACCESS') return;
  copy(journal, SHARED);
  mark(journal, 'ALL');
}

/** It is a node for good, or was never to be one. */
export async function forgetCopy(journal: Journal): Promise<void> {
  if (keptIn(journal) === null) return;
  drop(journal);
  await journal.commit();
}

/** Whether a broker that is by itself, and keeps a copy, has other access control by now. */
export function isChanged(journal: Journal): boolean {
  if (keptIn(journal) !== 'ACCESS') return false;
  journal.flush();
  const [value] = journal.rows<{ value: string }>('SELECT value FROM setting WHERE name = ?', SETTINGS);
  const [before] = journal.rows<{ value: string }>('SELECT value FROM setting WHERE name = ?', SETTINGS_BEFORE);
  const differ = (one: string, other: string) =>
    journal.rows(`SELECT 1 FROM (SELECT * FROM ${one} EXCEPT SELECT * FROM ${other}) LIMIT 1`).length > 0;
  return (
    value?.value !== before?.value ||
    ACCESS.some((table) => differ(table, `before_${table}`) || differ(`before_${table}`, table))
  );
}

/** Before anything of the journal is loaded, by a broker that is by itself. On disk when it resolves; false: nothing is kept. */
export async function bringBack(journal: Journal): Promise<boolean> {
  const kept = keptIn(journal);
  if (kept === null) return false;
  if (kept !== 'SEED') {
    for (const table of kept === 'ALL' ? [...ACCESS, ...SHARED] : ACCESS) {
      journal.add(`DELETE FROM ${table}`);
      journal.add(`INSERT INTO ${table} SELECT * FROM before_${table}`);
    }
    journal.add(
      'INSERT OR REPLACE INTO setting SELECT ?, value FROM setting WHERE name = ?',
      SETTINGS,
      SETTINGS_BEFORE,
    );
  }
  drop(journal);
  await journal.commit();
  return true;
}

function copy(journal: Journal, tables: readonly string[]): void {
  for (const table of tables) {
    journal.add(`DELETE FROM before_${table}`);
    journal.add(`INSERT INTO before_${table} SELECT * FROM ${table}`);
  }
}

function mark(journal: Journal, kept: Kept): void {
  journal.add('INSERT OR REPLACE INTO setting (name, value) VALUES (?, ?)', KEPT, kept);
}

function drop(journal: Journal): void {
  for (const table of [...ACCESS, ...SHARED]) journal.add(`DELETE FROM before_${table}`);
  journal.add('DELETE FROM setting WHERE name IN (?, ?)', KEPT, SETTINGS_BEFORE);
}
