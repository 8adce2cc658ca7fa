import type { MqttClient } from 'mqtt';
import { expect, onTestFinished, test } from 'vitest';
import { ClientRegistry } from '../../../../src/domains/clients/inspect/client-registry.ts';
import { inspectPluginFactory } from '../../../../src/domains/clients/inspect/inspect-plugin.ts';
import { LATE_EVENT_MS, listClientEvents } from '../../../../src/protocol/apis/clients/client-events.ts';
import { getClient, listClients } from '../../../../src/protocol/apis/clients/inspect-control.ts';
import { unknownFields } from '../../../../src/protocol/apis/clients/unknown-fields.ts';
import { BrokerControls, type BrokerControlsOptions } from '../../../../src/protocol/control/broker-controls.ts';
import type { BrokerLink } from '../../../../src/protocol/mqtt/broker-link.ts';
import { startScriptedBroker } from '../../../support/aedes-broker.ts';
import { connectedLink, reached } from '../../../support/link.ts';
import {
  ADMIN,
  FOLLOWED_LOG,
  type Mosquitto,
  sinceVersion,
  startClient,
  startMosquitto,
} from '../../../support/mosquitto.ts';
import { startRelay } from '../../../support/relay.ts';
import { isLong } from '../../../support/suite.ts';
import { startNewerMosquitto } from '../newer-mosquitto.ts';
import { randomOf } from '../truth/random.ts';

interface Following {
  readonly link: BrokerLink;
  readonly controls: BrokerControls;
}

async function follow(broker: Mosquitto, credentials = {}): Promise<Following> {
  return followBy(await connectedLink({ url: broker.url, ...credentials }));
}

type FollowOptions = Partial<BrokerControlsOptions> & { readonly lineTimeoutMs?: number };

/** `lineTimeoutMs`: the default is short where the broker publishes no log, and its silence is the result. */
async function followBy(link: BrokerLink, options: FollowOptions = {}): Promise<Following> {
  const { lineTimeoutMs = 2_000 } = options;
  const controls = new BrokerControls(link, {
    timeoutMs: 30_000,
    silenceMs: 100,
    ...options,
    plugins: [inspectPluginFactory({ lineTimeoutMs })],
    onFault: (error) => {
      throw error;
    },
  });
  onTestFinished(() => controls.close());
  await controls.capability('cedalo/inspect');
  return { link, controls };
}

const idsOf = async (controls: BrokerControls) => (await listClients(controls)).clients.map(({ clientid }) => clientid);

test('clients are followed with the fields of their log lines', async () => {
  const broker = await startMosquitto({ access: 'passwords', logTypes: FOLLOWED_LOG });
  const { link, controls } = await follow(broker, ADMIN);
  expect(await controls.capability('cedalo/inspect')).toMatchObject({ provider: 'GATEWAY' });
  const from = Date.now();
  const client = await broker.client({ clientId: 'device 1', protocolVersion: 5, keepalive: 33 });
  await client.subscribeAsync(['a b/#', 'c'], { qos: 1 });
  await client.unsubscribeAsync('c');
  await expect
    .poll(() => getClient(controls, 'device 1').catch(() => null))
    .toMatchObject({ subscriptions: ['a b/#'], protocol: 'MQTT' });
  const detail = await getClient(controls, 'device 1');
  expect(detail).toMatchObject({
    clientid: 'device 1',
    username: 'admin',
    address: '127.0.0.1',
    protocol: 'MQTT',
    protocolVersion: 'v5',
    connected: true,
    lastDisconnect: null,
    keepalive: 33,
    cleanSession: true,
    listener: { port: broker.port },
    numSubscriptions: 1,
    subscriptionQos: [1],
  });
  expect(detail.lastConnect).toBeGreaterThanOrEqual(from);
  expect(detail).not.toHaveProperty('queues');
  const { clients } = await listClients(controls);
  expect(clients).toEqual([
    expect.objectContaining({ clientid: link.clientId, gateway: true, username: 'admin', protocolVersion: 'v5' }),
    expect.objectContaining({ clientid: 'device 1' }),
  ]);
  await expect(getClient(controls, 'nobody')).rejects.toMatchObject({ code: 'NOT_FOUND' });
});

/** The response of Mosquitto 2.1.2 to `listListeners`. */
const LISTENERS = {
  listeners: [
    { port: 1883, protocol: 'mqtt', 'bind-address': '127.0.0.1', tls: false },
    { port: 8883, protocol: 'mqtt', 'bind-address': '127.0.0.1', tls: true },
    { port: 9002, protocol: 'mqtt+websockets', 'bind-address': '127.0.0.1', tls: true },
    { port: 9003, 'bind-address': '127.0.0.1', tls: false },
    { port: 0, protocol: 'mqtt', 'socket-path': '/run/mosquitto.sock', tls: false },
    // Two listeners of one port.
    { port: 7000, protocol: 'mqtt', 'bind-address': '127.0.0.1', tls: true },
    { port: 7000, protocol: 'mqtt+websockets', 'bind-address': '127.0.0.2', tls: true },
    { port: 7000, protocol: 'mqtt', 'bind-address': '127.0.0.3', tls: true },
  ],
};

/** The log of Mosquitto 2.1 for clients of each listener. */
async function connectToEach({ say }: Awaited<ReturnType<typeof startNewerMosquitto>>) {
  const CIPHER = 'TLSv1.3 cipher TLS_AES_256_GCM_SHA384';
  for (const [index, port] of [1883, 8883, 9002, 7000, 5000].entries()) {
    await say(`New connection from 10.0.0.1:${index + 1} on port ${port}.`);
    await say(`New client connected from 10.0.0.1:${index + 1} as of-${port} (p5, c1, k60, u'u').`);
    if (port === 8883) await say(`Client of-8883 negotiated ${CIPHER}`);
  }
  await say('New connection from /run/mosquitto.sock:0 on port 0.');
  await say("New client connected from /run/mosquitto.sock:0 as of-socket (p4, c1, k60, u'u').");
}

test('Mosquitto 2.1 reports its listeners: they have the protocol and the encryption of each client', async () => {
  const mosquitto = await startNewerMosquitto({ listListeners: LISTENERS });
  const { broker, link, controls } = mosquitto;
  // The version is what says that 2.1 would have logged an encryption, so it must be read before the last client.
  await broker.publish('$SYS/broker/version', 'mosquitto version 2.1.2');
  await connectToEach(mosquitto);
  const protocols = async () =>
    (await listClients(controls)).clients
      .map(({ clientid, protocol }) => [clientid, protocol])
      .filter(([id]) => id !== link.clientId);
  await expect.poll(protocols).toEqual([
    ['of-1883', 'MQTT'],
    ['of-5000', undefined],
    ['of-7000', undefined],
    ['of-8883', 'MQTT'],
    ['of-9002', 'MQTT-WS'],
    ['of-socket', 'MQTT'],
  ]);
  const of = async (port: number | string) => {
    const known = await getClient(controls, `of-${port}`);
    const unknown = unknownFields(known, 'LOG_FEED').map(({ field }) => field);
    return {
      listener: known.listener,
      tls: known.tls,
      unknown: unknown.filter((field) => /^(tls|protocol)/.test(field)),
    };
  };
  const bind_address = '127.0.0.1';
  expect(await of(1883)).toEqual({ listener: { port: 1883, bind_address, tls: false }, tls: null, unknown: [] });
  expect(await of(8883)).toEqual({
    listener: { port: 8883, bind_address, tls: true },
    tls: { version: 'TLSv1.3', ciphers: 'TLS_AES_256_GCM_SHA384' },
    unknown: ['tls.clientCertificate'],
  });
  const someTls = ['tls.clientCertificate', 'tls.version', 'tls.ciphers'];
  expect(await of(9002)).toMatchObject({ listener: { tls: true }, tls: {}, unknown: someTls });
  expect(await of(7000)).toEqual({ listener: { port: 7000, tls: true }, tls: {}, unknown: ['protocol', ...someTls] });
  // 2.1 logs the encryption of each connection.
  expect(await of(5000)).toEqual({ listener: { port: 5000 }, tls: null, unknown: ['protocol'] });
  expect(await of('socket')).toEqual({ listener: { port: 0, tls: false }, tls: null, unknown: [] });
});

test('a filter on a value that is unknown for some clients does not return a complete list', async () => {
  const mosquitto = await startNewerMosquitto();
  const { link, controls, count } = mosquitto;
  await connectToEach(mosquitto);
  await count(7);
  const registry = new ClientRegistry(controls, link);
  onTestFinished(() => registry.close());
  await expect.poll(async () => (await registry.page()).complete).toBe(true);
  expect(await registry.page({ protocol: 'MQTT-WS', value: 'of-' })).toMatchObject({
    totalCount: 0,
    complete: false,
    undecided: 6,
  });
  // The own connection has a known protocol, and another condition may exclude a client of unknown protocol.
  expect(await registry.page({ protocol: 'MQTT' })).toMatchObject({ totalCount: 1, complete: false, undecided: 6 });
  expect(await registry.page({ protocol: 'MQTT', value: 'nobody' })).toMatchObject({ complete: true, undecided: 0 });
  expect(await registry.page({ value: 'of-' })).toMatchObject({ totalCount: 6, complete: true, undecided: 0 });
  const source = await registry.watch({}, { protocol: 'MQTT-WS' });
  expect((await source.next()).value).toMatchObject({ kind: 'SNAPSHOT', snapshot: { clients: [], complete: false } });
});

test('clean sessions are removed, persistent ones remain offline, and a takeover leaves one client', async () => {
  const broker = await startMosquitto({ logTypes: FOLLOWED_LOG });
  const { link, controls } = await follow(broker);
  const clean = await broker.client({ clientId: 'clean' });
  const kept = await broker.client({ clientId: 'kept', clean: false });
  await broker.client({ clientId: 'twice' });
  await broker.client({ clientId: 'twice' });
  await expect.poll(() => idsOf(controls)).toEqual([link.clientId, 'clean', 'kept', 'twice']);
  await clean.endAsync();
  kept.stream.destroy();
  await expect.poll(() => idsOf(controls)).toEqual([link.clientId, 'kept', 'twice']);
  await expect
    .poll(() => getClient(controls, 'kept'))
    .toMatchObject({
      connected: false,
      disconnectReason: 'connection closed by client',
      lastDisconnect: expect.any(Number),
    });
  expect(await getClient(controls, 'twice')).toMatchObject({ connected: true });
});

test('earlier clients are missing, and the list is reported as incomplete until they are gone', async () => {
  const broker = await startMosquitto({ logTypes: FOLLOWED_LOG });
  const earlier = await broker.client({ clientId: 'earlier' });
  const before = Date.now();
  const { link, controls } = await follow(broker);
  const list = await listClients(controls);
  expect(list.clients.map(({ clientid }) => clientid)).toEqual([link.clientId]);
  expect(list.complete).toBe(false);
  expect(list.since).toBeGreaterThanOrEqual(before);
  // The broker publishes its count when it changes.
  await broker.client({ clientId: 'later' });
  await expect.poll(async () => (await listClients(controls)).totalCount).toBe(2);
  expect((await listClients(controls)).complete).toBe(false);
  await expect.poll(async () => (await listClients(controls)).unknownConnections).toBe(1);
  const told: unknown[] = [];
  controls.onEvent('cedalo/inspect', ({ complete, unknownConnections }) => told.push({ complete, unknownConnections }));
  await earlier.endAsync();
  await expect.poll(async () => (await listClients(controls)).complete).toBe(true);
  await expect.poll(() => told).toContainEqual({ complete: true, unknownConnections: 0 });
});

test('a WebSocket client that reconnects remains, whether the end of its old connection is logged before or afterwards', async () => {
  const { end, connects } = sinceVersion({
    '2.0.0': { end: 'closed its connection', connects: 2 },
    '2.1.0': { end: 'disconnected: session taken over', connects: 1 },
  });
  const broker = await startMosquitto({ logTypes: FOLLOWED_LOG, webSocket: true });
  const { link, controls } = await follow(broker);
  const lines: string[] = [];
  await link.subscribe('$SYS/broker/log/#', ({ payload }) => lines.push(payload.toString()), { qos: 1 });
  for (const clean of [false, true]) {
    const options = { clientId: `web ${clean}`, clean };
    await startClient(broker.webSocketUrl, options);
    await startClient(broker.webSocketUrl, options);
    const isEnd = (line: string) => line.includes(`Client web ${clean} `) && line.includes(end);
    const isConnect = (line: string) => line.includes(`as web ${clean} `);
    await expect.poll(() => [lines.some(isEnd), lines.filter(isConnect).length]).toEqual([true, 2]);
    expect(lines.slice(0, lines.findIndex(isEnd)).filter(isConnect)).toHaveLength(connects);
    await expect
      .poll(() => getClient(controls, options.clientId))
      .toMatchObject({ connected: true, protocol: 'MQTT-WS' });
  }
  await expect.poll(async () => (await listClients(controls)).complete).toBe(true);
  expect((await listClients(controls)).totalCount).toBe(3);
});

test('an expired session is removed', async () => {
  const broker = await startMosquitto({ logTypes: FOLLOWED_LOG });
  const { link, controls } = await follow(broker);
  const brief = {
    clientId: 'brief',
    clean: false,
    protocolVersion: 5,
    properties: { sessionExpiryInterval: 1 },
  } as const;
  await (await broker.client(brief)).endAsync();
  await expect.poll(() => getClient(controls, 'brief').catch(() => null)).toMatchObject({ connected: false });
  await expect.poll(() => idsOf(controls)).toEqual([link.clientId]);
});

test('without a published log the error names the settings', async () => {
  const silent = await follow(await startMosquitto());
  expect(await silent.controls.capability('cedalo/inspect')).toMatchObject({
    provider: 'NONE',
    reason: expect.stringMatching(/log_dest topic.*log_type notice/),
  });
  await expect(listClients(silent.controls)).rejects.toMatchObject({ code: 'NOT_SUPPORTED_BY_BROKER' });
  const half = await follow(await startMosquitto({ logTypes: ['subscribe', 'error'] }));
  expect(await half.controls.capability('cedalo/inspect')).toMatchObject({
    provider: 'NONE',
    reason: expect.stringMatching(/without connections.*log_type notice/),
  });
});

test('without log_type subscribe connections are listed without subscriptions', async () => {
  const broker = await startMosquitto({ logTypes: ['notice'] });
  const { controls } = await follow(broker);
  const client = await broker.client({ clientId: 'device' });
  await client.subscribeAsync('a');
  await expect.poll(() => getClient(controls, 'device').catch(() => null)).toMatchObject({ connected: true });
  expect(await getClient(controls, 'device')).not.toHaveProperty('subscriptions');
});

test('the error names the missing permissions of a user that may not read the log', async () => {
  const broker = await startMosquitto({ access: 'dynsec', logTypes: FOLLOWED_LOG });
  const admin = await follow(broker, ADMIN);
  expect(await admin.controls.capability('cedalo/inspect')).toMatchObject({ provider: 'GATEWAY' });
  const role = { rolename: 'reader' };
  await admin.controls.call('dynamic-security', 'createRole', role);
  await admin.controls.call('dynamic-security', 'createClient', { username: 'weak', password: 'weak', roles: [role] });
  const weak = await connectedLink({ url: broker.url, username: 'weak', password: 'weak' });
  const { since } = weak.status;
  const { controls } = await followBy(weak, { doubtMs: 100 });
  expect(await controls.capability('cedalo/inspect')).toMatchObject({
    provider: 'NONE',
    reason: expect.stringContaining('$SYS/broker/log/#'),
  });
  const acls = ['subscribePattern', 'publishClientReceive'].map((acltype) => ({
    acltype,
    topic: '$SYS/broker/#',
    allow: true,
  }));
  await admin.controls.call('dynamic-security', 'modifyRole', { ...role, acls });
  await expect.poll(() => controls.capability('cedalo/inspect')).toMatchObject({ provider: 'GATEWAY' });
  expect(weak.status.since).toBe(since);
});

test('a restarted broker is followed again, without its earlier clients', async () => {
  const broker = await startMosquitto({ logTypes: FOLLOWED_LOG });
  const { link, controls } = await follow(broker);
  await broker.client({ clientId: 'old' });
  await expect.poll(() => idsOf(controls)).toContain('old');
  const { since } = await listClients(controls);
  const events: number[] = [];
  controls.onEvent(
    'cedalo/inspect',
    ({ event, sequence }) => event === 'clientsChanged' && events.push(Number(sequence)),
  );
  await broker.client({ clientId: 'older' });
  await expect.poll(() => events).not.toEqual([]);
  const back = reached(link, 'UNREACHABLE').then(() => reached(link, 'CONNECTED'));
  await broker.kill();
  await expect.poll(() => listClients(controls).catch(({ code }) => code)).toBe('BROKER_UNREACHABLE');
  await broker.start();
  await back;
  await expect.poll(() => idsOf(controls)).toEqual([link.clientId]);
  expect((await listClients(controls)).since).toBeGreaterThan(since ?? 0);
  await broker.client({ clientId: 'new' });
  await expect.poll(() => idsOf(controls)).toEqual([link.clientId, 'new']);
  // One number is left out, so that followers list again.
  const gaps = () => events.filter((sequence, index) => index > 0 && sequence !== (events[index - 1] ?? 0) + 1);
  await expect.poll(gaps).toHaveLength(1);
});

test('after a restart the log is verified only when the broker has granted the subscription again', async () => {
  const broker = await startMosquitto({ logTypes: FOLLOWED_LOG });
  const link = await connectedLink({ url: broker.url });
  // What the broker has to take in before the subscription to its log.
  const filters = [...Array(1_500).keys()].map((n) => `many/${n}`);
  await Promise.all(filters.map((filter) => link.subscribe(filter, () => undefined)));
  const { controls } = await followBy(link);
  const lines: string[] = [];
  await link.subscribe('$SYS/broker/log/N', ({ payload }) => lines.push(payload.toString()));
  const knocked = new Promise<void>((resolve) => {
    const knock = link.knock.bind(link);
    link.knock = async () => {
      const clientId = await knock();
      resolve();
      return clientId;
    };
  });
  const back = reached(link, 'UNREACHABLE').then(() => reached(link, 'CONNECTED'));
  await broker.kill();
  await broker.start();
  await back;
  await knocked;
  await link.subscribe('the last one', () => undefined);
  await broker.client({ clientId: 'afterwards' });
  await expect.poll(() => lines.join('\n')).toContain('as afterwards');
  expect(lines.join('\n')).toContain(`as ${link.clientId}-probe`);
  expect(await controls.capability('cedalo/inspect')).toMatchObject({ provider: 'GATEWAY' });
});

/** A broker whose log says what the test wants after each knock. */
async function followedScript(options: Partial<BrokerControlsOptions>) {
  const broker = await startScriptedBroker(() => []);
  const link = await connectedLink({ url: broker.url, sessionExpirySeconds: 0 });
  const script = { tellsConnections: true };
  const connection = (clientId: string, at = 1_700_000_000) =>
    broker.publish('$SYS/broker/log/N', `${at}: New client connected from 127.0.0.1:1 as ${clientId} (p5, c1, k60).`);
  const knock = link.knock.bind(link);
  link.knock = async () => {
    const clientId = await knock();
    if (script.tellsConnections) await connection(clientId);
    else await broker.publish('$SYS/broker/log/E', '1700000000: Something else.');
    return clientId;
  };
  const { controls } = await followBy(link, options);
  const reconnect = async () => {
    const back = reached(link, 'UNREACHABLE').then(() => reached(link, 'CONNECTED'));
    await startClient(broker.url, { clientId: link.clientId }).then((thief) => thief.endAsync());
    await back;
  };
  return { script, connection, controls, reconnect };
}

const UNTOLD = { provider: 'NONE', reason: expect.stringContaining('without connections') };

test('missing connect lines are reported to all callers until one arrives', async () => {
  const { script, connection, controls, reconnect } = await followedScript({});
  expect(await controls.capability('cedalo/inspect')).toMatchObject({ provider: 'GATEWAY' });
  script.tellsConnections = false;
  await reconnect();
  await expect.poll(() => controls.capability('cedalo/inspect')).toMatchObject(UNTOLD);
  await expect(listClients(controls)).rejects.toMatchObject({
    code: 'NOT_SUPPORTED_BY_BROKER',
    info: { reason: UNTOLD.reason },
  });
  const later = Date.now();
  await connection('device');
  await expect.poll(() => controls.capability('cedalo/inspect')).toMatchObject({ provider: 'GATEWAY' });
  expect((await listClients(controls)).since).toBeGreaterThanOrEqual(later);
  expect(await idsOf(controls)).toContain('device');
});

test('missing connect lines are verified again at a later request', async () => {
  const { script, controls, reconnect } = await followedScript({ doubtMs: 200 });
  script.tellsConnections = false;
  await reconnect();
  await expect.poll(() => controls.capability('cedalo/inspect')).toMatchObject(UNTOLD);
  script.tellsConnections = true;
  await expect.poll(() => idsOf(controls).catch(() => [])).toHaveLength(1);
});

test('lines that waited in the broker when it ended are in a gap', async () => {
  const { connection, controls, reconnect } = await followedScript({});
  expect(await controls.capability('cedalo/inspect')).toMatchObject({ provider: 'GATEWAY' });
  const now = Math.floor(Date.now() / 1_000);
  await connection('soon', now);
  await expect.poll(() => idsOf(controls)).toContain('soon');
  const { since = 0 } = await listClients(controls);
  // Later by the clock of the test than the broker logged them.
  await connection('late', now - 3_600);
  await expect.poll(() => idsOf(controls)).toContain('late');
  await reconnect();
  const begins = async () => (await listClientEvents(controls, 0))?.events.map(({ from }) => from);
  await expect.poll(begins).toContain(since - LATE_EVENT_MS);
});

test('a short interruption of the link misses no client that connected or disconnected meanwhile', async () => {
  const broker = await startMosquitto({ logTypes: FOLLOWED_LOG });
  const relay = await startRelay(broker.port);
  const { link, controls } = await followBy(await connectedLink({ url: relay.url }));
  const gone = await broker.client({ clientId: 'gone' });
  await broker.client({ clientId: 'stays' });
  await expect.poll(() => idsOf(controls)).toHaveLength(3);
  const { since } = await listClients(controls);
  const back = reached(link, 'UNREACHABLE').then(() => reached(link, 'CONNECTED'));
  relay.stop();
  await gone.endAsync();
  await broker.client({ clientId: 'came' });
  await startRelay(broker.port, { at: Number(new URL(relay.url).port) });
  expect(await back).toMatchObject({ resumed: true });
  await expect.poll(() => idsOf(controls)).toEqual([link.clientId, 'came', 'stays']);
  expect((await listClients(controls)).since).toBe(since);
  expect(await getClient(controls, link.clientId)).toMatchObject({ gateway: true, connected: true });
});

test('lines that the broker drops while the link is down are in a gap, and the list starts again', async () => {
  const broker = await startMosquitto({ logTypes: FOLLOWED_LOG, lines: ['max_queued_messages 6'] });
  const relay = await startRelay(broker.port);
  const { link, controls } = await followBy(await connectedLink({ url: relay.url }));
  const events = async () => (await listClientEvents(controls, 0))?.events ?? [];
  const gaps = async () => (await events()).filter(({ kind }) => kind === 'GAP');
  const connectedAt = new Map<string, number>();
  const connect = async (name: string) => {
    connectedAt.set(name, Date.now());
    await broker.client({ clientId: name });
  };
  await connect('before');
  await expect.poll(() => idsOf(controls)).toHaveLength(2);
  expect(await gaps()).toEqual([]);

  relay.stop();
  await reached(link, 'UNREACHABLE');
  for (let number = 0; number < 8; number += 1) await connect(`meanwhile-${number}`);
  await startRelay(broker.port, { at: Number(new URL(relay.url).port) });
  await reached(link, 'CONNECTED');
  // The next message shows that earlier ones are missing. A reader is complete until now, so it gets the gap now.
  await expect.poll(() => idsOf(controls)).not.toContain('before');
  expect(await gaps()).toHaveLength(1);
  const [{ from, at } = { from: null, at: 0 }] = await gaps();
  const reported = (await events()).map(({ clientId }) => clientId);
  const missing = [...connectedAt].filter(([name]) => !reported.includes(name));
  expect(missing).not.toEqual([]);
  expect(missing.filter(([, time]) => time < (from ?? 0) || time > at)).toEqual([]);
  await connect('comes later');
  await expect.poll(() => idsOf(controls)).toEqual([link.clientId, 'comes later']);
  expect(await listClients(controls)).toMatchObject({ complete: false });
});

test('after random connects and disconnects the list is true', async () => {
  const broker = await startMosquitto({ logTypes: FOLLOWED_LOG, webSocket: true });
  const { link, controls } = await follow(broker);
  const truth = new Map<string, { client: MqttClient; filters: Set<string>; clean: boolean }>();
  const offline = new Set<string>();
  const { below: random } = randomOf(7);
  for (let step = 0; step < (isLong ? 300 : 100); step++) {
    const clientId = `c ${random(25)}`;
    const present = truth.get(clientId);
    const action = random(4);
    if (!present) {
      const clean = offline.has(clientId) ? false : random(2) === 0;
      const wasKept = offline.delete(clientId);
      const client = await broker.client({
        clientId,
        clean,
        protocolVersion: random(2) === 0 ? 4 : 5,
        properties: { sessionExpiryInterval: 600 },
      });
      if (wasKept) await client.unsubscribeAsync(['f 0', 'f 1', 'f 2']);
      truth.set(clientId, { client, filters: new Set(), clean });
    } else if (action === 0) {
      truth.delete(clientId);
      if (!present.clean) {
        offline.add(clientId);
        await present.client.unsubscribeAsync(['f 0', 'f 1', 'f 2']);
      }
      await present.client.endAsync(random(2) === 0);
    } else if (action === 1) {
      const filter = `f ${random(3)}`;
      present.filters.delete(filter);
      await present.client.unsubscribeAsync(filter);
    } else {
      const filter = `f ${random(3)}`;
      present.filters.add(filter);
      await present.client.subscribeAsync(filter);
    }
  }
  const expected = [...truth]
    .map(([clientid, { filters }]) => ({ clientid, connected: true, filters: [...filters].sort() }))
    .concat([...offline].map((clientid) => ({ clientid, connected: false, filters: [] })))
    .sort((a, b) => (a.clientid < b.clientid ? -1 : 1));
  await expect
    .poll(async () => {
      const { clients } = await listClients(controls);
      const others = clients.filter(({ clientid }) => clientid !== link.clientId);
      return Promise.all(
        others.map(async ({ clientid, connected }) => {
          const { subscriptions = [] } = await getClient(controls, clientid);
          return { clientid, connected, filters: [...subscriptions].sort() };
        }),
      );
    })
    .toEqual(expected);
  await expect.poll(async () => (await listClients(controls)).complete).toBe(true);
});

test('a burst of clients is sent in few events that add up to the list', async () => {
  const broker = await startMosquitto({ logTypes: FOLLOWED_LOG });
  const { link, controls } = await follow(broker);
  const present = new Set([link.clientId]);
  let events = 0;
  const since = performance.now();
  controls.onEvent('cedalo/inspect', (event) => {
    // The others announce events of clients, for their record.
    if (event.changed === undefined) return;
    events += 1;
    for (const { clientid } of event.changed as { clientid: string }[]) present.add(clientid);
    for (const clientid of event.removed as string[]) present.delete(clientid);
  });
  const clients = await Promise.all([...Array(200).keys()].map((n) => broker.client({ clientId: `burst-${n}` })));
  await expect.poll(() => present.size).toBe(201);
  await Promise.all(clients.slice(0, 100).map((client) => client.endAsync(true)));
  await expect.poll(() => present.size).toBe(101);
  // One in 50 ms.
  expect(events).toBeLessThanOrEqual(2 + Math.ceil((performance.now() - since) / 50));
  expect((await idsOf(controls)).sort()).toEqual([...present].sort());
});
