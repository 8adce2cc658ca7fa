import type { MqttClient } from 'mqtt';
import { expect, test } from 'vitest';
import { ClusterPlugin } from '../../../src/embedded/sharing/cluster-plugin.ts';
import { type BatchHead, encodeBatch, writeEntry } from '../../../src/embedded/sharing/redis-log/batch-codec.ts';
import { startRedis } from '../../support/redis.ts';
import { collect, connect } from '../embedded.ts';
import { type NodeCore, settled, startCores } from './node-core.ts';
import { collectFrom, eventually } from './nodes.ts';

const NUMBERS = Array.from({ length: 20 }, (_, index) => String(index));

async function withSession(node: NodeCore, clientId: string): Promise<void> {
  const client = await connect(node.mqttPort, { clientId, clean: false });
  await client.subscribeAsync('q', { qos: 2 });
  await client.endAsync();
}

async function publishAll(client: MqttClient, from: number): Promise<void> {
  for (const number of NUMBERS) await client.publishAsync('q', `${from}:${number}`, { qos: 1 });
}

const expected = (...from: number[]) => from.flatMap((one) => NUMBERS.map((number) => `${one}:${number}`));

test('while Redis stands still nobody is let in and nothing is acknowledged; afterwards all goes on', async () => {
  const redis = await startRedis();
  // As long as it takes until it is found that nothing answers.
  const timing = { beat: 200, expiry: 5_000, vote: 60_000 };
  const [one, two] = (await startCores(redis, 2, { timing })) as [NodeCore, NodeCore];
  await withSession(one, 's');
  const publisher = await connect(one.mqttPort, { clientId: 'p' });
  const near = await connect(one.mqttPort, { clientId: 'near' });
  const { until: nearUntil } = collect(near);
  await near.subscribeAsync('zero');
  await publishAll(publisher, 0);
  redis.standStill();
  await eventually(async () => !one.node.log.isReached && !two.node.log.isReached);
  await expect(connect(two.mqttPort, { clientId: 'x' })).rejects.toThrow('Server unavailable');
  // The service asks how it is.
  const service = { clientId: 'own-1', protocolVersion: 5, properties: { sessionExpiryInterval: 60 } } as const;
  await (await connect(two.mqttPort, service)).endAsync();
  expect(two.store.sessions.get('own-1')).toBeUndefined();
  expect(new ClusterPlugin(two.node, two.store.journal).execute({ command: 'getNode' })).toMatchObject({
    nodeId: 2,
    state: 'CUT_OFF',
  });
  // What nobody has to know elsewhere goes on.
  await publisher.publishAsync('zero', 'x', { qos: 0 });
  await nearUntil((all) => all.length === 1);
  let isAcknowledged = false;
  const held = publishAll(publisher, 1).then(() => {
    isAcknowledged = true;
  });
  // Of somebody whose publishes wait the broker reads no more than this.
  const sent = Array.from({ length: 3_000 }, () =>
    near.publishAsync('flood', Buffer.alloc(2_000), { qos: 1 }).catch(() => null),
  );
  const reading = one.registry.connection('near');
  await eventually(async () => reading?.held?.isEmpty === false && near.stream.writableLength > 0);
  expect(reading?.bytesRead).toBeLessThan(2_000_000);
  expect(isAcknowledged).toBe(false);
  redis.goOn();
  await Promise.all([held, ...sent]);
  await settled([one, two]);
  const { until } = collectFrom(two.mqttPort, { clientId: 's', clean: false });
  const messages = await until((all) => all.length >= 40);
  expect(messages.map(({ text }) => text)).toEqual(expected(0, 1));
  expect([...one.ends, ...two.ends]).toEqual([]);
});

test.each([
  { durable: true, what: 'keeps what it had' },
  { durable: false, what: 'has lost everything' },
])('Redis that is killed and started again, and $what, loses nothing that was acknowledged', async ({ durable }) => {
  const redis = await startRedis({ durable });
  const nodes = await startCores(redis, 3);
  const [one, two, three] = nodes as [NodeCore, NodeCore, NodeCore];
  await withSession(one, 's');
  const publisher = await connect(one.mqttPort, { clientId: 'p' });
  await publishAll(publisher, 0);
  await publisher.publishAsync('kept', 'before', { qos: 1, retain: true });
  await redis.kill();
  await eventually(async () => nodes.every(({ node }) => !node.log.isReached));
  const held = publishAll(publisher, 1);
  await redis.start();
  await held;
  // Those that had not come as far begin anew, which the service sees to.
  const there = nodes.filter(({ ends }) => ends.length === 0);
  expect(there).toContain(one);
  await settled(there);
  for (const other of there) expect(other.state()).toEqual(one.state());
  const at = there.includes(three) ? three : there.includes(two) ? two : one;
  const { until } = collectFrom(at.mqttPort, { clientId: 's', clean: false });
  const messages = await until((all) => all.length >= 40);
  expect(messages.map(({ text }) => text)).toEqual(expected(0, 1));
});

/** What is in the log at the next place, by somebody who may write to Redis, and why it is nothing for a node. `of` another one. */
const HOSTILE: readonly {
  readonly what: string;
  readonly name?: 'b' | 's';
  readonly generation?: number;
  readonly value: (of: NodeCore, one: NodeCore) => Buffer | string;
  readonly reason: RegExp;
}[] = [
  { what: 'another version', value: (of) => Buffer.from(batchOf(of)).fill(9, 0, 1), reason: /version 9/ },
  { what: 'a cut batch', value: (of) => batchOf(of).subarray(0, -3), reason: /cut off/ },
  { what: 'an entry of another version', value: (of) => batchOf(of, { kind: 'constructor' }), reason: /not know/ },
  { what: 'a batch of nobody', value: (of) => batchOf(of, { nodeId: 7 }), reason: /does not follow/ },
  { what: 'a batch of its own that it has not sent', value: (_, one) => batchOf(one), reason: /has not sent/ },
  { what: 'another generation', generation: 9, value: (of) => batchOf(of), reason: /not in the log any more/ },
  { what: 'a record of nobody', name: 's', value: () => '{"type":"joined"}', reason: /cannot be read/ },
  {
    what: 'another epoch',
    name: 's',
    value: () => JSON.stringify({ type: 'begun', epoch: 'x', former: { epoch: 'y', position: '1-1' }, members: {} }),
    reason: /begun anew/,
  },
];

/** The next one of a node, which ends a subscription; two of them, so that something follows the first. */
function batchOf(
  { nodeId, node }: NodeCore,
  { kind = 'unsubscribeAway', ...other }: Partial<BatchHead> & { kind?: string } = {},
): Buffer {
  const own = node.log.place.members.find((member) => member.nodeId === nodeId);
  if (own === undefined) throw new Error('it is no member');
  const entry = writeEntry({ kind, about: { id: 's', filter: 'q' } });
  return encodeBatch({ ...own, number: own.number + 1, ...other }, [entry, entry]);
}

test('a node takes nothing of what others put into the log, ends and says why', async () => {
  const redis = await startRedis();
  const told = HOSTILE.map(async ({ what, name = 'b', generation = null, value }) => {
    const [one, two] = (await startCores(redis, 2)) as [NodeCore, NodeCore];
    await withSession(one, 's');
    await settled([one, two]);
    const before = one.state();
    const [now = 0, number = 0] = one.node.log.place.position.split('-').map(Number);
    const at = `${generation ?? now}-${number + 1}`;
    const log = `brokergraph:{${one.node.cluster.clusterId}}:log`;
    await redis.command('XADD', log, at, name, value(two, one), 't', '0');
    await eventually(async () => one.ends.length > 0);
    expect([what, one.node.log.isReached, one.state()]).toEqual([what, false, before]);
    return [what, one.ends.map(({ message }) => message)];
  });
  const expectedReasons = HOSTILE.map(({ what, reason }) => [what, [expect.stringMatching(reason)]]);
  expect(await Promise.all(told)).toEqual(expectedReasons);
});
