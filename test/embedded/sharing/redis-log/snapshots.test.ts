import { createClient } from '@redis/client';
import { expect, onTestFinished, test, vi } from 'vitest';
import { openRedisLog } from '../../../../src/embedded/sharing/redis-log/open-redis-log.ts';
import { startRedis } from '../../../support/redis.ts';
import { startRelay } from '../../../support/relay.ts';
import { QUICK, startNode } from './cluster.ts';

const UNUSED = { apply: () => undefined, told: () => undefined, lost: () => undefined, reached: () => undefined };

test('nodes that begin while others append have the same as they, each given by one of them', async () => {
  const { url } = await startRedis();
  let given = 0;
  const onSnapshot = () => {
    given += 1;
  };
  const a = await startNode(1, { url, onSnapshot });
  const b = await startNode(2, { url, onSnapshot });
  expect(given).toBe(1);
  let isOver = false;
  const append = async () => {
    for (let number = 0; !isOver; number++) await Promise.all([a.append(`${number}`), b.append(`${number}`)]);
  };
  const appending = append();
  await a.has('1:20');
  const [c, d] = await Promise.all([startNode(3, { url, onSnapshot }), startNode(4, { url, onSnapshot })]);
  expect(given).toBe(3);
  isOver = true;
  await appending;
  await Promise.all([c, d].map((node) => node.append('end')));
  for (const node of [a, b, c, d]) await Promise.all([node.has('3:end'), node.has('4:end')]);
  expect(c.state).toContain('1:20');
  for (const node of [b, c, d]) expect(node.state).toEqual(a.state);
});

test('what a node begins with is what it had when it comes back in time, and a snapshot otherwise', async () => {
  const redis = await startRedis();
  const { url } = redis;
  const a = await startNode(1, { url });
  const b = await startNode(2, { url });
  await b.append('before');
  await b.log.close();
  await a.append('meanwhile');
  const back = await startNode(2, { url, former: b });
  expect(back.tookSnapshot).toBe(false);
  await a.append('end');
  await back.has('1:end');
  expect(back.state).toEqual(a.state);

  await back.log.close();
  await a.append('one');
  await a.append('two');
  await redis.command('XTRIM', 'brokergraph:{test}:log', 'MAXLEN', '1');
  const late = await startNode(2, { url, former: back });
  expect(late.tookSnapshot).toBe(true);
  await late.append('back');
  await a.has('2:back');
  expect(late.state).toEqual(a.state);
});

test('a snapshot goes through Redis in parts, and whoever gives it waits for the one that takes it', async () => {
  const { url } = await startRedis();
  const entries = 300;
  const payload = Buffer.alloc(100_000, 1);
  let pulled = 0;
  const seed = await openRedisLog({
    url,
    clusterId: 'test',
    nodeId: 1,
    isSeed: true,
    place: null,
    timing: QUICK,
    onProblem: () => undefined,
    onEnd: () => undefined,
  });
  onTestFinished(() => seed.log.close());
  seed.start({
    ...UNUSED,
    *snapshot() {
      for (; pulled < entries; pulled++) yield { kind: 'row', about: { pulled }, payload };
    },
  });
  const second = await openRedisLog({
    url,
    clusterId: 'test',
    nodeId: 2,
    isSeed: false,
    place: null,
    timing: QUICK,
    onProblem: () => undefined,
    onEnd: () => undefined,
  });
  onTestFinished(() => second.log.close());
  const client = createClient({ url });
  await client.connect();
  onTestFinished(() => client.destroy());
  let most = 0;
  let taken = 0;
  let ahead = 0;
  for await (const entry of second.snapshot ?? []) {
    expect(entry.about).toEqual({ pulled: taken });
    taken += 1;
    if (taken % 20 !== 1) continue;
    for (const key of await client.keys('brokergraph:{test}:snapshot:*')) most = Math.max(most, await client.lLen(key));
    ahead = Math.max(ahead, pulled - taken);
  }
  expect(taken).toBe(entries);
  expect(most).toBeGreaterThan(0);
  // 64 parts of up to 256 KiB: two rows in each.
  expect(most).toBeLessThanOrEqual(65);
  expect(ahead).toBeLessThan(150);
});

test('a node whose snapshot breaks off begins again with another one', async () => {
  const { url, port } = await startRedis();
  const relay = await startRelay(port);
  const payload = Buffer.alloc(200_000, 1);
  const common = { clusterId: 'test', place: null, timing: QUICK, onProblem: () => undefined, onEnd: () => undefined };
  const seed = await openRedisLog({ ...common, url: relay.url.replace('mqtt', 'redis'), nodeId: 1, isSeed: true });
  onTestFinished(() => seed.log.close());
  seed.start({
    ...UNUSED,
    *snapshot() {
      for (let row = 0; row < 100; row++) yield { kind: 'row', about: { row }, payload };
    },
  });
  const join = () => openRedisLog({ ...common, url, nodeId: 2, isSeed: false, timing: { ...QUICK, snapshot: 500 } });
  const first = await join();
  relay.cut();
  const take = async (snapshot: AsyncIterable<unknown> | null) => {
    let rows = 0;
    for await (const _row of snapshot ?? []) rows += 1;
    return rows;
  };
  await expect(take(first.snapshot)).rejects.toMatchObject({ reason: 'NO_SNAPSHOT' });
  await first.log.close();
  const second = await join();
  onTestFinished(() => second.log.close());
  expect(await take(second.snapshot)).toBe(100);
});

test('a node that nobody gives anything says so, waits, and can be given up', async () => {
  const { url } = await startRedis();
  const a = await startNode(1, { url });
  await a.log.close();
  const problems: string[] = [];
  const controller = new AbortController();
  const opening = openRedisLog({
    url,
    clusterId: 'test',
    nodeId: 2,
    isSeed: false,
    place: null,
    timing: { ...QUICK, snapshot: 100 },
    onProblem: (problem) => problems.push(problem),
    onEnd: () => undefined,
    signal: controller.signal,
  });
  await vi.waitFor(() => expect(problems).toHaveLength(1), { timeout: 30_000 });
  expect(problems[0]).toContain('waits for another one');
  controller.abort(new Error('enough'));
  await expect(opening).rejects.toThrow('enough');
});
