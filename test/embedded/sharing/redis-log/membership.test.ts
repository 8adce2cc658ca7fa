import { expect, onTestFinished, test, vi } from 'vitest';
import type { LogEnded } from '../../../../src/embedded/sharing/redis-log/log-options.ts';
import { LOG_SCRIPTS } from '../../../../src/embedded/sharing/redis-log/log-scripts.ts';
import { openRedisLog } from '../../../../src/embedded/sharing/redis-log/open-redis-log.ts';
import { startRedis } from '../../../support/redis.ts';
import { startRelay } from '../../../support/relay.ts';
import { QUICK, startNode } from './cluster.ts';
import { startNodeProcess } from './node-process.ts';

/** Of the node that judges the others. */
const STRICT = { ...QUICK, expiry: 1_500 };

/** Of node 3, before and after the first `lost 3`. */
function ofNode3(state: readonly string[]) {
  const at = state.indexOf('lost 3');
  const own = (part: readonly string[]) => part.filter((text) => text.startsWith('3:')).map((text) => text.slice(2));
  return { before: own(state.slice(0, at)), after: own(state.slice(at)) };
}

test('a node that stands still for too long is lost once for all, and ends when it goes on, without another entry', async () => {
  const { url } = await startRedis();
  const a = await startNode(1, { url, timing: STRICT });
  const b = await startNode(2, { url });
  const c = await startNodeProcess({ url, nodeId: 3, timing: QUICK });
  c.standStill();
  await Promise.all([a.has('lost 3'), b.has('lost 3')]);
  c.goOn();
  expect(await c.ended).toBe('LOST');
  await a.append('end');
  await b.has('1:end');
  expect(b.state).toEqual(a.state);
  expect(a.state.filter((text) => text === 'lost 3')).toHaveLength(1);
  const { before, after } = ofNode3(a.state);
  expect(before).toEqual(expect.arrayContaining([...c.appended]));
  expect(after).toEqual([]);
  expect(a.log.nodes.map(({ isAlive }) => isAlive)).toEqual([true, true, false]);
});

test('a node that is killed and begins again at once is lost before it appends anything', async () => {
  const { url } = await startRedis();
  const a = await startNode(1, { url });
  const first = await startNodeProcess({ url, nodeId: 3, timing: QUICK });
  await first.kill();
  const again = await startNode(3, { url });
  await again.append('again');
  await a.has('3:again');
  const { before, after } = ofNode3(a.state);
  expect(before).toEqual(expect.arrayContaining([...first.appended]));
  expect(after).toEqual(['again']);
  expect(again.state).toEqual(a.state);
});

test('a second process of a node is refused while the first one is there, and takes over from one that stands still', async () => {
  const { url } = await startRedis();
  const a = await startNode(1, { url });
  const first = await startNodeProcess({ url, nodeId: 3, timing: QUICK });
  // It looks for heartbeats for one and a half of its own.
  const timing = { ...QUICK, beat: 500 };
  await expect(startNode(3, { url, timing })).rejects.toMatchObject({ reason: 'TAKEN' });
  const soFar = first.appended.length;
  await vi.waitFor(() => expect(first.appended.length).toBeGreaterThan(soFar));

  first.standStill();
  const second = await startNode(3, { url, timing });
  await second.append('second');
  first.goOn();
  expect(await first.ended).toBe('TAKEN');
  await second.append('still');
  await a.has('3:still');
  expect(ofNode3(a.state).after).toEqual(['second', 'still']);
});

test('nobody is lost because Redis stood still', async () => {
  const redis = await startRedis();
  const a = await startNode(1, { url: redis.url, timing: STRICT });
  const b = await startNode(2, { url: redis.url, timing: STRICT });
  await vi.waitFor(() => expect(a.log.nodes).toHaveLength(2));
  redis.standStill();
  // Both have noticed: an answer is late by more than a node may be.
  await vi.waitFor(() => expect([a.log.isReached, b.log.isReached]).toEqual([false, false]), { timeout: 30_000 });
  const appended = [a.append('meanwhile'), b.append('meanwhile')];
  redis.goOn();
  await Promise.all(appended);
  await a.has('2:meanwhile');
  await b.has('1:meanwhile');
  expect(a.state).toEqual(b.state);
  expect(a.state).toHaveLength(2);
});

test('a node that was cut off for less than it takes to be lost goes on, and what it appended is there once', async () => {
  const { url, port } = await startRedis();
  const relay = await startRelay(port);
  const a = await startNode(1, { url });
  const b = await startNode(2, { url: relay.url.replace('mqtt', 'redis') });
  const appended: Promise<void>[] = [];
  for (let number = 0; number < 200; number++) {
    appended.push(b.append(`${number}`));
    if (number % 50 === 25) {
      relay.cut();
      await appended.at(-1);
    }
  }
  await Promise.all(appended);
  await a.has('2:199');
  expect(a.state).toEqual(Array.from({ length: 200 }, (_, number) => `2:${number}`));
  expect(b.state).toEqual(a.state);
});

test('Redis takes each batch of a run once and in order, and none of who is not a member', async () => {
  const redis = await startRedis();
  const a = await startNode(1, { url: redis.url });
  await a.append('first');
  const own = a.place.members.find(({ nodeId }) => nodeId === 1);
  expect(own?.number).toBe(1);
  const keys = ['state', 'log', 'votes'].map((name) => `brokergraph:{test}:${name}`);
  const append = (nodeId: number, run: string, number: number) =>
    redis.command('EVAL', LOG_SCRIPTS.append, '3', ...keys, `${nodeId}`, run, `${number}`, 'never there');
  const length = await redis.command('XLEN', keys[1] ?? '');
  expect(await append(1, own?.run ?? '', 1)).toBe('OK');
  expect(await append(1, own?.run ?? '', 3)).toBe('GAP');
  expect(await append(1, 'another-run', 2)).toBe('TAKEN');
  expect(await append(2, 'another-run', 1)).toBe('LOST');
  expect(await redis.command('XLEN', keys[1] ?? '')).toBe(length);
  await a.append('second');
  expect(a.state).toEqual(['1:first', '1:second']);
});

test('a node that has joined and loads what it has is not taken for lost, however long it says nothing', async () => {
  const redis = await startRedis();
  // As long as a busy machine may need for another link.
  const timing = { ...QUICK, expiry: 2_000 };
  const a = await startNode(1, { url: redis.url, timing });
  const ends: LogEnded[] = [];
  const opened = await openRedisLog({
    url: redis.url,
    clusterId: 'test',
    nodeId: 2,
    isSeed: false,
    place: a.place,
    timing,
    onProblem: () => undefined,
    onEnd: (error) => ends.push(error),
  });
  onTestFinished(() => opened.log.close());
  // From now on it tells nothing; the other one makes itself another link.
  await redis.command('CLIENT', 'KILL', 'TYPE', 'normal');
  const beatOf = async (nodeId: number) =>
    Number(await redis.command('HGET', 'brokergraph:{test}:state', `beat:${nodeId}`));
  const since = Date.now();
  // A node's first beat is ahead of its time.
  const hasGoneOn = async () => {
    const beat = await beatOf(1);
    return beat > since + 5_000 && beat <= Date.now();
  };
  await vi.waitFor(async () => expect(await hasGoneOn()).toBe(true), { timeout: 60_000 });
  expect(a.state).not.toContain('lost 2');
  expect(a.log.nodes).toEqual([1, 2].map((nodeId) => ({ nodeId, isAlive: true })));
  const begun = new Promise<void>((resolve) => {
    opened.start({
      apply: () => undefined,
      told: () => undefined,
      reached: () => resolve(),
      lost: () => undefined,
      snapshot: () => [],
    });
  });
  await begun;
  await opened.log.append({ kind: 'text', about: { text: 'late' } });
  await a.has('2:late');
  expect(ends).toEqual([]);
});
