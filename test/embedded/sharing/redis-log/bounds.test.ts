import { expect, test, vi } from 'vitest';
import { startRedis } from '../../../support/redis.ts';
import { QUICK, startNode } from './cluster.ts';

const LOG = 'brokergraph:{test}:log';

test('Redis that is full stops the log until it has memory, and then everything is there once', async () => {
  const redis = await startRedis({ settings: [['maxmemory', '12mb']] });
  const reached: boolean[] = [];
  const a = await startNode(1, { url: redis.url, onReach: (isReached) => reached.push(isReached) });
  const b = await startNode(2, { url: redis.url });
  // The log keeps everything for the one that is gone.
  await (await startNode(3, { url: redis.url })).log.close();
  const payload = Buffer.alloc(200_000, 1);
  const appended = Array.from({ length: 100 }, (_, number) => a.append(`${number}`, payload));
  await vi.waitFor(() => expect(a.problems.join()).toContain('no memory'), { timeout: 30_000 });
  await vi.waitFor(() => expect(a.log.isReached).toBe(false));
  expect(a.log.pendingBytes).toBeGreaterThan(0);
  await redis.command('CONFIG', 'SET', 'maxmemory', '0');
  await Promise.all(appended);
  await b.has('1:99');
  const ofA = a.state.filter((text) => text !== 'lost 3');
  expect(ofA).toEqual(Array.from({ length: 100 }, (_, number) => `1:${number}`));
  expect(b.state).toEqual(a.state);
  expect(reached.slice(0, 2)).toEqual([true, false]);
  expect(a.log.isReached).toBe(true);
  expect(a.log.pendingBytes).toBe(0);
});

test('what all have is dropped from Redis after a while; what a node may still come back for is not', async () => {
  const redis = await startRedis();
  const a = await startNode(1, { url: redis.url });
  const b = await startNode(2, { url: redis.url });
  await b.log.close();
  const fill = async () => {
    for (let round = 0; round < 5; round++) {
      await Promise.all(Array.from({ length: 100 }, (_, i) => a.append(`${round}-${i}`, Buffer.alloc(1_000))));
    }
  };
  await fill();
  const before = Number(await redis.command('XLEN', LOG));
  const back = await startNode(2, { url: redis.url, former: b });
  expect(back.tookSnapshot).toBe(false);
  await back.has('1:4-99');
  await vi.waitFor(async () => expect(Number(await redis.command('XLEN', LOG))).toBeLessThan(before), {
    timeout: 30_000,
  });
});

test('Redis keeps so many bytes; a node that is farther behind begins with a snapshot', async () => {
  const redis = await startRedis();
  const bounds = { logBytes: 1_000_000, batchBytes: 10_000 };
  const a = await startNode(1, { url: redis.url, bounds });
  const b = await startNode(2, { url: redis.url, bounds });
  await b.log.close();
  for (let number = 0; number < 300; number++) await a.append(`${number}`, Buffer.alloc(10_000));
  await vi.waitFor(async () => expect(Number(await redis.command('XLEN', LOG))).toBeLessThan(110), { timeout: 30_000 });
  const back = await startNode(2, { url: redis.url, former: b, bounds });
  expect(back.tookSnapshot).toBe(true);
  await back.append('back');
  await a.has('2:back');
  expect(back.state).toEqual(a.state);
});

test('the place of a node that is gone for too long is given up', async () => {
  const redis = await startRedis();
  const timing = { ...QUICK, retention: 300 };
  const a = await startNode(1, { url: redis.url, timing });
  const b = await startNode(2, { url: redis.url, timing });
  await b.log.close();
  const placeOfB = () => redis.command('HGET', 'brokergraph:{test}:state', 'applied:2');
  await vi.waitFor(async () => expect(await placeOfB()).toBeNull(), { timeout: 30_000 });
  await vi.waitFor(() => expect(a.log.nodes).toEqual([{ nodeId: 1, isAlive: true }]));
});
