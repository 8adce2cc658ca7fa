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

test.each(BROKERS)('PUBCOMP without PUBREC ends the connection [MQTT-4.3.3-11] (%s)', async (name) => {
  const port = await PORTS[name]();
  const publisher = await rawClient(port, { clientId: 'publisher' });
  for (const sessionExpiryInterval of [0, 60]) {
    const clean = sessionExpiryInterval === 0;
    const fields = { clientId: `hasty-${clean}`, clean, properties: { sessionExpiryInterval } };
    const hasty = await rawClient(port, fields, `to/${clean}`);
    const message = { topic: `to/${clean}`, payload: 'x', qos: 2, messageId: 7, dup: false, retain: false } as const;
    publisher.send({ cmd: 'publish', ...message });
    publisher.send({ cmd: 'pubrel', messageId: 7 });
    await hasty.until('publish', 1);
    const messageId = hasty.packets.at(-1)?.messageId ?? 0;
    hasty.send({ cmd: 'pubcomp', messageId });
    const reason = await reasonOf(hasty);
    if (name === 'embedded') expect(reason).toBe(PROTOCOL_ERROR);
    if (clean) continue;
    // The message is not lost, and may be acknowledged in the order of the specification, also after a reconnect.
    const again = await rawClient(port, fields);
    await again.until('publish', 1);
    again.send({ cmd: 'pubrec', messageId });
    await again.until('pubrel', 1);
    await again.leave();
    const last = await rawClient(port, fields);
    await last.until('pubrel', 1);
    last.send({ cmd: 'pubcomp', messageId });
    await last.settle();
  }
});

test('a Server Reference in DISCONNECT may be there once [3.14.2.2.5]', async () => {
  const port = await PORTS.embedded();
  const reference = Buffer.from([0x1c, 0, 1, 0x61]);
  const disconnect = (...properties: readonly Buffer[]) => {
    const { length } = Buffer.concat(properties);
    return Buffer.concat([Buffer.from([0xe0, length + 2, 0, length]), ...properties]);
  };
  const [once, twice] = [await rawClient(port, { clientId: 'once' }), await rawClient(port, { clientId: 'twice' })];
  once.write(disconnect(reference));
  twice.write(disconnect(reference, reference));
  expect(await reasonOf(once)).toBeUndefined();
  expect(await reasonOf(twice)).toBe(PROTOCOL_ERROR);
});
