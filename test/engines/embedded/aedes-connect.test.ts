import { once } from 'node:events';
import { createServer } from 'node:net';
import { Aedes, type Client } from 'aedes';
import type { IConnectPacket } from 'mqtt-packet';
import { expect, onTestFinished, test } from 'vitest';
import {
  dropUnseenMessages,
  handleConnect,
  handleDisconnect,
} from '../../../src/engines/embedded/core/aedes-connect.ts';
import { parserOf } from '../../../src/engines/embedded/core/aedes-internals.ts';
import type { IncomingPacket } from '../../../src/engines/embedded/core/mqtt-packet-internals.ts';
import { rawClient } from './raw-client.ts';

/** Each test fails if an upgrade of aedes changes what `handleConnect` does instead of it. */

const MQTT_3 = { protocolVersion: 4, protocolId: 'MQTT' } as const;
/** They differ for each client. */
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
];

/** aedes with or without the functions. `events` has those of the broker and the messages that it publishes. */
async function startAedes(isReplaced: boolean, authenticate?: Aedes['authenticate']) {
  const aedes = new Aedes(authenticate ? { authenticate } : {});
  await aedes.listen();
  if (isReplaced) dropUnseenMessages(aedes);
  const clients: Client[] = [];
  const server = createServer((socket) => {
    const client = aedes.handle(socket);
    clients.push(client);
    const parser = parserOf(client);
    const [handle] = parser?.listeners('packet') ?? [];
    if (!parser || !isReplaced) return;
    parser.removeAllListeners('packet');
    parser.on('packet', (packet: IncomingPacket) => {
      if (!handleConnect(aedes, client, packet) && !handleDisconnect(client, packet)) handle?.call(parser, packet);
    });
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

const fieldsOf = (client: Client | undefined) =>
  Object.fromEntries(
    Object.entries(client ?? {}).flatMap(([name, value]) =>
      UNEQUAL.includes(name) || name.startsWith('_event') ? [] : [[name, value instanceof Object ? 'object' : value]],
    ),
  );

test.each([{ keepalive: 0 }, { keepalive: 30 }])('a client has the same fields as with aedes, %o', async (fields) => {
  const results = [];
  for (const isReplaced of [false, true]) {
    const { clients, events, connect } = await startAedes(isReplaced);
    const raw = await connect(fields);
    await raw.settle();
    const connected = fieldsOf(clients[0]);
    raw.send({ cmd: 'disconnect' });
    await raw.closed;
    results.push({ connected, closed: fieldsOf(clients[0]), events, bytes: raw.bytes() });
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

test('packets behind CONNECT are handled in their order, and Keep Alive closes the connection', async () => {
  const { connect, events } = await startAedes(true);
  const raw = await connect({ keepalive: 1 });
  raw.send({ cmd: 'subscribe', messageId: 1, subscriptions: [{ topic: 'a', qos: 0 }] });
  raw.send({ cmd: 'publish', topic: 'a', payload: 'x', qos: 0, dup: false, retain: false });
  await raw.until('publish', 1);
  await raw.closed;
  expect(events).toEqual(['client', 'connackSent', 'clientReady', 'clientError', 'clientDisconnect']);
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
  raw.send({ cmd: 'subscribe', messageId: 1, subscriptions: [{ topic: 'a', qos: 0 }] });
  await raw.until('suback', 1);
  await raw.leave();
  await new Promise<void>((resolve) =>
    aedes.publish({ topic: `$SYS/${aedes.id}/heartbeat`, payload: aedes.id } as never, () => resolve()),
  );
  expect(topics).toEqual([`$SYS/${aedes.id}/heartbeat`]);
});
