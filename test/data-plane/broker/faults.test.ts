import type { IPublishPacket } from 'mqtt-packet';
import { expect, test } from 'vitest';
import { rawClient } from './raw-client.ts';
import { startTappedCore } from './tapped-core.ts';

/** An exception of the broker's own code ends the connection that it was thrown for, and nothing else. */

const failing = (topic: string) => {
  if (topic.includes('fault')) throw new Error(`a fault on ${topic}`);
  return true;
};
const publish = (topic: string, qos: 0 | 1 | 2): IPublishPacket => ({
  cmd: 'publish',
  topic,
  payload: '',
  qos,
  ...(qos === 0 ? {} : { messageId: 7 }),
  retain: false,
  dup: false,
});

test('a fault in the handling of a packet closes the connection with 0x83, and is reported with its stack', async () => {
  const { port, faults, problems } = await startTappedCore(
    undefined,
    {},
    {
      mayPublish: (_identity, topic) => failing(topic),
      maySubscribe: (_identity, filter) => failing(filter),
    },
  );
  for (const protocolVersion of [4, 5] as const) {
    const packets = [
      publish('fault', 0),
      publish('fault', 1),
      publish('fault', 2),
      { cmd: 'subscribe', messageId: 1, subscriptions: [{ topic: 'fault', qos: 0 }] } as never,
    ];
    for (const packet of packets) {
      const client = await rawClient(port, { clientId: 'sender', protocolVersion });
      client.send(packet);
      await client.closed;
      if (protocolVersion === 5) expect(client.packets.at(-1)).toMatchObject({ cmd: 'disconnect', reasonCode: 0x83 });
    }
  }
  expect(faults).toHaveLength(8);
  for (const { kind, error } of faults) {
    expect(kind).toBe('connection');
    expect((error as Error).stack).toMatch(/a fault on fault\n\s+at failing/);
  }
  const sound = await rawClient(port, { clientId: 'sound' }, 'sound');
  sound.send(publish('sound', 1));
  await sound.until('publish', 1);
  expect(problems).toEqual([]);
});

test('a fault in the delivery of a message disconnects the subscriber, and other subscribers get the message', async () => {
  const { port, faults } = await startTappedCore(
    undefined,
    {},
    {
      mayReceive: ({ clientId }, topic) => (clientId === 'failing' ? failing(topic) : true),
    },
  );
  const broken = await rawClient(port, { clientId: 'failing' }, '#');
  const sound = await rawClient(port, { clientId: 'sound' }, '#');
  const sender = await rawClient(port, { clientId: 'sender' });
  sender.send(publish('fault', 1));
  await sender.until('puback', 1);
  await sound.until('publish', 1);
  await broken.closed;
  expect(broken.packets.at(-1)).toMatchObject({ cmd: 'disconnect', reasonCode: 0x83 });
  expect(faults).toHaveLength(1);
});

test('a will that cannot be stored does not affect the broker', async () => {
  const { port, faults } = await startTappedCore(undefined, {}, { mayPublish: (_identity, topic) => failing(topic) });
  const will = { topic: 'fault', payload: Buffer.from(''), qos: 1, retain: false } as const;
  const client = await rawClient(port, { clientId: 'willed', will });
  await client.leave();
  await expect.poll(() => faults).toHaveLength(1);
  const sound = await rawClient(port, { clientId: 'sound' }, 'sound');
  await sound.settle();
});

test('a session that cannot be resumed three times is moved into quarantine', async () => {
  let isFailing = false;
  const { port, faults, store } = await startTappedCore(
    undefined,
    {},
    {
      maySubscribe: (_identity, filter) => !isFailing || failing(filter),
    },
  );
  const session = { clientId: 'device', clean: false, properties: { sessionExpiryInterval: 1_000 } };
  const first = await rawClient(port, session, 'fault/#');
  await first.leave();
  const sender = await rawClient(port, { clientId: 'sender' });
  sender.send(publish('fault/x', 1));
  await sender.until('puback', 1);
  isFailing = true;
  for (const _time of [1, 2, 3]) {
    const client = await rawClient(port, session);
    expect(client.packets[0]).toMatchObject({ cmd: 'connack', reasonCode: 0x88 });
    await client.closed;
  }
  expect(faults).toHaveLength(3);
  const client = await rawClient(port, session);
  expect(client.packets[0]).toMatchObject({ cmd: 'connack', reasonCode: 0, sessionPresent: false });
  await client.settle();
  expect(client.count('publish')).toBe(0);
  expect(faults).toHaveLength(3);
  store.journal.flush();
  const moved = store.journal.rows<{ kind: string; record: string }>('SELECT kind, record FROM quarantine ORDER BY id');
  expect(moved.map(({ kind }) => kind)).toEqual(['queued message', 'subscription', 'session']);
  expect(JSON.parse(moved[0]?.record ?? '')).toMatchObject({ client_id: 'device', topic: 'fault/x' });
});
