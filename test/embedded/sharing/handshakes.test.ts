import type { Packet } from 'mqtt-packet';
import { expect, test } from 'vitest';
import { OwnEntry } from '../../../src/embedded/sharing/node-entries.ts';
import { collect, connect } from '../embedded.ts';
import { rawClient } from '../raw-client.ts';
import { type NodeCore, settled, startCores } from './node-core.ts';
import { useRedis } from './nodes.ts';

const redis = useRedis();

const session = { clientId: 'device', clean: false, protocolVersion: 4 } as const;
const message = (text: string, dup = false) =>
  ({ cmd: 'publish', topic: 'up', payload: text, qos: 2, messageId: 7, dup, retain: false }) as const;
const pubrel = (messageId: number) => ({ cmd: 'pubrel', messageId }) as const;

test('a QoS 2 message that its client sends again to another node is the same message, until it is released', async () => {
  const [one, two, three] = (await startCores(redis(), 3)) as [NodeCore, NodeCore, NodeCore];
  const watcher = await connect(three.mqttPort);
  const { messages, until } = collect(watcher);
  await watcher.subscribeAsync('up', { qos: 2 });
  const first = await rawClient(one.mqttPort, session);
  first.send(message('a'));
  await first.until('pubrec', 1);
  await first.leave();
  const second = await rawClient(two.mqttPort, session);
  second.send(message('a', true));
  await second.until('pubrec', 1);
  second.send(pubrel(7));
  await second.until('pubcomp', 1);
  await second.leave();
  // The packet id is free everywhere.
  const third = await rawClient(one.mqttPort, session);
  third.send(message('b'));
  await third.until('pubrec', 1);
  await until((all) => all.length >= 2);
  third.send(pubrel(7));
  await third.until('pubcomp', 1);
  await settled([one, two, three]);
  expect(messages.map(({ text }) => text)).toEqual(['a', 'b']);
  expect([one, two, three].map(({ store }) => store.incoming.count('device'))).toEqual([0, 0, 0]);
});

test('a QoS 2 message goes on at another node where its client left it', async () => {
  const [one, two] = (await startCores(redis(), 2)) as [NodeCore, NodeCore];
  const first = await rawClient(one.mqttPort, session, 'down');
  const publisher = await connect(two.mqttPort);
  await publisher.publishAsync('down', 'x', { qos: 2 });
  await first.until('publish', 1);
  const sent = (packets: readonly Packet[]) => packets.filter(({ cmd }) => cmd === 'publish' || cmd === 'pubrel');
  const original = sent(first.packets)[0] as { messageId: number };
  await first.leave();
  const second = await rawClient(two.mqttPort, session);
  await second.until('publish', 1);
  expect(sent(second.packets)).toMatchObject([{ cmd: 'publish', messageId: original.messageId, dup: true }]);
  second.send({ cmd: 'pubrec', messageId: original.messageId });
  await second.until('pubrel', 1);
  await second.leave();
  const third = await rawClient(one.mqttPort, session);
  await third.until('pubrel', 1);
  expect(sent(third.packets)).toMatchObject([{ cmd: 'pubrel', messageId: original.messageId }]);
  third.send({ cmd: 'pubcomp', messageId: original.messageId });
  await third.settle();
  await settled([one, two]);
  expect([one, two].map(({ store }) => store.queues.count)).toEqual([0, 0]);
});

test('what a connection asks for that was taken over at another node is not done any more', async () => {
  const [one, two] = (await startCores(redis(), 2)) as [NodeCore, NodeCore];
  const first = await rawClient(one.mqttPort, session);
  // In the log behind the take-over: the node has not read of it when it takes these.
  const taken = rawClient(two.mqttPort, session);
  first.send({ cmd: 'subscribe', messageId: 2, subscriptions: [{ topic: 'late', qos: 1 }] });
  first.send(message('once'));
  const second = await taken;
  second.send(message('once', true));
  await second.until('pubrec', 1);
  second.send(pubrel(7));
  await second.until('pubcomp', 1);
  await settled([one, two]);
  expect(one.state()).toEqual(two.state());
  expect(one.store.incoming.count('device')).toBe(0);
});

test('what a node sent as its client was taken over elsewhere keeps no packet id, which another message may get there', async () => {
  const [one, two] = (await startCores(redis(), 2)) as [NodeCore, NodeCore];
  const device = await rawClient(one.mqttPort, session);
  device.send({ cmd: 'subscribe', messageId: 1, subscriptions: [{ topic: 'down', qos: 1 }] });
  await device.until('suback', 1);
  const about = one.store.sessions.get('device')?.about;
  if (!about) throw new Error('there is no session');
  const at = Date.now();
  const publish = { id: null, number: 0, topic: 'down', qos: 1, retain: false, properties: null } as const;
  // Read together: the first node sends the message, and has to note it behind the end of the connection.
  void two.node.log.append(
    new OwnEntry('publish', { ...publish, messageId: undefined, isClean: true, isHeld: false, at }, 'x'),
  );
  const connecting = { id: 'device', number: 999, isCleanStart: false, isClean: false, expirySeconds: null } as const;
  await two.node.log.append(new OwnEntry('connect', { ...connecting, about, will: null, at }));
  await settled([one, two]);
  const queued = [one, two].map(({ store }) => [...(store.sessions.get('device')?.queue.values() ?? [])]);
  expect(queued.map((entries) => entries.map(({ packetId }) => packetId))).toEqual([[undefined], [undefined]]);
  expect([one, two].map(({ store }) => store.sessions.get('device')?.sentMessages)).toEqual([0, 0]);
});
