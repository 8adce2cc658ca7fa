import { describe, expect, test } from 'vitest';
import { hasHaproxy } from '../../support/haproxy.ts';
import { useNetwork } from '../../support/hosts/network.ts';
import { slowDisk } from '../../support/hosts/slow-disk.ts';
import { startEverything } from './everything-world.ts';

const hosts = useNetwork();
const canRun = hosts.unavailable === null && hasHaproxy;

/** How long each fault is repeated. */
const SECONDS = Number(process.env.EVERYTHING_SECONDS ?? 600);
const FLUSH_MS = 500;
const AHEAD_SECONDS = 300;
/** The balancer notices sooner, also on a busy machine. */
const SHUTDOWN_DELAY_MS = '8000';
/** From the loss of a socket to the first event of its subscriptions: 3 s, and more on a machine that is busy. */
const CONTINUED_MS = 30_000;

/**
 * The longest time without an event for a subscription to streams that receive messages all the time, in seconds. A
 * subscription is polled again 10 s after a late response. One in a process without a database ends after 15 s.
 */
const SILENT = { stopped: 40, cutOff: 40, withoutBroker: 45, failedOver: 40, slowDisk: 40 };

type World = Awaited<ReturnType<typeof startEverything>>;

/** Calls `fault` with a process, each in turn, until the time is over. */
async function repeat({ services }: World, fault: (service: World['services'][number]) => Promise<void>) {
  const end = performance.now() + SECONDS * 1_000;
  for (let nth = 0; performance.now() < end; nth += 1) {
    const service = services[nth % services.length];
    if (service !== undefined) await fault(service);
  }
}

/** A stream ran in one process at a time. */
function expectInOne({ pauses, silence }: Awaited<ReturnType<World['complete']>>, silent: number): void {
  expect(Math.min(...pauses)).toBeGreaterThan(0);
  expect(silence).toBeLessThan(silent);
}

const LONG = { timeout: (SECONDS + 1_200) * 1_000 };

describe.skipIf(!canRun)('three processes with streams, bridges, changes and subscriptions', LONG, () => {
  test('outlive a rolling restart, in which no request fails', async () => {
    const world = await startEverything(hosts.network, { env: { SHUTDOWN_DELAY_MS } });
    await repeat(world, async (service) => {
      await service.stop();
      await world.recovered();
      await service.start();
      await world.recovered();
    });
    expectInOne(await world.complete(), SILENT.stopped);
    expect(world.load.failures).toEqual([]);
    expect(world.subscriptions.endings.size).toBe(0);
    expect(world.subscriptions.restarts.longestMs).toBeLessThan(CONTINUED_MS);
  });

  test('outlive kill -9 of each in turn', async () => {
    const world = await startEverything(hosts.network);
    await repeat(world, async (service) => {
      await service.kill();
      await world.recovered();
      await service.start();
      await world.recovered();
    });
    expectInOne(await world.complete(), SILENT.stopped);
  });

  test('outlive that one of them cannot reach the database', async () => {
    const { network } = hosts;
    const world = await startEverything(network);
    await repeat(world, async (service) => {
      network.cut(service.host, world.databases);
      await world.recovered();
      network.healAll();
      await world.recovered();
    });
    expectInOne(await world.complete(), SILENT.cutOff);
  });

  test('outlive that one of them cannot reach the brokers', async () => {
    const { network } = hosts;
    const world = await startEverything(network);
    await repeat(world, async (service) => {
      const other = world.services.find((each) => each !== service) ?? service;
      network.cut(service.host, [world.brokers]);
      const states = async () => new Set(await world.statesOfStreams(service, other));
      await expect.poll(states, { timeout: 60_000 }).toEqual(new Set(['WAITING']));
      network.healAll();
      await world.recovered();
    });
    const { pauses, silence } = await world.complete();
    // The streams wait in their process.
    expect(pauses).toEqual([]);
    expect(silence).toBeLessThan(SILENT.withoutBroker);
  });

  test('outlive that one of them cannot reach the database and the brokers', async () => {
    const { network } = hosts;
    const world = await startEverything(network);
    await repeat(world, async (service) => {
      network.cut(service.host, [...world.databases, world.brokers]);
      await world.recovered();
      network.healAll();
      await world.recovered();
    });
    // The brokers still have the connections of the process that is cut off, which another one replaces: no pauses.
    expect((await world.complete()).silence).toBeLessThan(SILENT.cutOff);
  });

  test('outlive restarts of PostgreSQL', async () => {
    const world = await startEverything(hosts.network);
    await repeat(world, async () => {
      await world.pair.primary.kill();
      await world.pair.primary.start();
      await world.recovered();
    });
    expect((await world.complete()).silence).toBeLessThan(SILENT.stopped);
  });

  test('outlive that PostgreSQL fails over to its replica', async () => {
    const world = await startEverything(hosts.network);
    await repeat(world, async () => {
      await world.pair.killPrimary();
      await world.pair.moveToReplica();
      await world.pair.addReplica();
      await world.recovered();
    });
    expect((await world.complete()).silence).toBeLessThan(SILENT.failedOver);
  });

  test('outlive kill -9 and the loss of the database if the clock of one of them is five minutes ahead', async () => {
    const { network } = hosts;
    const world = await startEverything(network, { clockAheadSeconds: AHEAD_SECONDS });
    await repeat(world, async (service) => {
      await service.kill();
      await world.recovered();
      await service.start();
      await world.recovered();
      network.cut(service.host, world.databases);
      await world.recovered();
      network.healAll();
      await world.recovered();
    });
    expectInOne(await world.complete(), SILENT.cutOff);
  });

  test('outlive a slow disk of PostgreSQL', async () => {
    const { env, setDelay } = slowDisk();
    const world = await startEverything(hosts.network, { disk: env });
    await repeat(world, async () => {
      setDelay(FLUSH_MS);
      for (let round = 0; round < 5; round += 1) await world.recovered();
      setDelay(0);
      await world.recovered();
    });
    expect((await world.complete()).silence).toBeLessThan(SILENT.slowDisk);
  });
});
