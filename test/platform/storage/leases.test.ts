import { describe, expect, test } from 'vitest';
import { openTestStorage } from '../../support/database.ts';
import { UNAVAILABLE, usePostgres } from '../../support/postgres.ts';
import { endLeaseSessions } from '../../support/postgres-client.ts';

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
});
