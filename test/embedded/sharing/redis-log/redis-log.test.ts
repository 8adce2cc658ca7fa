import { expect, test, vi } from 'vitest';
import { openRedisLog } from '../../../../src/embedded/sharing/redis-log/open-redis-log.ts';
import type { LogEntry } from '../../../../src/embedded/sharing/shared-log.ts';
import { startRedis } from '../../../support/redis.ts';
import { startNode } from './cluster.ts';

test('all nodes read the same entries in the same order, their own ones as they appended them', async () => {
  const { url } = await startRedis();
  const nodes = [await startNode(1, { url }), await startNode(2, { url }), await startNode(3, { url })];
  const appended: Promise<void>[] = [];
  for (let round = 0; round < 100; round++) {
    for (const node of nodes) appended.push(node.append(`${round}`));
    if (round % 7 === 0) await appended.at(-1);
  }
  await Promise.all(appended);
  for (const node of nodes) await Promise.all(nodes.map(({ nodeId }) => node.has(`${nodeId}:99`)));
  const states = nodes.map(({ state }) => state);
  expect(states[0]).toHaveLength(300);
  expect(states[1]).toEqual(states[0]);
  expect(states[2]).toEqual(states[0]);
  for (const { nodeId, log } of nodes) {
    const own = states[0]?.filter((text) => text.startsWith(`${nodeId}:`));
    expect(own).toEqual(Array.from({ length: 100 }, (_, round) => `${nodeId}:${round}`));
    expect(log.pendingBytes).toBe(0);
  }
});

test('an entry comes back to its own node as the same object, and to others with all it says', async () => {
  const { url } = await startRedis();
  const own: LogEntry[] = [];
  const others: LogEntry[] = [];
  const a = await startNode(1, { url, onApply: (entry) => own.push(entry) });
  const b = await startNode(2, { url, onApply: (entry) => others.push(entry) });
  const entries: LogEntry[] = [
    { kind: 'bytes', about: { text: 'ä\u0000"', list: [1, null] }, payload: Buffer.from([0, 255, 10, 13]) },
    { kind: 'text', about: { text: '2' }, payload: 'wörds' },
    { kind: 'empty text', about: { text: '3' }, payload: '' },
    { kind: 'no bytes', about: { text: '4' }, payload: new Uint8Array() },
    { kind: 'none', about: { text: '5' } },
    { kind: 'large', about: { text: '6' }, payload: Buffer.alloc(12 * 1_048_576, 7) },
    { kind: 'last', about: { text: '7' } },
  ];
  await Promise.all(entries.map((entry) => a.log.append(entry)));
  await b.has('1:7');
  expect(own.every((entry, index) => entry === entries[index])).toBe(true);
  const plain = ({ kind, about, payload }: LogEntry) => ({
    kind,
    about,
    payload: payload instanceof Uint8Array ? Buffer.from(payload).toString('base64') : payload,
  });
  expect(others.map(plain)).toEqual(entries.map(plain));
  expect(a.origins.every(({ isOwn, nodeId }) => isOwn && nodeId === 1)).toBe(true);
  expect(b.origins.every(({ isOwn, nodeId }) => !isOwn && nodeId === 1)).toBe(true);
});

test('an entry that no log takes is refused, and those beside it are not', async () => {
  const { url } = await startRedis();
  const node = await startNode(1, { url });
  const before = node.append('before');
  await expect(node.log.append({ kind: 'k'.repeat(256), about: {} })).rejects.toThrow(RangeError);
  await Promise.all([before, node.append('after')]);
  expect(node.state).toEqual(['1:before', '1:after']);
});

test('what is told reaches the nodes that are there, and not the one that tells it', async () => {
  const { url } = await startRedis();
  const a = await startNode(1, { url });
  const b = await startNode(2, { url });
  await Promise.all([a.append('a'), b.append('b')]);
  for (let number = 0; number < 10; number++) a.log.tell({ kind: 'text', about: { text: `${number}` } });
  await vi.waitFor(() => expect(b.told).toHaveLength(10));
  expect(b.told).toEqual(Array.from({ length: 10 }, (_, number) => `1:${number}`));
  b.log.tell({ kind: 'text', about: { text: 'back' } });
  await vi.waitFor(() => expect(a.told).toEqual(['2:back']));
  expect(a.state).toHaveLength(2);
});

test('a node that closes leaves at once, when what it has appended is there', async () => {
  const { url } = await startRedis();
  const a = await startNode(1, { url });
  const b = await startNode(2, { url });
  await vi.waitFor(() => expect(a.log.nodes).toEqual([1, 2].map((nodeId) => ({ nodeId, isAlive: true }))));
  const last = b.append('last');
  await b.log.close();
  await last;
  await a.has('lost 2');
  expect(a.state).toEqual(['2:last', 'lost 2']);
  await expect(b.append('more')).rejects.toMatchObject({ reason: 'CLOSED' });
  await vi.waitFor(() => expect(a.log.nodes).toContainEqual({ nodeId: 2, isAlive: false }));
  expect(a.log.isReached).toBe(true);
  expect(a.log.behind).toBe(0);
});

test('clusters of one Redis know nothing of each other', async () => {
  const { url } = await startRedis();
  const a = await startNode(1, { url });
  const other = await startNode(1, { url, clusterId: 'other' });
  await a.append('a');
  await other.append('other');
  expect(a.state).toEqual(['1:a']);
  expect(other.state).toEqual(['1:other']);
});

test('what is no batch ends the node with a reason, and does not end the process', async () => {
  const redis = await startRedis();
  const a = await startNode(1, { url: redis.url });
  await a.append('first');
  const [generation, number] = a.place.position.split('-').map(Number);
  await redis.command(
    'XADD',
    'brokergraph:{test}:log',
    `${generation}-${Number(number) + 1}`,
    'b',
    'nonsense',
    't',
    '0',
  );
  expect(await a.ended).toMatchObject({ reason: 'BROKEN', message: expect.stringContaining('cannot be read') });
  await expect(a.append('more')).rejects.toMatchObject({ reason: 'BROKEN' });
  expect(a.log.isReached).toBe(false);
});

test('a node that cannot apply an entry ends', async () => {
  const { url } = await startRedis();
  const a = await startNode(1, {
    url,
    onApply: () => {
      throw new Error('the disk is full');
    },
  });
  await expect(a.append('first')).rejects.toMatchObject({ reason: 'BROKEN' });
  expect((await a.ended).message).toContain('the disk is full');
});

test('the password of Redis is in no problem that is told', async () => {
  const { url, port } = await startRedis({ password: 'right-one' });
  const node = await startNode(1, { url });
  await node.append('first');
  for (const wrong of [`redis://:planted-secret@127.0.0.1:${port}`, 'redis://u:planted-secret@127.0.0.1:1']) {
    const told: string[] = [];
    const controller = new AbortController();
    const opening = openRedisLog({
      url: wrong,
      clusterId: 'test',
      nodeId: 2,
      isSeed: false,
      place: null,
      onEnd: () => undefined,
      onProblem: (problem) => {
        told.push(problem);
        controller.abort(new Error('enough'));
      },
      signal: controller.signal,
    });
    await expect(opening).rejects.toThrow('enough');
    expect(told).toHaveLength(1);
    expect(told[0]).toMatch(/^Redis cannot be reached: (WRONGPASS|connect ECONNREFUSED)/);
    expect(told.join()).not.toContain('planted-secret');
  }
  const noUrl = startNode(2, { url: 'planted-secret' });
  await expect(noUrl).rejects.toThrow(TypeError);
  await expect(noUrl).rejects.not.toThrow('planted-secret');
});

test('a user of Redis with its own keys, channels and these commands alone is enough', async () => {
  const redis = await startRedis();
  const commands =
    'evalsha script|load xread ping subscribe unsubscribe publish getdel set rpush pexpire llen blpop unlink info time xadd hset hget hmget hgetall hdel hsetnx xrange xtrim del hello';
  const rights = [
    '~brokergraph:*',
    'resetchannels',
    '&brokergraph:*',
    ...commands.split(' ').map((name) => `+${name}`),
  ];
  await redis.command('ACL', 'SETUSER', 'node', 'on', '>secret', ...rights);
  const url = `redis://node:secret@127.0.0.1:${redis.port}`;
  const a = await startNode(1, { url });
  const b = await startNode(2, { url });
  await a.append('x');
  await b.has('1:x');
  a.log.tell({ kind: 'text', about: { text: 't' } });
  await expect.poll(() => b.told).toEqual(['1:t']);
  expect([...a.problems, ...b.problems, ...((await redis.command('ACL', 'LOG')) as unknown[])]).toEqual([]);
});
