import type { IClientOptions } from 'mqtt';
import { expect, onTestFinished, test } from 'vitest';
import {
  disconnectClient,
  subscribeClient,
  unsubscribeClient,
} from '../../../../src/protocol/apis/clients/client-control.ts';
import { getClient, listClients } from '../../../../src/protocol/apis/clients/inspect-control.ts';
import { BrokerControls } from '../../../../src/protocol/control/broker-controls.ts';
import { connectedLink } from '../../../support/link.ts';
import { ADMIN, FOLLOWED_LOG, startClient, startMosquitto } from '../../../support/mosquitto.ts';
import { closed, comeBack, type FollowedMosquitto, follow, isUp, startFollowed } from './followed-mosquitto.ts';

const FOR_LONG = { sessionExpiryInterval: 600 };
const VERSIONS = [
  { clean: false, protocolVersion: 5, properties: FOR_LONG },
  { clean: false, protocolVersion: 4 },
] as const satisfies readonly IClientOptions[];
const takeover = true;

const listed = (controls: BrokerControls, clientid: string) =>
  expect.poll(() => getClient(controls, clientid).catch(() => null)).toMatchObject({ connected: true });

const account = (clientId: string) => ({ clientId, username: 'u1', password: 'u1' });

async function publisher({ device }: FollowedMosquitto) {
  const client = await device('publisher', { username: 'u2' });
  return { client, say: (topic: string, text: string) => client.publishAsync(topic, text, { qos: 1 }) };
}

test.each(VERSIONS)('one of several clients of an account is disconnected alone ($protocolVersion)', async (kept) => {
  const followed = await startFollowed();
  const { broker, controls, device } = followed;
  const will = { topic: 'will', payload: Buffer.from('sent'), qos: 1, retain: false } as const;
  const client = await device('one', { ...kept, will });
  await client.subscribeAsync('to/one', { qos: 1 });
  const peer = await device('peer');
  await peer.subscribeAsync(['will', 'last'], { qos: 1 });
  const heard: string[] = [];
  peer.on('message', (topic) => heard.push(topic));
  await listed(controls, 'peer');
  const gone = closed(client);
  expect(await disconnectClient(controls, { clientid: 'one', takeover })).toEqual({
    method: 'TAKEOVER',
    clientids: ['one'],
  });
  expect(await getClient(controls, 'one')).toMatchObject({
    connected: false,
    username: 'u1',
    disconnectReason: 'session taken over',
    subscriptions: ['to/one'],
  });
  await gone;
  expect(await isUp(peer)).toBe(true);
  const { say } = await publisher(followed);
  await say('to/one', 'meanwhile');
  await say('last', '');
  await expect.poll(() => heard).toContain('last');
  expect(heard).not.toContain('will');
  const back = await comeBack(broker.url, { ...account('one'), ...kept });
  expect(back.sessionPresent).toBe(true);
  await expect.poll(() => back.messages).toEqual(['meanwhile']);
});

test('no other client is disconnected if sessions may be taken over, even with force', async () => {
  const { controls, device } = await startFollowed();
  await device('kept', VERSIONS[0]);
  await device('clean');
  const peer = await device('peer');
  await listed(controls, 'peer');
  for (const clientid of ['kept', 'clean']) {
    expect(await disconnectClient(controls, { clientid, takeover, force: true })).toEqual({
      method: 'TAKEOVER',
      clientids: [clientid],
    });
  }
  expect(await isUp(peer)).toBe(true);
});

test('a clean session is not taken over, because that would end it and send the will', async () => {
  const followed = await startFollowed();
  const { controls, device } = followed;
  const clients = [await device('shared'), await device('peer')];
  await listed(controls, 'peer');
  await expect(disconnectClient(controls, { clientid: 'shared', takeover })).rejects.toMatchObject({
    code: 'IN_USE',
    message: expect.stringContaining('its session is clean'),
    info: { clients: ['peer'] },
  });
  expect(await Promise.all(clients.map(isUp))).toEqual([true, true]);
});

test('a clean session is taken over with force if its account must not be disconnected, and its will is sent', async () => {
  const broker = await startMosquitto({ logTypes: FOLLOWED_LOG });
  const { controls, link } = await follow({ url: broker.url });
  const { since } = link.status;
  const watcher = await broker.client();
  const wills: string[] = [];
  watcher.on('message', (topic) => wills.push(topic));
  await watcher.subscribeAsync('will', { qos: 1 });
  const client = await broker.client({ clientId: 'ours', will: { topic: 'will', payload: '', qos: 1, retain: false } });
  await listed(controls, 'ours');
  await expect(disconnectClient(controls, { clientid: 'ours', takeover })).rejects.toMatchObject({ code: 'IN_USE' });
  await expect(disconnectClient(controls, { clientid: 'ours', force: true })).rejects.toMatchObject({
    code: 'NOT_SUPPORTED_BY_BROKER',
  });
  await expect(
    disconnectClient(controls, { clientid: 'ours', takeover, force: true, discardWill: true }),
  ).rejects.toMatchObject({ code: 'NOT_SUPPORTED_BY_BROKER', message: expect.stringContaining('send its will') });
  expect(await isUp(client)).toBe(true);
  expect(wills).toEqual([]);
  const gone = closed(client);
  expect(await disconnectClient(controls, { clientid: 'ours', takeover, force: true })).toEqual({
    method: 'TAKEOVER',
    clientids: ['ours'],
  });
  await gone;
  await expect.poll(() => wills).toEqual(['will']);
  await expect(getClient(controls, 'ours')).rejects.toMatchObject({ code: 'NOT_FOUND' });
  expect(await isUp(watcher)).toBe(true);
  expect(link.status).toMatchObject({ state: 'CONNECTED', since });
});

test.each(VERSIONS)(
  'a subscription made for a client exists when the client reconnects, until it is removed ($protocolVersion)',
  async (kept) => {
    const followed = await startFollowed();
    const { broker, controls, device } = followed;
    const { client: other, say } = await publisher(followed);
    await other.publishAsync('new/retained', 'old', { qos: 1, retain: true });
    await device('thing', kept);
    await listed(controls, 'thing');
    await subscribeClient(controls, { clientid: 'thing', topic: 'new/#', qos: 1, takeover });
    const { clients } = await listClients(controls);
    expect(clients.find(({ clientid }) => clientid === 'thing')).toMatchObject({ connected: false, username: 'u1' });
    expect(await getClient(controls, 'thing')).toMatchObject({ subscriptions: ['new/#'], subscriptionQos: [1] });
    await say('new/a', 'offline');
    const first = await comeBack(broker.url, { ...account('thing'), ...kept });
    expect(first.sessionPresent).toBe(true);
    await say('new/b', 'online');
    // Retained messages are not sent for it unless that was asked for.
    await expect.poll(() => first.messages).toEqual(['offline', 'online']);

    await listed(controls, 'thing');
    const gone = closed(first.client);
    await unsubscribeClient(controls, { clientid: 'thing', topic: 'new/#', takeover });
    await gone;
    expect(await getClient(controls, 'thing')).toMatchObject({ connected: false, subscriptions: [] });
    // The same for a session without a connection.
    await subscribeClient(controls, {
      clientid: 'thing',
      topic: 'new/retained',
      qos: 1,
      options: { send_retain: 'always' },
      takeover,
    });
    expect(await getClient(controls, 'thing')).toMatchObject({ connected: false, subscriptions: ['new/retained'] });
    await say('new/c', 'unheard');
    await say('new/retained', 'heard');
    const second = await comeBack(broker.url, { ...account('thing'), ...kept });
    expect(second.sessionPresent).toBe(true);
    await expect.poll(() => second.messages).toEqual(['old', 'heard']);
    await expect.poll(async () => (await listClients(controls)).complete).toBe(true);
  },
);

test('subscriptions are changed neither without permission nor in clean sessions', async () => {
  const { controls, device } = await startFollowed();
  const clean = await device('clean');
  // MQTT 5: not clean, and gone with its connection all the same.
  const brief = await device('brief', { clean: false, protocolVersion: 5, properties: { sessionExpiryInterval: 0 } });
  await device('kept', VERSIONS[0]);
  await listed(controls, 'kept');
  const command = { clientid: 'kept', topic: 'a', qos: 1 } as const;
  const refused = { code: 'NOT_SUPPORTED_BY_BROKER' };
  await expect(subscribeClient(controls, command)).rejects.toMatchObject({
    ...refused,
    message: expect.stringMatching(/commercial.*embedded.*allowsClientTakeover/),
  });
  await expect(unsubscribeClient(controls, command)).rejects.toMatchObject(refused);
  await expect(subscribeClient(controls, { ...command, clientid: 'clean', takeover })).rejects.toMatchObject({
    ...refused,
    message: expect.stringContaining('is clean'),
  });
  expect(await isUp(clean)).toBe(true);
  const gone = closed(brief);
  await expect(subscribeClient(controls, { ...command, clientid: 'brief', takeover })).rejects.toMatchObject({
    ...refused,
    message: expect.stringContaining('has ended now'),
  });
  await gone;
  for (const wrong of [{ topic: 'a/#/b' }, { topic: '' }, { qos: 3 }, { subscription_identifier: 0 }]) {
    const bad = { ...command, takeover, ...wrong } as unknown as typeof command;
    await expect(subscribeClient(controls, bad)).rejects.toMatchObject({ code: 'INVALID' });
  }
  for (const consent of [{}, { takeover }]) {
    const nobody = subscribeClient(controls, { ...command, clientid: 'nobody', ...consent });
    await expect(nobody).rejects.toMatchObject({ code: 'NOT_FOUND' });
  }
  expect(await getClient(controls, 'kept')).toMatchObject({ connected: true, subscriptions: [] });
});

test('the error says whose permission is missing when the broker refuses the subscription', async () => {
  const { broker } = await startFollowed();
  const admin = new BrokerControls(await connectedLink({ url: broker.url, ...ADMIN }), { timeoutMs: 30_000 });
  onTestFinished(() => admin.close());
  const allow = true;
  const acls = ['$CONTROL/#', '$SYS/#'].flatMap((topic) =>
    ['publishClientSend', 'publishClientReceive', 'subscribePattern'].map((acltype) => ({ acltype, topic, allow })),
  );
  await admin.call('dynamic-security', 'createRole', { rolename: 'service', acls });
  const account = { username: 'service', password: 'service' };
  await admin.call('dynamic-security', 'createClient', { ...account, roles: [{ rolename: 'service' }] });
  const { controls } = await follow({ url: broker.url, ...account });
  await startClient(broker.url, { clientId: 'thing', username: 'u1', password: 'u1', ...VERSIONS[0] });
  await listed(controls, 'thing');
  await expect(
    subscribeClient(controls, { clientid: 'thing', topic: 'news/#', qos: 1, takeover }),
  ).rejects.toMatchObject({
    code: 'NOT_ALLOWED',
    message: expect.stringMatching(/the user "service" to subscribe to "news\/#".*subscribePattern/),
    info: { username: 'service', topic: 'news/#' },
  });
});

test('QoS 1 messages in flight are not lost when the session of a client is taken over', async () => {
  const followed = await startFollowed({ lines: ['max_queued_messages 10000'] });
  const { broker, controls } = followed;
  const { client: source } = await publisher(followed);
  const heard = new Map<string, number>();
  const thing = await comeBack(broker.url, { ...account('thing'), ...VERSIONS[0], reconnectPeriod: 10 });
  thing.client.on('message', (_topic, payload) => {
    const text = payload.toString();
    heard.set(text, (heard.get(text) ?? 0) + 1);
  });
  await thing.client.subscribeAsync('stream', { qos: 1 });
  await listed(controls, 'thing');
  let sent = 0;
  const acknowledged: Promise<unknown>[] = [];
  // 500 a second.
  const timer = setInterval(() => acknowledged.push(source.publishAsync('stream', String(sent++), { qos: 1 })), 2);
  try {
    for (let turn = 0; turn < 5; turn++) {
      const before = heard.size;
      await subscribeClient(controls, { clientid: 'thing', topic: `added/${turn}`, qos: 1, takeover });
      await listed(controls, 'thing');
      await expect.poll(() => heard.size).toBeGreaterThan(before + 50);
    }
  } finally {
    clearInterval(timer);
  }
  await Promise.all(acknowledged);
  await expect.poll(() => heard.size).toBe(sent);
  const duplicates = [...heard.values()].reduce((sum, count) => sum + count - 1, 0);
  // Sent again are those whose acknowledgement was under way when the connection was lost.
  expect(duplicates).toBeLessThanOrEqual(5 * 20);
  expect((await getClient(controls, 'thing')).subscriptions).toHaveLength(6);
});

test('the session of a WebSocket client is taken over, and its late disconnect is not mistaken for that of the next connection', async () => {
  const followed = await startFollowed({ webSocket: true });
  const { broker, controls } = followed;
  const ws = await startClient(broker.webSocketUrl, { ...account('ws'), ...VERSIONS[0] });
  await startClient(broker.webSocketUrl, account('peer'));
  await listed(controls, 'ws');
  await listed(controls, 'peer');
  const gone = closed(ws);
  expect(await disconnectClient(controls, { clientid: 'ws', takeover })).toMatchObject({ method: 'TAKEOVER' });
  await gone;
  expect(await getClient(controls, 'ws')).toMatchObject({ connected: false });
  await startClient(broker.webSocketUrl, { ...account('ws'), ...VERSIONS[0] });
  await listed(controls, 'ws');
  await expect.poll(async () => (await listClients(controls)).complete).toBe(true);
});
