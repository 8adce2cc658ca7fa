import { once } from 'node:events';
import { createServer } from 'node:net';
import { generate, type Packet, parser } from 'mqtt-packet';
import { expect, onTestFinished, test } from 'vitest';
import { type ArrivedMessage, MqttBridgeSession } from '../../../../src/data-plane/bridges/link/mqtt-bridge-session.ts';
import { startMosquitto } from '../../../support/mosquitto.ts';

async function openSession(url: string, version: 4 | 5): Promise<MqttBridgeSession> {
  const session = new MqttBridgeSession({ id: 'test', url, clientId: 'session', timeoutMs: 30_000, version });
  onTestFinished(() => session.close({ discard: true }));
  const connected = new Promise<void>((resolve) => {
    session.onStatus(({ state }) => state === 'CONNECTED' && resolve());
  });
  session.open();
  await connected;
  expect(session.protocolVersion).toBe(version);
  return session;
}

async function hear(session: MqttBridgeSession, filter: string) {
  const arrived: ArrivedMessage[] = [];
  let look = () => {};
  await session.subscribe(
    filter,
    (message) => {
      arrived.push(message);
      look();
    },
    { qos: 1, retained: true },
  );
  const texts = () => arrived.map(({ payload }) => payload.toString());
  const text = (wanted: string) =>
    new Promise<void>((resolve) => {
      look = () => {
        if (texts().includes(wanted)) resolve();
      };
      look();
    });
  return { arrived, texts, text };
}

test.each([4, 5] as const)(
  'what it publishes does not come back, and what it did not take comes again (MQTT %i)',
  async (version) => {
    const broker = await startMosquitto();
    const client = await broker.client({ protocolVersion: 5 });
    await client.publishAsync('t/kept', 'kept', { qos: 1, retain: true });
    const first = await openSession(broker.url, version);
    const heard = await hear(first, 't/#');
    await heard.text('kept');
    const own = {
      topic: 't/own',
      payload: Buffer.from('own'),
      qos: 1,
      retain: false,
      properties: null,
      receivedAt: 0,
    } as const;
    const error = await new Promise((resolve) => first.publish(own, resolve));
    expect(error).toBeNull();
    await client.publishAsync('t/a', 'taken', { qos: 1 });
    await client.publishAsync('t/a', 'not taken', { qos: 1 });
    await heard.text('not taken');
    expect(heard.texts()).toEqual(['kept', 'taken', 'not taken']);
    for (const message of heard.arrived.slice(0, 2)) message.taken();
    await first.close({ discard: false });

    const again = await hear(await openSession(broker.url, version), 't/#');
    await client.publishAsync('t/a', 'end', { qos: 1 });
    await again.text('end');
    // With MQTT 3.1.1 a new process cannot subscribe without being sent what the broker keeps.
    expect(again.texts().filter((text) => text !== 'kept')).toEqual(['not taken', 'end']);
    if (version === 5) expect(again.texts()).not.toContain('kept');
  },
);

test('a message for which the broker has no quota left is to be sent again, on another connection', async () => {
  const quota = [0x97, 0x97, 0];
  const server = createServer((socket) => {
    const packets = parser({ protocolVersion: 5 });
    const answer = (packet: object) => socket.write(generate(packet as Packet, { protocolVersion: 5 }));
    packets.on('packet', ({ cmd, messageId }) => {
      if (cmd === 'connect') answer({ cmd: 'connack', sessionPresent: false, reasonCode: 0 });
      if (cmd === 'publish') answer({ cmd: 'puback', messageId, reasonCode: quota.shift() });
    });
    socket.on('data', (data) => packets.parse(data));
    socket.on('error', () => undefined);
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  const session = await openSession(`mqtt://127.0.0.1:${port}`, 5);
  const message = {
    topic: 'a',
    payload: Buffer.from('a'),
    qos: 1,
    retain: false,
    properties: null,
    receivedAt: 0,
  } as const;
  const publish = () =>
    new Promise<string | undefined>((resolve) => session.publish(message, (error) => resolve(error?.code)));
  const answers = [await publish()];
  while (answers.at(-1) !== undefined) {
    await new Promise<void>((resolve) => {
      session.onStatus(({ state }) => state === 'CONNECTED' && resolve());
    });
    answers.push(await publish());
  }
  expect(answers).toEqual(['BROKER_UNREACHABLE', 'BROKER_UNREACHABLE', undefined]);
});
