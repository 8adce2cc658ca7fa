import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { connect as connectTls, createServer, type TLSSocket } from 'node:tls';
import fc from 'fast-check';
import type { MqttClient } from 'mqtt';
import { expect, onTestFinished, test } from 'vitest';
import { ClientRegistry } from '../../../src/data-plane/broker/clients/client-registry.ts';
import { Connection } from '../../../src/data-plane/broker/clients/connection.ts';
import { InspectPlugin } from '../../../src/data-plane/broker/control/inspect-plugin.ts';
import { SortedIds } from '../../../src/data-plane/broker/delivery/sorted-ids.ts';
import { BROKER_LIMITS } from '../../../src/data-plane/broker/limits.ts';
import { BrokerStore } from '../../../src/data-plane/broker/store/broker-store.ts';
import { Traffic } from '../../../src/data-plane/broker/traffic/traffic.ts';
import { ClientEventLog } from '../../../src/protocol/apis/clients/client-event-log.ts';
import type { ClientsChangedEvent, ConnectedClientDetail } from '../../../src/protocol/apis/clients/inspect-data.ts';
import { parseClientDetail, parseClientList } from '../../../src/protocol/apis/clients/inspect-parser.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { connect, control, startBrokerHere, useTestBroker } from './embedded.ts';
import { rawClient } from './raw-client.ts';

const API = 'cedalo/inspect';
const shared = useTestBroker();

async function inspect(admin: MqttClient, clientid: string): Promise<ConnectedClientDetail> {
  const [answer] = await control(admin, API, { commands: [{ command: 'getClient', clientid }] });
  const detail = parseClientDetail(answer?.data);
  if (!detail) throw new Error(JSON.stringify(answer));
  return detail;
}

/** Numbers of messages that wait and that are under way, with their bytes: what a scripted exchange is about. */
function told({ queues = {}, inflight = {} }: ConnectedClientDetail) {
  return {
    waitsIn: [queues.messagesIn, queues.bytesIn],
    waitsOut: [queues.messagesOut, queues.bytesOut],
    underWayIn: [inflight.messagesIn, inflight.bytesIn],
    underWayOut: [inflight.messagesOut, inflight.bytesOut],
  };
}

const NOTHING = { waitsIn: [0, 0], waitsOut: [0, 0], underWayIn: [0, 0], underWayOut: [0, 0] };

const session = (protocolVersion: 4 | 5, clean: boolean) => ({
  protocolVersion,
  clean,
  ...(protocolVersion === 5 && !clean ? { properties: { sessionExpiryInterval: 3_600 } } : {}),
});

const publish = async (from: MqttClient, topic: string, qos: 0 | 1 | 2, count: number, bytes: number) => {
  for (let index = 0; index < count; index += 1) await from.publishAsync(topic, 'x'.repeat(bytes), { qos });
};

test.each([
  { version: 4, clean: true },
  { version: 4, clean: false },
  { version: 5, clean: true },
  { version: 5, clean: false },
] as const)(
  'every message that is under way is counted, either way (MQTT $version, clean: $clean)',
  async ({ version, clean }) => {
    const { mqttPort } = shared();
    const admin = await connect(mqttPort);
    const id = `counted-${version}-${clean}`;
    const raw = await rawClient(mqttPort, { clientId: id, ...session(version, clean) }, `${id}/#`);
    await publish(admin, `${id}/a`, 0, 3, 5);
    await publish(admin, `${id}/a`, 1, 4, 7);
    await publish(admin, `${id}/a`, 2, 2, 11);
    await raw.until('publish', 9);
    const first = await inspect(admin, id);
    expect(told(first)).toEqual({ ...NOTHING, underWayOut: [6, 50] });
    expect(first).toMatchObject({
      numSubscribed: 9,
      bytesSubscribed: 65,
      numPublished: 0,
      numDropped: 0,
      cleanSession: clean,
    });

    const idOf = (qos: number) =>
      raw.packets.find((packet) => packet.cmd === 'publish' && packet.qos === qos)?.messageId ?? 0;
    raw.send({ cmd: 'puback', messageId: idOf(1) });
    // One that nothing is under way with.
    raw.send({ cmd: 'puback', messageId: 65_000 });
    await raw.settle();
    expect(told(await inspect(admin, id))).toEqual({ ...NOTHING, underWayOut: [5, 43] });
    raw.send({ cmd: 'pubrec', messageId: idOf(2) });
    await raw.until('pubrel', 1);
    expect(told(await inspect(admin, id))).toEqual({ ...NOTHING, underWayOut: [5, 43] });
    raw.send({ cmd: 'pubcomp', messageId: idOf(2) });
    await raw.settle();
    expect(told(await inspect(admin, id))).toEqual({ ...NOTHING, underWayOut: [4, 32] });

    const send = (qos: 0 | 1 | 2, messageId: number, bytes: number) =>
      raw.send({
        cmd: 'publish',
        topic: 'to/nobody',
        payload: 'x'.repeat(bytes),
        qos,
        messageId,
        retain: false,
        dup: false,
      });
    send(0, 0, 3);
    for (const messageId of [1, 2]) send(1, messageId, 4);
    for (const messageId of [11, 12, 13]) send(2, messageId, 6);
    await raw.until('pubrec', 3);
    const second = await inspect(admin, id);
    expect(told(second)).toEqual({ ...NOTHING, underWayIn: [3, 18], underWayOut: [4, 32] });
    expect(second).toMatchObject({ numPublished: 6, bytesPublished: 29 });
    raw.send({ cmd: 'pubrel', messageId: 12 });
    await raw.until('pubcomp', 1);
    expect(told(await inspect(admin, id))).toEqual({ ...NOTHING, underWayIn: [2, 12], underWayOut: [4, 32] });

    raw.send({
      cmd: 'publish',
      topic: '$CONTROL/nothing',
      payload: 'x'.repeat(8),
      qos: 2,
      messageId: 20,
      retain: false,
      dup: false,
    });
    await raw.until('pubrec', 4);
    expect(told(await inspect(admin, id))).toEqual({ ...NOTHING, underWayIn: [3, 20], underWayOut: [4, 32] });
  },
);

test.each([4, 5] as const)('a QoS 2 publish that is repeated before PUBREL counts once (MQTT %i)', async (version) => {
  const { mqttPort } = shared();
  const admin = await connect(mqttPort);
  const raw = await rawClient(mqttPort, { clientId: `again-${version}`, ...session(version, false) });
  const send = (messageId: number, dup: boolean, topic = 'to/nobody') =>
    raw.send({ cmd: 'publish', topic, payload: 'x'.repeat(6), qos: 2, messageId, retain: false, dup });
  // Before the first one is on disk, and after.
  send(1, false);
  send(1, true);
  await raw.until('pubrec', 2);
  send(1, true);
  await raw.until('pubrec', 3);
  expect(await inspect(admin, `again-${version}`)).toMatchObject({ numPublished: 1, bytesPublished: 6 });
  raw.send({ cmd: 'pubrel', messageId: 1 });
  await raw.until('pubcomp', 1);
  send(1, false);
  send(2, false);
  await raw.until('pubrec', 5);
  expect(await inspect(admin, `again-${version}`)).toMatchObject({ numPublished: 3, bytesPublished: 18 });
});

test.each([4, 5] as const)(
  'a session keeps its counters while its client is offline, and through a restart (MQTT %i)',
  async (version) => {
    const folder = temporaryFolder();
    const broker = await startBrokerHere({ folder });
    let admin = await connect(broker.mqttPort);
    const raw = await rawClient(broker.mqttPort, session(version, false), 'a');
    await publish(admin, 'a', 1, 3, 10);
    await publish(admin, 'a', 0, 1, 1);
    await raw.until('publish', 4);
    for (const messageId of [1, 2])
      raw.send({ cmd: 'publish', topic: 'b', payload: 'seven..', qos: 2, messageId, retain: false, dup: false });
    await raw.until('pubrec', 2);
    await raw.leave();
    await publish(admin, 'a', 2, 2, 9);
    const away = await inspect(admin, 'raw');
    expect(told(away)).toEqual({ waitsIn: [0, 0], waitsOut: [2, 18], underWayIn: [2, 14], underWayOut: [3, 30] });
    const counters = { numPublished: 2, bytesPublished: 14, numSubscribed: 4, bytesSubscribed: 31 };
    expect(away).toMatchObject({ connected: false, ...counters, numDropped: 0, keepalive: 0, cleanSession: false });
    expect(away.queues?.messagesMax).toBe(1_000);
    await publish(admin, 'a', 1, 1_000, 1);
    const full = await inspect(admin, 'raw');
    expect(full).toMatchObject({ numDropped: 5, queues: { messagesOut: 997, bytesOut: 18 + 995 } });

    await broker.close();
    const again = await startBrokerHere({ folder });
    admin = await connect(again.mqttPort);
    const restarted = await inspect(admin, 'raw');
    expect(restarted).toEqual({ ...full, numDropped: 0, listener: full.listener });

    const back = await rawClient(again.mqttPort, session(version, false));
    await back.until('publish', 1_000);
    const returned = await inspect(admin, 'raw');
    expect(told(returned)).toEqual({ ...NOTHING, underWayIn: [2, 14], underWayOut: [1_000, 30 + 18 + 995] });
    expect(returned).toMatchObject({ connected: true, numPublished: 0, bytesPublished: 0 });
  },
);

test.each([true, false])(
  'messages beyond Receive Maximum are queued, and the others are in flight (clean: %s)',
  async (clean) => {
    const { mqttPort } = shared();
    const admin = await connect(mqttPort);
    const id = `window-${clean}`;
    const properties = { receiveMaximum: 2, ...(clean ? {} : { sessionExpiryInterval: 60 }) };
    const raw = await rawClient(mqttPort, { clientId: id, clean, properties }, id);
    await publish(admin, id, 1, 5, 10);
    await raw.until('publish', 2);
    const before = await inspect(admin, id);
    expect(told(before)).toEqual({ ...NOTHING, waitsOut: [3, 30], underWayOut: [2, 20] });
    expect(before.inflight).toMatchObject({ messagesOutMax: 2, messagesInMax: 65_535, messagesMax: 65_537 });
    expect(before.queues).toMatchObject({ messagesOutQos12: 3, pagedMessagesOut: 0, pagedMessagesMax: 0 });
    const first = raw.packets.find(({ cmd }) => cmd === 'publish');
    raw.send({ cmd: 'puback', messageId: first?.messageId ?? 0 });
    await raw.until('publish', 3);
    expect(told(await inspect(admin, id))).toEqual({ ...NOTHING, waitsOut: [2, 20], underWayOut: [2, 20] });
  },
);

test('publishes that are not on disk yet are reported as queued', async () => {
  const { mqttPort } = shared();
  const keeper = await rawClient(mqttPort, { clientId: 'keeper', ...session(4, false) }, 'durable');
  await keeper.leave();
  const topic = `$CONTROL/${API}/v1`;
  const raw = await rawClient(mqttPort, { clientId: 'waiting', ...session(4, false) }, `${topic}/response`);
  const send = (to: string, qos: 0 | 1 | 2, payload: string, messageId: number) =>
    raw.packet({ cmd: 'publish', topic: to, payload, qos, messageId, retain: false, dup: false });
  const request = JSON.stringify({ commands: [{ command: 'getClient', clientid: 'waiting' }] });
  // In one piece, so that the request is served before anything is written to disk.
  raw.write(
    Buffer.concat([
      send('durable', 1, 'four', 1),
      send('durable', 1, 'four', 2),
      send('durable', 2, 'sixsix', 3),
      send(topic, 0, request, 0),
    ]),
  );
  // The topic also has the events of connecting and disconnecting clients.
  const answers = () =>
    raw.packets.flatMap((packet) =>
      packet.cmd === 'publish' ? (JSON.parse(String(packet.payload)).responses ?? []) : [],
    );
  while (answers().length === 0) await raw.until('publish', raw.count('publish') + 1);
  const detail = parseClientDetail(answers()[0].data);
  expect(detail && told(detail)).toEqual({ ...NOTHING, waitsIn: [3, 14] });
  expect(detail?.queues?.messagesInQos12).toBe(3);
  await raw.until('pubrec', 1);
  const admin = await connect(mqttPort);
  expect(told(await inspect(admin, 'waiting'))).toEqual({ ...NOTHING, underWayIn: [1, 6] });
});

test('a will is reported with its properties and its delay', async () => {
  const { mqttPort } = shared();
  const admin = await connect(mqttPort);
  const properties = {
    willDelayInterval: 30,
    payloadFormatIndicator: true,
    messageExpiryInterval: 60,
    contentType: 'text/plain',
    responseTopic: 'answers',
    correlationData: Buffer.from([0, 255]),
    userProperties: { tag: ['a', 'b'], unit: 'C' },
  };
  const will = { topic: 'will', payload: Buffer.from('gone'), qos: 1, retain: false, properties } as const;
  await connect(mqttPort, { clientId: 'willing', protocolVersion: 5, will });
  expect((await inspect(admin, 'willing')).will).toEqual({
    topic: 'will',
    qos: 1,
    retain: false,
    payload: 'Z29uZQ==',
    delayInterval: 30,
    properties: [
      { identifier: 'payload-format-indicator', value: '1' },
      { identifier: 'message-expiry-interval', value: '60' },
      { identifier: 'content-type', value: 'text/plain' },
      { identifier: 'response-topic', value: 'answers' },
      { identifier: 'correlation-data', value: 'AP8=' },
      { identifier: 'user-property', name: 'tag', value: 'a' },
      { identifier: 'user-property', name: 'tag', value: 'b' },
      { identifier: 'user-property', name: 'unit', value: 'C' },
    ],
  });
});

test('a list reports the waiting messages of each client, and no other queue data', async () => {
  const { mqttPort } = shared();
  const admin = await connect(mqttPort, { clientId: 'lister' });
  const [answer] = await control(admin, API, { commands: [{ command: 'listClients', verbose: true }] });
  const { clients } = parseClientList(answer?.data);
  expect(clients.find(({ clientid }) => clientid === 'lister')?.queues).toEqual({
    messagesOut: 0,
    messagesMax: 20_000,
    bytesOut: 0,
    bytesMax: 32 * 1_048_576,
    pagedMessagesOut: 0,
    pagedMessagesMax: 0,
  });
});

test('a client whose DISCONNECT was read in the same iteration of the event loop is not listed', async () => {
  const { mqttPort } = await startBrokerHere();
  const leaving = await rawClient(mqttPort, { clientId: 'leaving', ...session(4, true) });
  const topic = `$CONTROL/${API}/v1`;
  const asking = await rawClient(mqttPort, { clientId: 'asking', ...session(4, true) }, `${topic}/response`);
  const payload = JSON.stringify({ commands: [{ command: 'listClients', verbose: false }] });
  // Both arrive before the broker, which runs in this thread, reads.
  leaving.write(leaving.packet({ cmd: 'disconnect' }));
  asking.write(asking.packet({ cmd: 'publish', topic, payload, qos: 0, messageId: 0, retain: false, dup: false }));
  const answers = () =>
    asking.packets.flatMap((packet) =>
      packet.cmd === 'publish' ? (JSON.parse(String(packet.payload)).responses ?? []) : [],
    );
  while (answers().length === 0) await asking.until('publish', asking.count('publish') + 1);
  expect(answers()[0].data.clients).toContain('asking');
  expect(answers()[0].data.clients).not.toContain('leaving');
});

test('the certificate, the version and the cipher of a TLS connection are reported', async () => {
  const folder = temporaryFolder();
  const files = { key: join(folder, 'key.pem'), cert: join(folder, 'cert.pem') };
  const asked =
    'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=test -keyout'.split(' ');
  execFileSync('openssl', [...asked, files.key, '-out', files.cert], { stdio: 'ignore' });
  const [key, cert] = [readFileSync(files.key), readFileSync(files.cert)];
  const server = createServer({ key, cert, ca: cert, requestCert: true, rejectUnauthorized: false });
  onTestFinished(() => void server.close());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const place = { number: 1, port, host: '127.0.0.1' };
  const info = { ...place, protocol: 'MQTT', tls: true, requireCertificate: false } as const;
  const tlsOf = async (own: object) => {
    const client = connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false, ...own });
    onTestFinished(() => void client.destroy());
    const [socket] = (await once(server, 'secureConnection')) as [TLSSocket];
    onTestFinished(() => void socket.destroy());
    return new Connection(socket, socket, info).tls;
  };
  expect(await tlsOf({ key, cert })).toEqual({
    version: 'TLSv1.3',
    ciphers: expect.stringMatching(/^TLS_/),
    clientCertificate: cert.toString(),
  });
  expect(await tlsOf({})).toEqual({ version: 'TLSv1.3', ciphers: expect.stringMatching(/^TLS_/) });
});

test('changes beyond the limit of an event are sent in several events with sequence numbers', async () => {
  const store = new BrokerStore({ folder: temporaryFolder(), limits: BROKER_LIMITS, onBroken: () => {} });
  onTestFinished(() => store.close());
  const registry = new ClientRegistry(store.sessions);
  const events: ClientsChangedEvent[] = [];
  let check = () => {};
  const emit = (event: ClientsChangedEvent) => {
    events.push(event);
    check();
  };
  const plugin = new InspectPlugin({
    registry,
    incoming: store.incoming,
    subscriptions: store.subscriptions,
    since: 0,
    emit,
    events: new ClientEventLog(() => undefined),
    traffic: new Traffic(registry, 'own-'),
  });
  onTestFinished(() => plugin.close());
  for (let index = 0; index < 2_500; index += 1) {
    if (index % 2 === 0) store.sessions.subscribe(`c${index}`, 'a', { qos: 1 });
    registry.changed(`c${index}`);
  }
  await new Promise<void>((resolve) => {
    check = () => events.length === 3 && resolve();
  });
  expect(events.map(({ sequence, changed, removed }) => [sequence, changed.length, removed.length])).toEqual([
    [1, 500, 500],
    [2, 500, 500],
    [3, 250, 250],
  ]);
  expect(plugin.execute({ command: 'listClients' })).toMatchObject({ totalCount: 1_250, sequence: 3 });
});

test('client ids stay sorted through all changes, and a returned list does not change', () => {
  const id = fc.constantFrom(...'abcdefghij', '__proto__', 'é', '\u{1f600}', '\uffff');
  fc.assert(
    fc.property(fc.array(fc.oneof(fc.record({ id, isThere: fc.boolean() }), fc.constant('ask' as const))), (steps) => {
      const there = new Set<string>();
      const ids = new SortedIds((each) => there.has(each));
      for (const step of steps) {
        if (step === 'ask') {
          const before = ids.all();
          const copy = [...before];
          ids.changed('never there');
          expect(ids.all()).toEqual([...there].sort());
          expect(before).toEqual(copy);
          continue;
        }
        if (step.isThere) there.add(step.id);
        else there.delete(step.id);
        ids.changed(step.id);
      }
      expect(ids.all()).toEqual([...there].sort());
    }),
  );
});

test('ids of clients that were there for a short time take no memory without a call of `all`', () => {
  let asked = 0;
  const ids = new SortedIds(() => {
    asked += 1;
    return false;
  });
  for (let n = 0; n < 100_000; n += 1) ids.changed(`client-${n}`);
  expect(asked).toBeGreaterThanOrEqual(90_000);
  expect(ids.all()).toEqual([]);
});
