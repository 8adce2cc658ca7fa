import { once } from 'node:events';
import { createServer } from 'node:net';
import type { IClientOptions, MqttClient } from 'mqtt';
import { expect, onTestFinished, test } from 'vitest';
import { BrokerControls } from '../../../src/protocol/control/broker-controls.ts';
import { takeOver } from '../../../src/protocol/mqtt/take-over.ts';
import { connectedLink, openLink } from '../../support/link.ts';
import { ADMIN, startClient, startMosquitto } from '../../support/mosquitto.ts';

const KEPT = { clean: false, protocolVersion: 5, properties: { sessionExpiryInterval: 600 } } as const;
const SUBSCRIBE = { kind: 'SUBSCRIBE', filter: 'a', qos: 1 } as const;
const closed = (client: MqttClient) => new Promise<void>((resolve) => client.once('close', () => resolve()));

/** Whether the client's session had a subscription to `a` when it came back. */
async function hears(broker: { client(options: IClientOptions): Promise<MqttClient> }, options: IClientOptions) {
  const client = await broker.client(options);
  const heard: string[] = [];
  client.on('message', (topic) => heard.push(topic));
  await client.subscribeAsync('end');
  await client.publishAsync('a', '', { qos: 1 });
  await client.publishAsync('end', '', { qos: 1 });
  await expect.poll(() => heard).toContain('end');
  return heard.includes('a');
}

test.each(['mqtts', 'ws'] as const)('a session is taken over with the settings of the link: %s', async (protocol) => {
  const broker = await startMosquitto(protocol === 'ws' ? { webSocket: true } : { tls: 'mutual' });
  const secrets = broker.certificates ?? {};
  const url = protocol === 'ws' ? broker.webSocketUrl : broker.url;
  const link = await connectedLink({ url, ...secrets });
  const client = await startClient(url, { clientId: 'thing', ...KEPT, ...secrets });
  const gone = closed(client);
  expect(await link.takeOver('thing', SUBSCRIBE)).toEqual({ sessionPresent: true });
  await gone;
  // Not over WebSocket: there, Mosquitto 2.1.2 does not acknowledge the second message.
  expect(
    await hears(
      { client: (options) => startClient(broker.url, { ...secrets, ...options }) },
      { clientId: 'thing', ...KEPT },
    ),
  ).toBe(true);
});

test('with MQTT 3.1.1 too, for a session of either version', async () => {
  const broker = await startMosquitto();
  const options = { address: { url: broker.url }, version: 4, timeoutMs: 30_000 } as const;
  for (const [clientId, kept] of [
    ['new', KEPT],
    ['old', { clean: false, protocolVersion: 4 }],
  ] as const) {
    await broker.client({ clientId, ...kept });
    expect(await takeOver({ ...options, clientId }, SUBSCRIBE)).toEqual({ sessionPresent: true });
    expect(await hears(broker, { clientId, ...kept })).toBe(true);
    expect(await takeOver({ ...options, clientId }, { kind: 'UNSUBSCRIBE', filter: 'a' })).toEqual({
      sessionPresent: true,
    });
    expect(await hears(broker, { clientId, ...kept })).toBe(false);
  }
});

test('without a session nothing is done, and no session remains', async () => {
  const broker = await startMosquitto();
  const link = await connectedLink({ url: broker.url });
  expect(await link.takeOver('nobody', SUBSCRIBE)).toEqual({ sessionPresent: false });
  const client = await broker.client({ clientId: 'clean' });
  const gone = closed(client);
  expect(await link.takeOver('clean', SUBSCRIBE)).toEqual({ sessionPresent: false });
  await gone;
  for (const clientId of ['nobody', 'clean']) {
    const { sessionPresent } = await link.takeOver(clientId, { kind: 'DISCONNECT' });
    expect(sessionPresent).toBe(false);
  }
});

test('a refused connection or filter is an error, and the session is unchanged', async () => {
  const broker = await startMosquitto({ access: 'dynsec' });
  const { url } = broker;
  const link = await connectedLink({ url, ...ADMIN });
  await broker.client({ clientId: 'thing', ...KEPT });
  const wrong = {
    address: { url, ...ADMIN, password: 'wrong' },
    version: 5,
    clientId: 'thing',
    timeoutMs: 30_000,
  } as const;
  const client = await broker.client({ clientId: 'thing', ...KEPT });
  await expect(takeOver(wrong, SUBSCRIBE)).rejects.toMatchObject({ code: 'NOT_ALLOWED' });
  expect(client.connected).toBe(true);
  await client.publishAsync('any', '', { qos: 1 }).catch(() => undefined);
  expect(client.connected).toBe(true);
  const admin = new BrokerControls(link, { timeoutMs: 30_000 });
  onTestFinished(() => admin.close());
  await admin.call('dynamic-security', 'createClient', { username: 'weak', password: 'weak' });
  const weak = await connectedLink({ url, username: 'weak', password: 'weak' });
  await expect(weak.takeOver('thing', SUBSCRIBE)).rejects.toMatchObject({ code: 'NOT_ALLOWED' });
  expect(await link.takeOver('thing', { kind: 'DISCONNECT' })).toEqual({ sessionPresent: true });
});

test('a silent broker, a closed connection and an unreachable broker are errors without a retry', async () => {
  let connections = 0;
  const mute = createServer((socket) => {
    connections += 1;
    socket.on('error', () => undefined);
    onTestFinished(() => void socket.destroy());
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void mute.close());
  await once(mute, 'listening');
  const { port } = mute.address() as { port: number };
  const options = { address: { url: `mqtt://127.0.0.1:${port}` }, version: 5, clientId: 'x', timeoutMs: 50 } as const;
  await expect(takeOver(options, SUBSCRIBE)).rejects.toMatchObject({ code: 'BROKER_TIMEOUT' });
  mute.removeAllListeners('connection').on('connection', (socket) => {
    connections += 1;
    socket.destroy();
  });
  await expect(takeOver({ ...options, timeoutMs: 30_000 }, SUBSCRIBE)).rejects.toMatchObject({
    code: 'BROKER_UNREACHABLE',
  });
  // CONNACK of a session, and then the end: whether the subscription was made is unknown.
  mute.removeAllListeners('connection').on('connection', (socket) => {
    connections += 1;
    socket.once('data', () => {
      socket.write(Buffer.from([0x20, 3, 1, 0, 0]));
      socket.once('data', () => socket.destroy());
    });
  });
  await expect(takeOver({ ...options, timeoutMs: 30_000 }, SUBSCRIBE)).rejects.toMatchObject({
    code: 'BROKER_UNREACHABLE',
    info: { outcome: 'unknown' },
  });
  expect(connections).toBe(3);
  const link = openLink({ url: 'mqtt://127.0.0.1:1' });
  await expect(link.takeOver('x', SUBSCRIBE)).rejects.toMatchObject({ code: 'BROKER_UNREACHABLE' });
});

test('a refusal is an error, and responses to other requests are ignored', async () => {
  const broker = await startMosquitto({ access: 'dynsec' });
  const link = await connectedLink({ url: broker.url, ...ADMIN });
  const controls = new BrokerControls(link, { timeoutMs: 30_000, silenceMs: 100 });
  onTestFinished(() => controls.close());
  const client = await broker.client({ clientId: 'kept', ...KEPT });
  await client.subscribeAsync('a', { qos: 1 });
  // The only right of an administrator to unsubscribe.
  const acl = { rolename: 'admin', acltype: 'unsubscribePattern', topic: '#' };
  await controls.call('dynamic-security', 'setDefaultACLAccess', { acls: [{ acltype: 'unsubscribe', allow: false }] });
  await controls.call('dynamic-security', 'removeRoleACL', acl).catch(() => undefined);
  const account = { url: broker.url, ...ADMIN };
  const options = { address: account, version: 5, clientId: 'kept', timeoutMs: 30_000 } as const;
  await expect(takeOver(options, { kind: 'UNSUBSCRIBE', filter: 'a' })).rejects.toMatchObject({ code: 'NOT_ALLOWED' });

  const scripted = createServer((socket) => {
    // CONNACK with a session, then SUBACK of packet 7.
    socket.once('data', () => socket.write(Buffer.from([0x20, 2, 1, 0, 0x90, 3, 0, 7, 1])));
    socket.on('error', () => undefined);
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void scripted.close());
  await once(scripted, 'listening');
  const { port } = scripted.address() as { port: number };
  const there = { address: { url: `mqtt://127.0.0.1:${port}` }, version: 4, clientId: 'kept', timeoutMs: 200 } as const;
  await expect(takeOver(there, SUBSCRIBE)).rejects.toMatchObject({
    code: 'BROKER_TIMEOUT',
    info: { outcome: 'unknown' },
  });
});
