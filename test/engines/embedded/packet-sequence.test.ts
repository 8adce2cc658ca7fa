import { expect, test } from 'vitest';
import { rawClient } from './raw-client.ts';
import { BROKERS, PORTS, reasonOf } from './shared.ts';

/** Packets that contradict earlier ones of their connection, and similar ones that do not, on both brokers. */

const PROTOCOL_ERROR = 0x82;

test.each(BROKERS)('an acknowledgement of the other QoS ends the connection [4.3.2, 4.3.3] (%s)', async (name) => {
  const port = await PORTS[name]();
  const publisher = await rawClient(port, { clientId: 'publisher' });
  const sentTo = async (clientId: string, qos: 1 | 2, clean: boolean) => {
    const session = clean ? {} : { properties: { sessionExpiryInterval: 60 } };
    const client = await rawClient(port, { clientId, clean, ...session }, `to/${clientId}`);
    const messageId = publisher.packets.length + 1;
    const message = { topic: `to/${clientId}`, payload: 'x', qos, messageId, dup: false, retain: false } as const;
    publisher.send({ cmd: 'publish', ...message });
    if (qos === 2) publisher.send({ cmd: 'pubrel', messageId });
    await client.until('publish', 1);
    await publisher.settle();
    return { client, messageId: client.packets.at(-1)?.messageId ?? 0 };
  };
  for (const clean of [true, false]) {
    const once = await sentTo(`once-${clean}`, 1, clean);
    once.client.send({ cmd: 'puback', messageId: once.messageId });
    await once.client.settle();
    const twice = await sentTo(`twice-${clean}`, 2, clean);
    twice.client.send({ cmd: 'pubrec', messageId: twice.messageId });
    await twice.client.until('pubrel', 1);
    twice.client.send({ cmd: 'pubcomp', messageId: twice.messageId });
    await twice.client.settle();
    // An identifier that belongs to no message.
    twice.client.send({ cmd: 'puback', messageId: 60_000 });
    await twice.client.settle();
    for (const [cmd, qos] of [
      ['puback', 2],
      ['pubrec', 1],
      ['pubcomp', 1],
    ] as const) {
      const { client, messageId } = await sentTo(`${cmd}-${clean}`, qos, clean);
      client.send({ cmd, messageId });
      const reason = await reasonOf(client);
      // Mosquitto closes the connection without DISCONNECT.
      if (name === 'embedded') expect(reason).toBe(PROTOCOL_ERROR);
    }
  }
  await publisher.settle();
});

test.each(BROKERS)('DISCONNECT does not extend a session that CONNECT let end [MQTT-3.14.2-2] (%s)', async (name) => {
  const port = await PORTS[name]();
  const disconnect = { cmd: 'disconnect', reasonCode: 0, properties: { sessionExpiryInterval: 60 } } as const;
  const ending = await rawClient(port, { clientId: 'ending' });
  ending.send(disconnect);
  expect(await reasonOf(ending)).toBe(PROTOCOL_ERROR);
  const staying = await rawClient(port, { clientId: 'staying', properties: { sessionExpiryInterval: 1 } });
  staying.send(disconnect);
  expect(await reasonOf(staying)).toBeUndefined();
  const again = await rawClient(port, { clientId: 'staying', clean: false });
  expect(again.packets[0]).toMatchObject({ cmd: 'connack', sessionPresent: true });
});
