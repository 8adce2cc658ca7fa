import { once } from 'node:events';
import { createConnection } from 'node:net';
import { generate, type IConnectPacket } from 'mqtt-packet';
import { expect, onTestFinished, test } from 'vitest';
import { startMosquitto } from '../../support/mosquitto.ts';
import { ADMINISTRATOR, startBrokerHere } from './embedded.ts';
import { rawClient } from './raw-client.ts';
import { BROKERS, reasonOf, subscribe } from './shared.ts';
import { startTappedCore } from './tapped-core.ts';

/** Packets for clients with a Maximum Packet Size, and CONNACK of MQTT 3.1, on both brokers. */

const PORTS = {
  embedded: async () => (await startBrokerHere()).mqttPort,
  Mosquitto: async () => (await startMosquitto({ access: 'passwords' })).port,
};

const connectPacket = (maximumPacketSize: number, fields: Partial<IConnectPacket> = {}) =>
  generate({
    cmd: 'connect',
    protocolId: 'MQTT',
    protocolVersion: 5,
    clientId: 'sized',
    clean: true,
    keepalive: 0,
    username: ADMINISTRATOR.username,
    password: Buffer.from(ADMINISTRATOR.password),
    properties: { maximumPacketSize },
    ...fields,
  });

/** The bytes that the broker sends until it closes the connection, or its first packet. */
async function firstBytes(port: number, packet: Buffer): Promise<number> {
  const socket = createConnection(port, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  socket.on('error', () => {});
  socket.write(packet);
  const bytes = await Promise.race([
    once(socket, 'data').then(([chunk]: Buffer[]) => chunk?.length ?? 0),
    once(socket, 'close').then(() => 0),
  ]);
  const closed = socket.closed || once(socket, 'close');
  if (bytes > 0) socket.destroy();
  await closed;
  return bytes;
}

test.each(BROKERS)('CONNACK does not exceed the Maximum Packet Size [MQTT-3.1.2-24] (%s)', async (name) => {
  const port = await PORTS[name]();
  const wrong = { password: Buffer.from('wrong') };
  // Mosquitto 2.0.11 does not count the first byte of a packet.
  const uncounted = name === 'embedded' ? 0 : 1;
  const accepted = await firstBytes(port, connectPacket(1_000));
  expect(accepted).toBeGreaterThan(8);
  for (const [bytes, fields] of [
    [accepted, {}],
    [5, wrong],
  ] as const) {
    expect(await firstBytes(port, connectPacket(bytes, fields))).toBe(bytes);
    for (const limit of [1, 2, bytes - 1 - uncounted]) {
      expect(await firstBytes(port, connectPacket(limit, fields))).toBe(0);
    }
  }
  const other = await rawClient(port, { clientId: 'other' });
  await other.settle();
});

test('CONNACK that refuses a will does not exceed the Maximum Packet Size [MQTT-3.1.2-24]', async () => {
  const port = await PORTS.embedded();
  const will = { topic: 'a/#', payload: Buffer.from('x'), qos: 0, retain: false } as const;
  expect(await firstBytes(port, connectPacket(5, { will }))).toBe(5);
  expect(await firstBytes(port, connectPacket(4, { will }))).toBe(0);
});

test('an acknowledgement that would be too large has no reason string [MQTT-3.4.2-2]', async () => {
  const port = await PORTS.embedded();
  const reasonFor = async (maximumPacketSize: number) => {
    const client = await rawClient(port, { properties: { maximumPacketSize } });
    client.send({ cmd: 'publish', topic: '$SYS/x', payload: '', qos: 1, messageId: 1, dup: false, retain: false });
    await client.until('puback', 1);
    return client.packets.at(-1);
  };
  expect(await reasonFor(100)).toMatchObject({ reasonCode: 135, properties: { reasonString: expect.any(String) } });
  expect(await reasonFor(16)).not.toHaveProperty('properties');
  expect(await reasonFor(16)).toMatchObject({ reasonCode: 135 });
});

test.each(['suback', 'unsuback'] as const)(
  'a packet whose %s would be too large ends the connection with 0x95, and has no effect [MQTT-3.1.2-24]',
  async (cmd) => {
    const { port, store } = await startTappedCore();
    const session = { clean: false, clientId: 'sized' };
    const first = await rawClient(port, { ...session, properties: { sessionExpiryInterval: 60 } });
    const filters = (count: number) => Array.from({ length: count }, (_each, index) => `filter/${index}`);
    const kept = filters(cmd === 'suback' ? 25 : 26);
    await subscribe(first, kept);
    await first.leave();
    const properties = { sessionExpiryInterval: 60, maximumPacketSize: 30 };
    const client = await rawClient(port, { ...session, properties });
    const send = (count: number) => {
      const options = { qos: 0, nl: false, rap: false, rh: 0 } as const;
      const subscriptions = filters(count).map((topic) => ({ topic, ...options }));
      if (cmd === 'suback') client.send({ cmd: 'subscribe', messageId: count, subscriptions });
      else client.send({ cmd: 'unsubscribe', messageId: count, unsubscriptions: filters(count) });
    };
    if (cmd === 'suback') {
      send(25);
      await client.until('suback', 1);
    }
    send(26);
    expect(await reasonOf(client)).toBe(0x95);
    expect(client.count(cmd)).toBe(cmd === 'suback' ? 1 : 0);
    expect([...(store.sessions.get('sized')?.subscriptions.keys() ?? [])]).toEqual(kept);
    if (cmd === 'suback') return;
    const again = await rawClient(port, { ...session, properties });
    again.send({ cmd: 'unsubscribe', messageId: 1, unsubscriptions: filters(25) });
    await again.until('unsuback', 1);
    expect(store.sessions.get('sized')?.subscriptions.size).toBe(1);
  },
);

test.each(BROKERS)('CONNACK of MQTT 3.1 has no Session Present (%s)', async (name) => {
  const port = await PORTS[name]();
  const present = async (protocolVersion: 3 | 4) => {
    const fields = { clientId: 'again', clean: false, protocolVersion };
    const protocolId = protocolVersion === 3 ? 'MQIsdp' : 'MQTT';
    const client = await rawClient(port, { ...fields, protocolId }, 'a');
    await client.leave();
    return client.bytes()[2];
  };
  expect(await present(4)).toBe(0);
  expect(await present(4)).toBe(1);
  expect(await present(3)).toBe(0);
});
