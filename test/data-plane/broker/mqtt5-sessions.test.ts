import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import mqtt, { type IClientOptions, type IConnackPacket, type MqttClient } from 'mqtt';
import { expect, onTestFinished, test } from 'vitest';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { startBrokerProcess } from './broker-process.ts';
import { ADMINISTRATOR, connect, control, packetsOf, startBrokerHere } from './embedded.ts';
import { rawClient } from './raw-client.ts';

const v5 = { protocolVersion: 5 } as const;
const PROPERTIES = {
  contentType: 'text/plain',
  responseTopic: 'answers/1',
  correlationData: Buffer.from([0, 1, 255]),
  userProperties: { unit: 'C', tag: ['a', 'b'] },
};

/** Connects, with whether the broker knew the session, collecting from the first message on. */
async function join(port: number, options: IClientOptions) {
  const client = mqtt.connect(`mqtt://127.0.0.1:${port}`, { ...ADMINISTRATOR, ...v5, reconnectPeriod: 0, ...options });
  onTestFinished(() => client.endAsync(true).then(() => {}));
  client.on('error', () => {});
  const seen = packetsOf(client);
  const { sessionPresent } = await new Promise<IConnackPacket>((resolve) => client.once('connect', resolve));
  return { client, sessionPresent, ...seen };
}

const lasting = (clientId: string, sessionExpiryInterval: number, clean = false) => ({
  clientId,
  clean,
  properties: { sessionExpiryInterval },
});

/** Ends the connection without DISCONNECT. */
const drop = async (client: MqttClient) => {
  const closed = once(client as unknown as NodeJS.EventEmitter, 'close');
  client.stream.destroy();
  await closed;
};

test('properties of retained and queued messages and of wills survive kill -9', async () => {
  const folder = temporaryFolder();
  const broker = await startBrokerProcess(folder);
  const properties = { ...PROPERTIES, messageExpiryInterval: 3600 };
  const device = await join(broker.port, lasting('device', 0xffff_ffff));
  await device.client.subscribeAsync('#', { qos: 1, properties: { subscriptionIdentifier: 5 }, rap: true });
  await device.client.endAsync();
  const will = { topic: 'will', payload: Buffer.from('w'), qos: 1, retain: false, properties: PROPERTIES } as const;
  const publisher = await join(broker.port, { will });
  await publisher.client.publishAsync('queued', 'q', { qos: 1, properties });
  await publisher.client.publishAsync('kept', 'k', { qos: 1, retain: true, properties });
  await broker.kill();

  const { port } = await startBrokerProcess(folder);
  const back = await join(port, lasting('device', 0xffff_ffff));
  expect(back.sessionPresent).toBe(true);
  await back.until((packets) => packets.length === 3);
  const byText = new Map(back.packets.map((packet) => [packet.text, packet]));
  expect(byText.get('q')).toMatchObject({ retain: false, properties: { ...PROPERTIES, subscriptionIdentifier: 5 } });
  expect(byText.get('k')).toMatchObject({ retain: true, properties: { ...PROPERTIES, subscriptionIdentifier: 5 } });
  expect(byText.get('w')).toMatchObject({ properties: PROPERTIES });
  for (const text of ['q', 'k']) {
    const left = byText.get(text)?.properties?.messageExpiryInterval;
    expect(left).toBeGreaterThan(3000);
    expect(left).toBeLessThanOrEqual(3600);
  }
  const reader = await join(port, {});
  await reader.client.subscribeAsync('kept', { qos: 1 });
  expect((await reader.until((packets) => packets.length > 0))[0]).toMatchObject({
    retain: true,
    properties: PROPERTIES,
  });
});

test('an expired message is delivered neither from a queue nor as retained message; other messages are delivered', async () => {
  const { mqttPort } = await startBrokerHere();
  const device = await join(mqttPort, lasting('device', 600));
  await device.client.subscribeAsync('q', { qos: 1 });
  await device.client.endAsync();
  const publisher = await connect(mqttPort, v5);
  for (const [text, messageExpiryInterval] of [
    ['short', 1],
    ['long', 600],
  ] as const) {
    await publisher.publishAsync('q', text, { qos: 1, properties: { messageExpiryInterval } });
    await publisher.publishAsync(`kept/${text}`, text, { qos: 1, retain: true, properties: { messageExpiryInterval } });
  }
  await delay(1_100);
  const back = await join(mqttPort, lasting('device', 600));
  await back.client.subscribeAsync('kept/+', { qos: 1 });
  await publisher.publishAsync('q', 'end', { qos: 1 });
  const seen = await back.until((packets) => packets.some(({ text }) => text === 'end') && packets.length >= 3);
  expect(seen.map(({ text }) => text).sort()).toEqual(['end', 'long', 'long']);
});

test('a session lasts for its Session Expiry Interval, also across kill -9', async () => {
  const folder = temporaryFolder();
  const broker = await startBrokerProcess(folder);
  const asked = { none: 0, short: 1, long: 600, forever: 0xffff_ffff };
  for (const [clientId, interval] of Object.entries(asked)) {
    const { client } = await join(broker.port, lasting(clientId, interval));
    await client.subscribeAsync('a', { qos: 1 });
    await client.endAsync();
  }
  // Deadlines are noticed within a second.
  await delay(2_300);
  const present = async (port: number) => {
    const known: string[] = [];
    for (const [clientId, interval] of Object.entries(asked)) {
      const { client, sessionPresent } = await join(port, lasting(clientId, interval));
      if (sessionPresent) known.push(clientId);
      await client.subscribeAsync('a', { qos: 1 });
      await client.endAsync();
    }
    return known;
  };
  expect(await present(broker.port)).toEqual(['long', 'forever']);
  await broker.kill();
  await delay(1_100);
  const again = await startBrokerProcess(folder);
  expect(await present(again.port)).toEqual(['long', 'forever']);
});

test('DISCONNECT may change the expiry; a clean start ends the existing session, and its new session stays', async () => {
  const { mqttPort } = await startBrokerHere();
  const publisher = await connect(mqttPort);
  const first = await join(mqttPort, lasting('device', 600));
  await first.client.subscribeAsync('a', { qos: 1 });
  await first.client.endAsync(false, { properties: { sessionExpiryInterval: 0 } });
  const second = await join(mqttPort, lasting('device', 600));
  expect(second.sessionPresent).toBe(false);
  await second.client.subscribeAsync('a', { qos: 1 });
  await second.client.endAsync();
  await publisher.publishAsync('a', 'old', { qos: 1 });

  const third = await join(mqttPort, lasting('device', 600, true));
  expect(third.sessionPresent).toBe(false);
  await third.client.subscribeAsync('a', { qos: 1 });
  await third.client.endAsync();
  await publisher.publishAsync('a', 'new', { qos: 1 });

  // It wants no session that outlives it, but the one that is there.
  const last = await join(mqttPort, lasting('device', 0));
  expect(last.sessionPresent).toBe(true);
  expect((await last.until((packets) => packets.length > 0)).map(({ text }) => text)).toEqual(['new']);
  await last.client.endAsync();
  expect((await join(mqttPort, lasting('device', 600))).sessionPresent).toBe(false);
});

test('a delayed will is cancelled if the client reconnects, and published at the latest when the session ends', async () => {
  const folder = temporaryFolder();
  const broker = await startBrokerProcess(folder);
  const watcher = await join(broker.port, lasting('watcher', 600));
  await watcher.client.subscribeAsync('will/#', { qos: 1 });
  const withWill = (clientId: string, expiry: number, willDelayInterval: number) => ({
    ...lasting(clientId, expiry),
    will: {
      topic: `will/${clientId}`,
      payload: Buffer.from(clientId),
      qos: 1 as const,
      retain: false,
      properties: { ...PROPERTIES, willDelayInterval },
    },
  });
  const back = withWill('back', 600, 2);
  const gone = withWill('gone', 600, 1);
  const ended = withWill('ended', 1, 600);
  const now = withWill('now', 0, 600);
  const killed = withWill('killed', 600, 600);
  const vanish = async (...all: ReturnType<typeof withWill>[]) => {
    for (const options of all) await drop((await join(broker.port, options)).client);
  };
  await vanish(now, killed);
  await watcher.until((packets) => packets.length === 1);
  expect(watcher.packets[0]).toMatchObject({ topic: 'will/now', properties: PROPERTIES });
  await vanish(gone, ended, back);
  await join(broker.port, back);
  await watcher.until((packets) => packets.length === 3);
  expect(
    watcher.packets
      .slice(1)
      .map(({ text }) => text)
      .sort(),
  ).toEqual(['ended', 'gone']);
  // Longer than the will of the one that came back was put off.
  await delay(1_500);
  expect(watcher.packets).toHaveLength(3);

  await broker.kill();
  const { port } = await startBrokerProcess(folder);
  const again = await join(port, lasting('watcher', 600));
  // A new session ends the old one, and so its will is due.
  await join(port, { ...lasting('killed', 600, true) });
  const [late] = await again.until((packets) => packets.length > 0);
  expect(late).toMatchObject({ topic: 'will/killed', properties: PROPERTIES });
});

test.each([4, 5] as const)(
  'a session without subscriptions is reported as present (MQTT %i) [MQTT-3.2.2-2]',
  async (version) => {
    const { mqttPort } = await startBrokerHere();
    const properties = version === 5 ? { sessionExpiryInterval: 60 } : {};
    const options = { protocolVersion: version, clientId: 'empty', clean: false, properties } as const;
    const present = [];
    for (const clean of [false, false, true, false]) {
      const raw = await rawClient(mqttPort, { ...options, clean });
      const [connack] = raw.packets;
      present.push(connack?.cmd === 'connack' && connack.sessionPresent);
      await raw.leave();
    }
    // Before MQTT 5 the session of a clean start ends with its connection.
    expect(present).toEqual([false, true, false, version === 5]);
  },
);

test('a session that ends with its connection ends when the connection is taken over', async () => {
  const { mqttPort } = await startBrokerHere();
  const options = { clientId: 'ending', clean: false } as const;
  const first = await rawClient(mqttPort, { ...options, properties: { sessionExpiryInterval: 60 } }, 'a');
  await first.leave();
  const second = await rawClient(mqttPort, options);
  expect(second.packets).toMatchObject([{ cmd: 'connack', sessionPresent: true }]);
  const third = await rawClient(mqttPort, { ...options, properties: { sessionExpiryInterval: 60 } });
  expect(third.packets).toMatchObject([{ cmd: 'connack', sessionPresent: false }]);
  const admin = await connect(mqttPort);
  const [answer] = await control(admin, 'cedalo/inspect', { commands: [{ command: 'getClient', clientid: 'ending' }] });
  expect(answer?.data).toMatchObject({ connected: true, subscriptions: [] });
});

test('the delayed will of a session that DISCONNECT ends is published immediately [MQTT-3.1.3-9]', async () => {
  const { mqttPort } = await startBrokerHere();
  const watcher = await rawClient(mqttPort, { clientId: 'watcher' }, 'will/#');
  const leave = async (clientId: string, sessionExpiryInterval: number) => {
    const properties = { willDelayInterval: 600 };
    const will = { topic: `will/${clientId}`, payload: Buffer.from('x'), qos: 0, retain: false, properties } as const;
    const client = await rawClient(mqttPort, { clientId, will, properties: { sessionExpiryInterval: 600 } });
    client.send({ cmd: 'disconnect', reasonCode: 4, properties: { sessionExpiryInterval } });
    await client.closed;
  };
  await leave('staying', 300);
  await leave('ending', 0);
  await watcher.until('publish', 1);
  await watcher.settle();
  const topics = watcher.packets.flatMap((packet) => (packet.cmd === 'publish' ? [packet.topic] : []));
  expect(topics).toEqual(['will/ending']);
});
