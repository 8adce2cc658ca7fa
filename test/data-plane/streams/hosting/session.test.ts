import { once } from 'node:events';
import { connect as connectTcp, createServer, type Socket } from 'node:net';
import { Aedes } from 'aedes';
import { connect, type IConnackPacket } from 'mqtt';
import { generate, type Packet, parser } from 'mqtt-packet';
import { expect, onTestFinished, test } from 'vitest';
import {
  MqttStreamSession,
  type StreamSessionOptions,
} from '../../../../src/data-plane/streams/hosting/mqtt-stream-session.ts';
import type { StreamMessage } from '../../../../src/data-plane/streams/model/stream-session.ts';
import type { ServiceError } from '../../../../src/platform/errors.ts';
import { reached } from '../../../support/link.ts';
import { sinceVersion, startMosquitto } from '../../../support/mosquitto.ts';
import { startRelay } from '../../../support/relay.ts';
import { definition, startEngine } from '../engine/engine-parts.ts';

const CLIENT_ID = 'brokergraph-b1-streams';
const VERSIONS = [5, 4] as const;

function open(options: Partial<StreamSessionOptions> & { readonly url: string }): MqttStreamSession {
  const session = new MqttStreamSession({ id: 'b1', clientId: CLIENT_ID, timeoutMs: 30_000, ...options });
  onTestFinished(() => session.close({ discard: false }));
  session.open();
  return session;
}

/** A listener that holds, and what it heard. */
function holder() {
  const heard: string[] = [];
  const releases: (() => void)[] = [];
  let look: () => void = () => undefined;
  return {
    heard,
    releases,
    listener: (message: StreamMessage) => {
      heard.push(message.payload.toString());
      releases.push(message.hold());
      look();
    },
    /** Resolves when that many were heard in all. */
    count: (count: number) =>
      new Promise<void>((resolve) => {
        look = () => {
          if (heard.length >= count) resolve();
        };
        look();
      }),
  };
}

const publish = (session: MqttStreamSession, topic: string, payload: string, qos: 0 | 1 | 2) =>
  new Promise<ServiceError | null>((resolve) => session.publish(topic, payload, qos, resolve));

/** An answer to what is sent after the acknowledgements says that they are with the broker. */
async function acknowledged(session: MqttStreamSession): Promise<void> {
  const stop = await session.subscribe('nobody/publishes/here', () => undefined);
  stop();
}

async function cutAndBack(session: MqttStreamSession, relay: { cut(): void }): Promise<void> {
  const lost = reached(session, 'UNREACHABLE');
  relay.cut();
  await lost;
  await reached(session, 'CONNECTED');
}

test.each(VERSIONS)(
  'messages held when the connection is lost are sent again, and released messages are not (MQTT %i)',
  async (version) => {
    const broker = await startMosquitto();
    const relay = await startRelay(broker.port);
    const session = open({ url: relay.url, version });
    await reached(session, 'CONNECTED');
    const { heard, releases, listener, count } = holder();
    await session.subscribe('in/#', listener);
    const client = await broker.client();
    for (const [index, name] of ['a', 'b', 'c', 'd'].entries()) {
      await client.publishAsync('in/x', name, { qos: index % 2 === 0 ? 1 : 2 });
    }
    await count(4);
    // Behind two that are held.
    releases[2]?.();
    await acknowledged(session);
    await cutAndBack(session, relay);
    await count(8);
    expect(heard.slice(4)).toEqual(['a', 'b', 'c', 'd']);
    // A message of the lost connection is not acknowledged.
    releases[0]?.();
    releases[1]?.();
    releases[4]?.();
    releases[5]?.();
    await acknowledged(session);
    await cutAndBack(session, relay);
    await count(10);
    await acknowledged(session);
    expect(heard.slice(8)).toEqual(['c', 'd']);
  },
);

test.each(VERSIONS)(
  'unreleased messages of a killed process, and later messages, wait for the next process (MQTT %i)',
  async (version) => {
    const broker = await startMosquitto();
    const relay = await startRelay(broker.port);
    const killed = open({ url: relay.url, version });
    await reached(killed, 'CONNECTED');
    const before = holder();
    await killed.subscribe('in/#', before.listener);
    await killed.subscribe('other', () => undefined);
    const client = await broker.client();
    for (const name of ['a', 'b', 'c']) await client.publishAsync('in/x', name, { qos: 1 });
    await before.count(3);
    before.releases[0]?.();
    await acknowledged(killed);
    relay.stop();
    await client.publishAsync('in/x', 'd', { qos: 2 });
    await client.publishAsync('other', 'for somebody else', { qos: 1 });

    const next = open({ url: broker.url, version });
    await reached(next, 'CONNECTED');
    expect(next.status.resumed).toBe(true);
    // They have arrived before the test reads them.
    await acknowledged(next);
    const after = holder();
    await next.subscribe('in/#', after.listener);
    await after.count(3);
    await client.publishAsync('in/x', 'e', { qos: 1 });
    await after.count(4);
    expect(after.heard).toEqual(['b', 'c', 'd', 'e']);
  },
);

test.each(VERSIONS)(
  'messages that wait for the next process still wait if its connection is lost before it subscribes (MQTT %i)',
  async (version) => {
    const broker = await startMosquitto();
    const relay = await startRelay(broker.port);
    const before = open({ url: broker.url, version });
    await reached(before, 'CONNECTED');
    await before.subscribe('in/#', () => undefined);
    await before.close({ discard: false });
    const client = await broker.client();
    for (const name of ['a', 'b']) await client.publishAsync('in/x', name, { qos: 2 });

    const next = open({ url: relay.url, version });
    await reached(next, 'CONNECTED');
    await acknowledged(next);
    await cutAndBack(next, relay);
    await acknowledged(next);
    const { heard, listener, count } = holder();
    await next.subscribe('in/#', listener);
    await count(2);
    expect(heard).toEqual(['a', 'b']);
  },
);

test.each(VERSIONS)(
  'a closed session remains at the broker, and a discarded session is deleted (MQTT %i)',
  async (version) => {
    const broker = await startMosquitto();
    const isKept = async () => {
      const client = connect(broker.url, {
        clientId: CLIENT_ID,
        clean: false,
        protocolVersion: version,
        ...(version === 5 ? { properties: { sessionExpiryInterval: 60 } } : {}),
      });
      const packet = await new Promise<IConnackPacket>((resolve) => client.on('connect', resolve));
      await client.endAsync();
      return packet.sessionPresent;
    };
    const first = open({ url: broker.url, version });
    await reached(first, 'CONNECTED');
    await first.subscribe('in/#', () => undefined);
    await first.close({ discard: false });
    expect(await isKept()).toBe(true);
    const second = open({ url: broker.url, version });
    await reached(second, 'CONNECTED');
    await second.close({ discard: true });
    expect(await isKept()).toBe(false);
  },
);

test.each(VERSIONS)(
  'retained messages are not delivered, and new messages are delivered once to each listener (MQTT %i)',
  async (version) => {
    const broker = await startMosquitto();
    const client = await broker.client();
    await client.publishAsync('in/x', 'kept', { qos: 1, retain: true });
    const session = open({ url: broker.url, version });
    await reached(session, 'CONNECTED');
    const wide = holder();
    const narrow = holder();
    await session.subscribe('in/#', wide.listener);
    await session.subscribe('in/x', narrow.listener);
    await client.publishAsync('in/x', 'new', { qos: 2 });
    await client.publishAsync('in/y', 'last', { qos: 1 });
    // To clients of MQTT 3.1.1, Mosquitto 2.1 sends a message once for each subscription.
    const news = Array(version === 5 ? 1 : sinceVersion({ '2.0.0': 1, '2.1.0': 2 })).fill('new');
    await wide.count(news.length + 1);
    expect(wide.heard).toEqual([...news, 'last']);
    expect(narrow.heard).toEqual(news);
  },
);

test.each(VERSIONS)(
  'many QoS 2 messages arrive once and in order, although the broker has a low Receive Maximum (MQTT %i)',
  async (version) => {
    const broker = await startMosquitto({ lines: ['max_queued_messages 10000'] });
    const session = open({ url: broker.url, version });
    await reached(session, 'CONNECTED');
    const { heard, listener, count } = holder();
    await session.subscribe('out', listener);
    const sent = Array.from({ length: 300 }, (_, index) => String(index));
    const results = await Promise.all(sent.map((payload) => publish(session, 'out', payload, 2)));
    expect(results.filter((error) => error !== null)).toEqual([]);
    // Of 3.1.1 Mosquitto sends 20 before they are acknowledged.
    await count(version === 5 ? 300 : 20);
    expect(heard).toEqual(version === 5 ? sent : sent.slice(0, 20));
  },
);

test('a message that the broker would disconnect for is refused, or sent with a supported QoS', async () => {
  const broker = await startMosquitto({ lines: ['max_packet_size 1000', 'max_qos 1'] });
  const session = open({ url: broker.url });
  await reached(session, 'CONNECTED');
  const { heard, listener, count } = holder();
  await session.subscribe('out', listener);
  // Type, two bytes of length, length of the topic, topic, packet id, no properties.
  const overhead = 3 + 2 + 3 + 2 + 1;
  const largest = 'x'.repeat(1_000 - overhead);
  expect(await publish(session, 'out', `${largest}y`, 1)).toMatchObject({ code: 'BROKER_REJECTED' });
  expect(await publish(session, 'out', largest, 1)).toBeNull();
  expect(await publish(session, 'out', 'second', 2)).toBeNull();
  await count(2);
  expect(heard).toEqual([largest, 'second']);
});

test('one message may cause more publishes than the queue limit of an ordinary link', async () => {
  const broker = await startMosquitto();
  const session = open({ url: broker.url });
  await reached(session, 'CONNECTED');
  const large = 'x'.repeat(1_000_000);
  const results = await Promise.all([
    ...Array.from({ length: 12_000 }, () => publish(session, 'many', '', 1)),
    ...Array.from({ length: 80 }, () => publish(session, 'large', large, 1)),
    ...Array.from({ length: 80 }, () => publish(session, 'large', large, 0)),
  ]);
  expect(results.filter((error) => error !== null)).toEqual([]);
  expect(session.status.state).toBe('CONNECTED');
});

test('a refused filter or topic is reported, and others continue', async () => {
  const broker = await startMosquitto({ access: 'dynsec' });
  const admin = await broker.client();
  await admin.subscribeAsync('$CONTROL/dynamic-security/v1/response');
  const answered = new Promise((resolve) => admin.on('message', resolve));
  const acls = [
    { acltype: 'subscribePattern', topic: 'secret/#', allow: false, priority: 1 },
    { acltype: 'subscribePattern', topic: '#', allow: true },
    { acltype: 'publishClientReceive', topic: '#', allow: true },
    { acltype: 'publishClientSend', topic: 'out/#', allow: true },
  ];
  const commands = [
    { command: 'createRole', rolename: 'streams', acls },
    { command: 'createClient', username: 'gateway', password: 'pw', roles: [{ rolename: 'streams' }] },
  ];
  await admin.publishAsync('$CONTROL/dynamic-security/v1', JSON.stringify({ commands }));
  await answered;
  const session = open({ url: broker.url, username: 'gateway', password: 'pw' });
  await reached(session, 'CONNECTED');
  const { heard, listener, count } = holder();
  await expect(session.subscribe('secret/#', listener)).rejects.toMatchObject({ code: 'NOT_ALLOWED' });
  await session.subscribe('out/#', listener);
  expect(await publish(session, 'elsewhere', 'x', 1)).toMatchObject({ code: 'NOT_ALLOWED' });
  expect(await publish(session, 'out/x', 'x', 1)).toBeNull();
  await count(1);
  expect(heard).toEqual(['x']);
  await admin.publishAsync('secret/x', 'y', { qos: 1 });
  expect(await publish(session, 'out/x', 'z', 2)).toBeNull();
  await count(2);
  expect(heard).toEqual(['x', 'z']);
});

/** A broker that can be looked into. */
async function startAedes() {
  const aedes = await Aedes.createBroker();
  const server = createServer(aedes.handle).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(async () => {
    server.close();
    await new Promise<void>((resolve) => aedes.close(() => resolve()));
  });
  const { port } = server.address() as { port: number };
  return { aedes, port, url: `mqtt://127.0.0.1:${port}` };
}

test('a stream processes a message that matches its old and its new source once, also if packets arrive in pieces', async () => {
  const identifiers: number[] = [];
  const sockets: Socket[] = [];
  let took: (payload: string) => void = () => undefined;
  const published = new Promise<string[]>((resolve) => {
    const payloads: string[] = [];
    took = (payload) => {
      payloads.push(payload);
      if (payload === 'last') resolve(payloads);
    };
  });
  const copy = (messageId: number, payload: string, identifier: number | undefined): Packet => ({
    ...({ cmd: 'publish', topic: 'in/x', qos: 1, dup: false, retain: false } as const),
    ...{ messageId, payload, properties: identifier === undefined ? {} : { subscriptionIdentifier: identifier } },
  });
  const send = (socket: Socket | undefined, ...packets: Packet[]) =>
    socket?.write(Buffer.concat(packets.map((packet) => generate(packet, { protocolVersion: 5 }))));
  const answer = (socket: Socket, packet: Packet) => {
    if (packet.cmd === 'connect') send(socket, { cmd: 'connack', reasonCode: 0, sessionPresent: false });
    if (packet.cmd === 'publish') took(packet.payload.toString());
    if (packet.cmd !== 'subscribe') return;
    sockets.push(socket);
    identifiers.push(Number(packet.properties?.subscriptionIdentifier));
    const suback = { cmd: 'suback', messageId: packet.messageId ?? 0, granted: [2] } satisfies Packet;
    // The first copy comes with the answer, the other one later.
    if (identifiers.length === 2) send(socket, suback, copy(1, 'once', identifiers[1]));
    else send(socket, suback);
  };
  const server = createServer((socket) => {
    const packets = parser({ protocolVersion: 5 });
    packets.on('packet', (packet) => answer(socket, packet));
    socket.on('data', (data) => packets.parse(data));
    socket.on('error', () => undefined);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const { port } = server.address() as { port: number };
  const session = open({ url: `mqtt://127.0.0.1:${port}` });
  await reached(session, 'CONNECTED');
  const engine = startEngine(session);
  const stream = { targetTopic: 'out', targetQos: 0, process: false } as const;
  await engine.put('a', definition({ sourceTopic: 'in/#', ...stream }));
  await engine.put('a', definition({ sourceTopic: 'in/+', ...stream }));
  send(sockets[1], copy(2, 'once', identifiers[0]), copy(3, 'last', identifiers[1]));
  expect(await published).toEqual(['once', 'last']);
});

test('a paused session delivers nothing and stays connected, and then delivers all messages in order', async () => {
  const { aedes, url } = await startAedes();
  const session = open({ url, version: 4, keepaliveSeconds: 2 });
  await reached(session, 'CONNECTED');
  const { heard, listener, count } = holder();
  await session.subscribe('in/#', listener);
  session.pause();
  let states = '';
  session.onStatus(({ state }) => {
    states += state;
  });
  // More than fits into the buffers on the way, and longer than a silent client may be.
  const payload = 'x'.repeat(100_000);
  for (let index = 0; index < 200; index += 1) {
    const packet = {
      cmd: 'publish',
      qos: 0,
      dup: false,
      retain: false,
      topic: 'in/x',
      payload: `${index} ${payload}`,
    } as const;
    aedes.publish(packet, () => undefined);
  }
  let pings = 0;
  await new Promise<void>((resolve) => {
    aedes.on('ping', (_packet, { id }) => {
      if (id !== CLIENT_ID) return;
      pings += 1;
      if (pings === 3) resolve();
    });
  });
  expect(heard.length).toBeLessThanOrEqual(1);
  // Answers to what is published do not wait behind.
  expect(await publish(session, 'out', 'x', 1)).toBeNull();
  session.resume();
  await count(200);
  expect(heard.map((text) => Number.parseInt(text, 10))).toEqual(Array.from({ length: 200 }, (_, index) => index));
  expect(states).toBe('');
});

test('a publish without PUBACK ends the connection, and held messages are sent again', async () => {
  const { aedes, url } = await startAedes();
  aedes.authorizePublish = (_client, { topic }, callback) => {
    if (topic !== 'stuck') callback(null);
  };
  const session = open({ url, version: 4, timeoutMs: 1_000 });
  await reached(session, 'CONNECTED');
  const { heard, listener, count } = holder();
  await session.subscribe('in', listener);
  expect(await publish(session, 'in', 'a', 1)).toBeNull();
  await count(1);
  expect(await publish(session, 'stuck', 'x', 1)).toMatchObject({ code: 'BROKER_UNREACHABLE' });
  await count(2);
  expect(heard).toEqual(['a', 'a']);
});

test('a filter that was removed while disconnected does not remain in the session', async () => {
  const { aedes, port } = await startAedes();
  const relay = await startRelay(port);
  const session = open({ url: relay.url, version: 4 });
  await reached(session, 'CONNECTED');
  const given = await session.subscribe('given/up', () => undefined);
  await session.subscribe('kept', () => undefined);
  const unsubscribed = once(aedes, 'unsubscribe');
  const lost = reached(session, 'UNREACHABLE');
  relay.cut();
  await lost;
  given();
  expect((await unsubscribed)[0]).toEqual(['given/up']);
});

test('a filter of an earlier process is unsubscribed when a message arrives for it', async () => {
  const { aedes, url } = await startAedes();
  const first = open({ url, version: 4 });
  await reached(first, 'CONNECTED');
  await first.subscribe('left/+/over', () => undefined);
  await first.close({ discard: false });
  const second = open({ url, version: 4, claimMs: 100 });
  await reached(second, 'CONNECTED');
  const { heard, listener, count } = holder();
  await second.subscribe('left/a/#', listener);
  const unsubscribed = once(aedes, 'unsubscribe');
  const deliver = (topic: string, payload: string) =>
    aedes.publish({ cmd: 'publish', qos: 1, dup: false, retain: false, topic, payload }, () => undefined);
  // Messages for listeners of the earlier process are not delivered.
  const timer = setInterval(() => deliver('left/b/over', 'for nobody'), 200);
  const filters = (await unsubscribed)[0] as string[];
  clearInterval(timer);
  expect(filters).toContain('left/+/over');
  expect(filters).not.toContain('left/a/#');
  deliver('left/a/over', 'for us');
  await count(1);
  expect(heard).toEqual(['for us']);
});

test.each(['ws', 'mqtts'] as const)(
  'messages of any size pass over %s, and the session reconnects to a restarted broker',
  async (protocol) => {
    const broker = await startMosquitto({
      ...(protocol === 'ws' ? { webSocket: true } : { tls: 'mutual' }),
      // The default of Mosquitto 2.1 is 2,000,000.
      lines: ['max_packet_size 10000000'],
    });
    const url = protocol === 'ws' ? broker.webSocketUrl : broker.url;
    const session = open({ url, ...broker.certificates });
    await reached(session, 'CONNECTED');
    const { heard, releases, listener, count } = holder();
    await session.subscribe('in/#', listener);
    // Mosquitto 2.0.11 stalls over WebSocket on larger messages, with any reader.
    const sizes = protocol === 'ws' ? [10, 2_000, 1, 700, 3_000, 5] : [10, 200_000, 1, 70_000, 3_000_000, 5];
    const texts = sizes.map((length, index) => String(index).repeat(length));
    const publishAll = () =>
      Promise.all(texts.map((text, index) => publish(session, 'in/x', text, (index % 3) as 0 | 1 | 2)));
    expect(new Set(await publishAll())).toEqual(new Set([null]));
    await count(texts.length);
    expect(heard.toSorted()).toEqual(texts.toSorted());
    for (const release of releases) release();
    await acknowledged(session);
    const lost = reached(session, 'UNREACHABLE');
    await broker.kill();
    await lost;
    await broker.start();
    await reached(session, 'CONNECTED');
    await acknowledged(session);
    await publishAll();
    await count(2 * texts.length);
  },
);

/** A way to a broker that can put bytes among those of the broker's, on the connection of one client. */
async function startForger(port: number) {
  const ways = new Map<string, Socket>();
  const server = createServer((incoming) => {
    const outgoing = connectTcp(port, '127.0.0.1');
    for (const socket of [incoming, outgoing]) {
      socket.on('error', () => undefined);
      socket.on('close', () => {
        incoming.destroy();
        outgoing.destroy();
      });
    }
    const connecting = parser({ protocolVersion: 5 });
    connecting.once('packet', (packet) => packet.cmd === 'connect' && ways.set(packet.clientId, incoming));
    incoming.once('data', (chunk: Buffer) => connecting.parse(chunk));
    incoming.pipe(outgoing).pipe(incoming);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    for (const socket of ways.values()) socket.destroy();
  });
  const { port: own } = server.address() as { port: number };
  return {
    url: `mqtt://127.0.0.1:${own}`,
    forge: (clientId: string, bytes: Buffer) => ways.get(clientId)?.write(bytes),
  };
}

test.each([
  // A PUBLISH of QoS 3.
  [CLIENT_ID, Buffer.from([0x36, 2, 0, 0])],
  // A PUBACK of the packet 0.
  [`${CLIENT_ID}-out`, Buffer.from([0x40, 2, 0, 0])],
])(
  'a malformed packet to %s ends the connection and not the session: no message is lost, no released message is repeated',
  async (clientId, malformed) => {
    const broker = await startMosquitto();
    const { url, forge } = await startForger(broker.port);
    const session = open({ url });
    await reached(session, 'CONNECTED');
    const { heard, releases, listener, count } = holder();
    await session.subscribe('in/#', listener);
    const client = await broker.client();
    for (const name of ['a', 'b', 'c', 'd']) await client.publishAsync('in/x', name, { qos: 1 });
    await count(4);
    releases[0]?.();
    releases[1]?.();
    await acknowledged(session);

    const lost = reached(session, 'UNREACHABLE');
    forge(clientId, malformed);
    await lost;
    for (const name of ['e', 'f']) await client.publishAsync('in/x', name, { qos: 1 });
    await reached(session, 'CONNECTED');
    expect(session.status.resumed).toBe(true);
    await count(8);
    expect(heard.slice(4)).toEqual(['c', 'd', 'e', 'f']);
    expect(await publish(session, 'out', 'x', 1)).toBeNull();
    for (const release of releases.slice(4)) release();
    await client.publishAsync('in/x', 'g', { qos: 1 });
    await count(9);
    await acknowledged(session);
    expect(heard.slice(8)).toEqual(['g']);
  },
);

test.each(VERSIONS)(
  'a session that is paused during a reconnect delivers nothing, and then each message once (MQTT %i)',
  async (version) => {
    const broker = await startMosquitto();
    const relay = await startRelay(broker.port);
    const before = open({ url: broker.url, version });
    await reached(before, 'CONNECTED');
    await before.subscribe('in/#', () => undefined);
    await before.close({ discard: false });
    const client = await broker.client();
    // Not more than Mosquitto sends at once: it keeps the order of these only across connections of MQTT 3.1.1.
    const names = Array.from({ length: 15 }, (_, index) => `${index}`);
    for (const name of names) await client.publishAsync('in/x', name, { qos: 1 });

    const session = open({ url: relay.url, version });
    session.pause();
    await reached(session, 'CONNECTED');
    const { heard, releases, listener, count } = holder();
    let subscribed = session.subscribe('in/#', listener);
    subscribed.catch(() => undefined);
    // Answers on the other connection: the broker had time to send what it kept.
    expect(await publish(session, 'out', 'x', 1)).toBeNull();
    expect(await publish(session, 'out', 'x', 1)).toBeNull();
    expect(heard).toEqual([]);
    await cutAndBack(session, relay);
    await expect(subscribed).rejects.toMatchObject({ code: 'BROKER_UNREACHABLE' });
    subscribed = session.subscribe('in/#', listener);
    expect(await publish(session, 'out', 'x', 1)).toBeNull();
    expect(heard).toEqual([]);

    session.resume();
    await subscribed;
    await count(names.length);
    for (const release of releases) release();
    await client.publishAsync('in/x', 'last', { qos: 1 });
    await count(names.length + 1);
    await acknowledged(session);
    expect(heard).toEqual([...names, 'last']);
  },
);
