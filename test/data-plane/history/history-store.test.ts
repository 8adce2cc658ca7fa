import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { HistoryQueue } from '../../../src/data-plane/history/hosting/history-queue.ts';
import type {
  HistoryModule,
  HistoryQueries,
  HistoryReader,
  HistoryRow,
} from '../../../src/data-plane/history/model/history-module.ts';
import type { HistoryState } from '../../../src/data-plane/history/model/history-state.ts';
import { gapsOf } from '../../../src/data-plane/history/store/gaps.ts';
import { HistoryCore } from '../../../src/data-plane/history/store/history-core.ts';
import type { HistoryDatabase } from '../../../src/data-plane/history/store/history-database.ts';
import { PostgresqlHistory } from '../../../src/data-plane/history/store/postgresql-history.ts';
import { SqliteHistory } from '../../../src/data-plane/history/store/sqlite-history.ts';
import { emptyDatabase, temporaryFolder } from '../../support/database.ts';
import { usePostgres } from '../../support/postgres.ts';
import { onTestFinished } from '../../support/shared.ts';

const postgres = usePostgres();
const HOUR = 3_600_000;
const DAY = 24 * HOUR;

interface Note {
  readonly at: number;
  readonly text: string;
  readonly payload: Buffer;
}

/** Notes, and their count per hour. */
const notes = (): HistoryModule<Note, typeof queries> => ({
  name: 'notes',
  tables: [
    { name: 'note', columns: { text: 'TEXT', payload: 'BYTES' }, key: ['text', 'at'], partitionMs: HOUR },
    { name: 'note_hour', columns: { notes: 'INTEGER' }, key: ['at'], replaces: true, partitionMs: DAY },
  ],
  rowsOf: (arrived) => new Map([['note', arrived.map(({ at, text, payload }): HistoryRow => [at, text, payload])]]),
  queries,
  rollUps: [
    async (db, _now, store) => {
      const counts = await db.all<{ hour: number; notes: number }>(
        `SELECT at / ${HOUR} AS hour, count(*) AS notes FROM history.note GROUP BY 1`,
      );
      await store(new Map([['note_hour', counts.map(({ hour, notes: count }): HistoryRow => [hour * HOUR, count])]]));
    },
  ],
});

const queries = {
  since: (db: HistoryReader, { from }: { from: number }) =>
    db.all('SELECT at, text, payload FROM history.note WHERE at >= $1 ORDER BY at', [from]),
  hours: (db: HistoryReader, _args: null) => db.all('SELECT at, notes FROM history.note_hour ORDER BY at'),
  gaps: (db: HistoryReader, _args: null) => gapsOf(db, 'notes', 0, Number.MAX_SAFE_INTEGER),
} satisfies HistoryQueries;

const note = (at: number, size = 10): Note => ({ at, text: `n${at}`, payload: Buffer.alloc(size, at % 250) });

describe.each(['SQLite', 'PostgreSQL'])('a history in %s', (engine) => {
  async function place(): Promise<() => HistoryDatabase> {
    if (engine === 'PostgreSQL') {
      const url = await emptyDatabase(postgres);
      return () => new PostgresqlHistory(url);
    }
    const folder = temporaryFolder();
    return () => new SqliteHistory({ file: join(folder, 'history.db'), minFreeBytes: 0 });
  }

  async function open(database: HistoryDatabase, options: { maxBytes?: number } = {}) {
    const problems: unknown[] = [];
    const states: HistoryState[] = [];
    const cuts: { table: string; bytes: number }[] = [];
    const core = new HistoryCore({
      database,
      modules: [notes()],
      keepMs: 2 * DAY,
      maxBytes: 1e9,
      onState: (state) => states.push(state),
      onCut: (cut) => cuts.push(cut),
      onProblem: (error) => problems.push(error),
      ...options,
    });
    await core.open();
    let closing: Promise<void> | null = null;
    const close = () => (closing ??= core.close());
    onTestFinished(close);
    const write = (arrived: readonly Note[]) => core.write([{ module: 'notes', arrived, gaps: [] }]);
    return { core, write, close, problems, states, cuts };
  }

  test('stores a batch once, derives rows, and reads both after a restart', async () => {
    const databaseOf = await place();
    const { core, write, close, problems } = await open(databaseOf());
    const now = 1_700_000_000_000;
    const batch = [note(now), note(now + 1), note(now + HOUR)];

    expect(await write(batch)).toEqual({ problem: null, code: null });
    expect(await write(batch)).toEqual({ problem: null, code: null });
    const gap = { from: 1, to: 2, lost: 3, reason: 'QUEUE_FULL' } as const;
    await core.write([{ module: 'notes', arrived: [], gaps: [gap] }]);
    await core.maintain(now + 2 * HOUR);
    await write([note(now + HOUR + 1)]);
    await core.maintain(now + 2 * HOUR);
    await close();

    const again = await open(databaseOf());
    const stored = (await again.core.query('notes', 'since', { from: now + 1 })) as Note[];
    expect(stored.map(({ at, text, payload }) => [at, text, payload])).toEqual(
      [...batch.slice(1), note(now + HOUR + 1)].map(({ at, text, payload }) => [at, text, payload]),
    );
    const hours = (await again.core.query('notes', 'hours', null)) as { notes: number }[];
    expect(hours.map(({ notes: count }) => count)).toEqual([2, 2]);
    expect([...problems, ...again.problems]).toEqual([]);
  });

  test('deletes what is too old, and the oldest part of what is too much', async () => {
    const databaseOf = await place();
    const first = await open(databaseOf());
    const now = 1_700_000_000_000;
    const times = Array.from({ length: 400 }, (_, nth) => now - nth * 0.01 * DAY);
    await first.write(times.map((at) => note(at, 4_000)));
    const gap = { from: now, to: now, lost: 1, reason: 'DISK_LOW' } as const;
    await first.core.write([{ module: 'notes', arrived: [], gaps: [gap] }]);
    await first.core.maintain(now);
    const kept = (await first.core.query('notes', 'since', { from: 0 })) as Note[];
    expect(kept.length).toBeGreaterThanOrEqual(200);
    expect(kept.length).toBeLessThanOrEqual(206);
    expect(await first.core.query('notes', 'gaps', null)).toEqual([gap]);
    await first.close();

    const second = await open(databaseOf(), { maxBytes: 500_000 });
    await second.core.maintain(now);
    const left = (await second.core.query('notes', 'since', { from: 0 })) as Note[];
    expect(left.length).toBeGreaterThan(0);
    expect(left.length).toBeLessThan(150);
    expect(left.at(-1)).toMatchObject({ at: now });
    // What the console shows: since when there is a history.
    const [all, rest] = [first, second].map(({ states }) => states.at(-1)?.oldest ?? 0);
    expect(all).toBeLessThanOrEqual(kept[0]?.at ?? 0);
    expect(rest).toBeLessThanOrEqual(left[0]?.at ?? 0);
    // PostgreSQL drops partitions, of which one is a day long here.
    if (engine === 'SQLite') expect(rest).toBeGreaterThan(all ?? 0);
  });

  test('a table that became too large today loses its own oldest rows, and no other table does', async () => {
    const { core, write, problems, states, cuts } = await open((await place())(), { maxBytes: 1_000_000 });
    const now = 1_700_000_000_000;
    await write([40, 30, 20].map((hours) => note(now - hours * HOUR)));
    await write(Array.from({ length: 1_000 }, (_, nth) => note(now - nth * 500, 1_500)));
    await core.maintain(now);

    expect(new Set(cuts.map(({ table }) => table))).toEqual(new Set(['note']));
    const { length } = cuts;
    expect(await core.query('notes', 'hours', null)).toHaveLength(4);
    const left = (await core.query('notes', 'since', { from: 0 })) as Note[];
    expect(left.length).toBeGreaterThan(100);
    expect(left.map(({ at }) => at)).toEqual(left.map((_, nth) => now - (left.length - 1 - nth) * 500));
    await write([note(now + 1)]);
    await core.maintain(now);
    expect(await core.query('notes', 'since', { from: 0 })).toHaveLength(left.length + 1);
    expect([cuts.length, problems]).toEqual([length, []]);
    expect(states.at(-1)?.bytes).toBeLessThan(1_000_000);
  });

  test('refuses a batch whole if a part of it fails, and stores the next one', async () => {
    const { core, write, problems } = await open((await place())());
    const wrong = { at: Number.NaN, text: 'x', payload: Buffer.alloc(1) };
    expect(await write([note(1_000), wrong])).toMatchObject({ code: 'REFUSED' });
    expect(await write([wrong])).toMatchObject({ code: 'REFUSED' });
    expect(problems).toHaveLength(1);
    expect(await write([note(2_000)])).toEqual({ problem: null, code: null });
    expect(await core.query('notes', 'since', { from: 0 })).toMatchObject([{ at: 2_000 }]);
  });
});

describe.skipIf(!postgres.available)('while another process maintains the history in PostgreSQL', () => {
  test('its lock is renewed, and this process has the size and the start of the history', async () => {
    const url = await emptyDatabase(postgres);
    const states: HistoryState[] = [];
    const core = new HistoryCore({
      database: new PostgresqlHistory(url),
      modules: [notes()],
      keepMs: 2 * DAY,
      maxBytes: 1e9,
      onState: (state) => states.push(state),
      onCut: () => undefined,
      onProblem: () => undefined,
    });
    onTestFinished(() => core.close());
    await core.open();
    await core.write([{ module: 'notes', arrived: [note(10 * HOUR)], gaps: [] }]);
    const other = new PostgresqlHistory(url);
    onTestFinished(() => other.close());
    await other.alone(async () => {
      await core.maintain(11 * HOUR);
      expect(states.at(-1)).toMatchObject({ oldest: 10 * HOUR, bytes: expect.any(Number) });
      const last = `SELECT query FROM pg_stat_activity WHERE pid IN (
        SELECT pid FROM pg_locks WHERE locktype = 'advisory') AND query NOT LIKE '%pg_stat_activity%'`;
      await expect.poll(() => other.all(last), { timeout: 30_000 }).toEqual([{ query: 'SELECT 1' }]);
    });
  });
});

test('SQLite refuses batches while the disk has too little space, and reads', async () => {
  const folder = temporaryFolder();
  const states: unknown[] = [];
  const core = new HistoryCore({
    database: new SqliteHistory({ file: join(folder, 'history.db'), minFreeBytes: Number.MAX_SAFE_INTEGER }),
    modules: [notes()],
    keepMs: DAY,
    maxBytes: 1e9,
    onState: (state) => states.push(state),
    onCut: () => undefined,
    onProblem: () => undefined,
  });
  onTestFinished(() => core.close());
  await core.open();
  expect(await core.write([{ module: 'notes', arrived: [note(1)], gaps: [] }])).toMatchObject({ code: 'DISK_LOW' });
  expect(states).toMatchObject([{ code: 'DISK_LOW' }]);
  expect(await core.query('notes', 'since', { from: 0 })).toEqual([]);
});

test('a full queue drops the oldest, and says how many of which time', () => {
  const queue = new HistoryQueue(1_000);
  for (let at = 1; at <= 12; at++) queue.add({ module: at % 2 ? 'a' : 'b', arrival: at, at, bytes: 100 }, 'QUEUE_FULL');
  const batch = queue.take(100);
  expect(batch?.taken.map(({ arrival }) => arrival)).toEqual([3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
  expect(batch?.gaps.get('a')).toEqual([{ from: 1, to: 1, lost: 1, reason: 'QUEUE_FULL' }]);
  expect(queue.dropped).toBe(2);
  if (batch !== null) queue.putBack(batch, 'UNAVAILABLE');
  for (let at = 13; at <= 14; at++) queue.add({ module: 'a', arrival: at, at, bytes: 100 }, 'UNAVAILABLE');
  const again = queue.take(100);
  expect(again?.taken.at(0)?.arrival).toBe(5);
  expect(again?.gaps.get('b')).toEqual([
    { from: 2, to: 2, lost: 1, reason: 'QUEUE_FULL' },
    { from: 4, to: 4, lost: 1, reason: 'UNAVAILABLE' },
  ]);
  expect(queue.take(1)).toBeNull();
});
