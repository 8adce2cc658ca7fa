import { once } from 'node:events';
import { createServer } from 'node:net';
import { Aedes, type Client } from 'aedes';
import type { IConnectPacket } from 'mqtt-packet';
import { expect, onTestFinished, test } from 'vitest';
import { BrokerClient, type ClientParser } from '../../../src/data-plane/broker/clients/broker-client.ts';
import {
  dropUnseenMessages,
  handleConnect,
  handleDisconnect,
} from '../../../src/data-plane/broker/connecting/aedes-connect.ts';
import { CallbackParser } from './callback-parser.ts';
import { rawClient } from './raw-client.ts';

/** Each test fails if an upgrade of aedes changes what `BrokerClient` and `handleConnect` do instead of it. */

const MQTT_3 = { protocolVersion: 4, protocolId: 'MQTT' } as const;
/** They differ for each client, or `BrokerClient` does not have them. */
const UNEQUAL = [
  '_nextId',
  'conn',
  'broker',
  '_parser',
  'deliver0',
  'deliverQoS',
  '_nextBatch',
  '_eos',
  '_topicAliases',
  'req',
  '_keepaliveInterval',
  '_keepaliveTimer',
];

/** aedes with or without the functions. `events` has those of the broker and the messages that it publishes. */
async function startAedes(isReplaced: boolean, authenticate?: Aedes['authenticate']) {
  const aedes = new Aedes(authenticate ? { authenticate } : {});
  await aedes.listen();
  if (isReplaced) dropUnseenMessages(aedes);
  const clients: (Client | BrokerClient)[] = [];
  const server = createServer((socket) => {
    clients.push(
      isReplaced ? new BrokerClient(aedes, socket, (client) => parserOf(aedes, client)) : aedes.handle(socket),
    );
  });
  const events: string[] = [];
  for (const name of ['client', 'connackSent', 'clientReady', 'clientDisconnect', 'clientError'])
    (aedes as NodeJS.EventEmitter).on(name, () => events.push(name));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => {
    server.close();
    return new Promise<void>((resolve) => aedes.close(resolve));
  });
  const { port } = server.address() as { port: number };
  const connect = (fields: Partial<IConnectPacket> = {}) => rawClient(port, { ...MQTT_3, ...fields });
  return { aedes, clients, events, connect };
}

/** Reads what aedes handles from the stream. */
function parserOf(aedes: Aedes, client: BrokerClient): ClientParser {
  const parser = new CallbackParser({
    packet: (packet) => {
      if (!handleConnect(aedes, client, packet) && !handleDisconnect(client, packet)) client.handle(packet);
    },
  });
  const read = () => {
    const bytes = client.conn.read(client.conn.readableLength);
    if (bytes) parser.parse(bytes);
  };
  return Object.assign(parser, { client, _queue: null, read, readOn: read, ended: () => {} });
}

/** The fields that a client of aedes has, of any client. */
const fieldsOf = (client: object = {}, { names = Object.keys(client) } = {}) =>
  Object.fromEntries(
    names.flatMap((name) => {
      const value: unknown = Reflect.get(client, name);
      if (UNEQUAL.includes(name) || name.startsWith('_event')) return [];
      return [[name, typeof value === 'object' && value !== null ? 'object' : value]];
    }),
  );

test.each([{ keepalive: 0 }, { keepalive: 30 }])('a client has the same fields as with aedes, %o', async (fields) => {
  const results = [];
  let names: string[] = [];
  for (const isReplaced of [false, true]) {
    const { clients, events, connect } = await startAedes(isReplaced);
    const raw = await connect(fields);
    await raw.settle();
    if (!isReplaced) names = Object.keys(clients[0] ?? {});
    const connected = fieldsOf(clients[0], { names });
    raw.send({ cmd: 'disconnect' });
    await raw.closed;
    results.push({ connected, closed: fieldsOf(clients[0], { names }), events, bytes: raw.bytes() });
  }
  expect(results[1]).toEqual(results[0]);
  expect(results[1]?.events).toEqual(['client', 'connackSent', 'clientReady', 'clientDisconnect']);
});

test.each([4, undefined])('a refused client gets the return code %s and is closed', async (returnCode) => {
  const results = [];
  for (const isReplaced of [false, true]) {
    const { clients, events, connect } = await startAedes(isReplaced, (_client, _username, _password, done) => {
      if (returnCode) done(Object.assign(new Error('refused'), { returnCode }) as never, null);
      else done(null, false);
    });
    const raw = await connect();
    await raw.closed;
    results.push({ fields: fieldsOf(clients[0]), events, bytes: raw.bytes() });
  }
  // aedes emits `connackSent` for a refused client, too.
  expect(results[1]?.bytes).toEqual(results[0]?.bytes);
  expect(results[1]?.bytes).toEqual(Buffer.from([0x20, 2, 0, returnCode ?? 5]));
  expect(results[1]?.fields.closed).toBe(true);
  expect(results[1]?.events).toEqual(['clientError']);
});

test('packets behind CONNECT are handled in their order', async () => {
  const { connect, events } = await startAedes(true);
  const raw = await connect();
  raw.send({ cmd: 'publish', topic: 'a', payload: 'x', qos: 1, messageId: 1, dup: false, retain: false });
  raw.send({ cmd: 'pingreq' });
  await raw.until('pingresp', 1);
  expect(raw.packets.map(({ cmd }) => cmd)).toEqual(['connack', 'puback', 'pingresp']);
  expect(events).toEqual(['client', 'connackSent', 'clientReady']);
});

test('a second connection takes over the client id', async () => {
  const { aedes, connect } = await startAedes(true);
  const first = await connect();
  const second = await connect();
  await first.closed;
  await second.settle();
  expect(aedes.connectedClients).toBe(1);
});

test.each([
  { will: { topic: 'w', payload: Buffer.from('w'), qos: 0, retain: false } },
  { clean: false },
  { protocolVersion: 5 },
] as const)('aedes handles CONNECT with %o', async (fields) => {
  const { connect, clients } = await startAedes(true);
  const raw = await connect(fields as Partial<IConnectPacket>);
  await raw.settle();
  expect(clients[0]).toMatchObject({ connected: true, clean: !('clean' in fields) });
});

test('no message about a client is published, and heartbeats are', async () => {
  const { aedes, connect } = await startAedes(true);
  const topics: string[] = [];
  await new Promise<void>((resolve) =>
    aedes.subscribe(
      '$SYS/#',
      ({ topic }, done) => {
        topics.push(topic);
        done();
      },
      resolve,
    ),
  );
  const raw = await connect();
  await raw.settle();
  await raw.leave();
  await new Promise<void>((resolve) =>
    aedes.publish({ topic: `$SYS/${aedes.id}/heartbeat`, payload: aedes.id } as never, () => resolve()),
  );
  expect(topics).toEqual([`$SYS/${aedes.id}/heartbeat`]);
});
