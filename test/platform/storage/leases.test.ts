import { describe, expect, test } from 'vitest';
import { openTestStorage } from '../../support/database.ts';
import { UNAVAILABLE, usePostgres } from '../../support/postgres.ts';
import { endLeaseSessions, openPostgresClient } from '../../support/postgres-client.ts';

const postgres = usePostgres();

test('a single process holds every lease until it releases it', async () => {
  const { leases } = await openTestStorage({ databaseUrl: undefined });
  const told: boolean[] = [];
  const lease = leases.want('a', (held) => told.push(held));
  expect(await lease.attempt()).toBe(true);
  expect(told).toEqual([true]);
  await lease.release();
  expect(lease.held).toBe(false);
});

/** As SIGSTOP does: no timer and no event is handled meanwhile. */
const stopThread = (ms: number) => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);

describe.skipIf(!postgres.available)(`on PostgreSQL${postgres.available ? '' : ` (${UNAVAILABLE})`}`, () => {
  const two = async () => {
    const databaseUrl = await postgres.createDatabase();
    const first = await openTestStorage({ databaseUrl });
    return { databaseUrl, first, second: await openTestStorage({ databaseUrl }) };
  };

  test('one of two processes holds a lease, and the other acquires it after the release', async () => {
    const { first, second } = await two();
    const one = first.leases.want('a', () => undefined);
    expect(await one.attempt()).toBe(true);
    const told: boolean[] = [];
    const other = second.leases.want('a', (held) => told.push(held));
    expect(await other.attempt()).toBe(false);
    expect(await second.leases.want('b', () => undefined).attempt()).toBe(true);
    await one.release();
    await expect.poll(() => told).toEqual([true]);
    expect(other.held).toBe(true);
  });

  test('the exit of a process releases all of its leases', async () => {
    const { first, second } = await two();
    expect(await first.leases.want('a', () => undefined).attempt()).toBe(true);
    const told: boolean[] = [];
    expect(await second.leases.want('a', (held) => told.push(held)).attempt()).toBe(false);
    await first.close();
    await expect.poll(() => told).toEqual([true]);
  });

  test('a process that was stopped for longer than its leases holds none afterwards, even before it has noticed', async () => {
    const { first, second } = await two();
    const told: boolean[] = [];
    const lease = first.leases.want('a', (held) => told.push(held));
    expect(await lease.attempt()).toBe(true);
    stopThread(7_000);
    expect([lease.held, told]).toEqual([false, [true]]);
    await expect.poll(() => told.slice(0, 2)).toEqual([true, false]);
    const other = second.leases.want('a', () => undefined);
    await expect.poll(async () => [await lease.attempt(), await other.attempt()].filter(Boolean).length).toBe(1);
  });

  test('a lost connection loses the leases, which are then tried again', async () => {
    const { databaseUrl, first } = await two();
    const told: boolean[] = [];
    const lease = first.leases.want('a', (held) => told.push(held));
    expect(await lease.attempt()).toBe(true);
    await endLeaseSessions(databaseUrl);
    await expect.poll(() => told).toEqual([true, false]);
    expect(await lease.attempt()).toBe(true);
    expect(told).toEqual([true, false, true]);
  });

  const locksOf = async (databaseUrl: string) => {
    const client = await openPostgresClient(databaseUrl);
    const { rows } = await client.query(
      `SELECT FROM pg_locks WHERE locktype = 'advisory'
       AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
    );
    return rows.length;
  };

  test('the leases of 1,000 brokers need no lock each, and others take them over when their session ends', async () => {
    const { databaseUrl, first, second } = await two();
    const names = Array.from({ length: 1_000 }, (_, n) => `broker:brk_${n}`);
    const other = first.leases.want('process:a', () => undefined);
    expect(await other.attempt()).toBe(true);
    const mine = names.map((name) => first.leases.want(name, () => undefined));
    await expect.poll(() => mine.every(({ held }) => held)).toBe(true);
    const theirs = names.map((name) => second.leases.want(name, () => undefined));
    expect(await theirs[500]?.attempt()).toBe(false);
    expect(await locksOf(databaseUrl)).toBeLessThan(20);

    await mine[7]?.release();
    await expect.poll(() => theirs.map(({ held }) => held).indexOf(true)).toBe(7);
    expect(theirs.filter(({ held }) => held)).toHaveLength(1);
    await first.close();
    await expect.poll(() => theirs.every(({ held }) => held)).toBe(true);
    expect(await locksOf(databaseUrl)).toBeLessThan(20);
  });

  test('a process of the version before and this one exclude each other', async () => {
    const { databaseUrl, first } = await two();
    const early = first.leases.want('broker:early', () => undefined);
    expect(await early.attempt()).toBe(true);
    const previous = await openPostgresClient(databaseUrl, 'brokergraph leases');
    const take = async (name: string) =>
      (await previous.query(`SELECT pg_try_advisory_lock(hashtextextended($1, ${0x62677368})) AS held`, [name])).rows[0]
        .held;
    expect(await take('broker:theirs')).toBe(true);
    expect(await first.leases.want('broker:theirs', () => undefined).attempt()).toBe(false);
    const mine = first.leases.want('broker:mine', () => undefined);
    expect(await mine.attempt()).toBe(true);
    expect(await take('broker:mine')).toBe(false);
    // What this process held before the other one connected is locked within a second, or given up.
    const wasTaken = await take('broker:early');
    await expect.poll(() => early.held).toBe(!wasTaken);
    await previous.query('SELECT pg_advisory_unlock_all()');
    expect(await take('broker:late')).toBe(true);
    const late = first.leases.want('broker:late', () => undefined);
    expect(await late.attempt()).toBe(false);

    await previous.end();
    await expect.poll(() => late.held).toBe(true);
    await expect.poll(() => early.held).toBe(true);
    await expect.poll(() => locksOf(databaseUrl)).toBe(1);
    expect(mine.held).toBe(true);
  });
});
