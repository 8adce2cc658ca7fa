import { randomBytes } from 'node:crypto';
import type { Packet } from 'mqtt-packet';
import { generate } from 'mqtt-packet';
import type { Group, Target } from '../input.ts';
import { type ConnectFields, closedWithin, connectPacket, openMqtt, openSocket, Refused } from '../mqtt-tools.ts';
import { times } from './texts.ts';

const DEEP = `${'a/'.repeat(100)}z`;
const HOLD_MS = 5_000;

const open = (target: Target, fields: ConnectFields = {}) => openMqtt(target, { ...target.device, ...fields });

/** Runs an attack. If a connection is refused, returns the reason instead of throwing. */
const tried =
  (attack: (target: Target, run: number) => Promise<string>) =>
  async (target: Target, run: number): Promise<string> => {
    try {
      return await attack(target, run);
    } catch (error) {
      if (error instanceof Refused) return error.message;
      return error instanceof Error ? error.message : String(error);
    }
  };

async function deepWill(target: Target, run: number): Promise<string> {
  const will = { topic: DEEP, payload: Buffer.from('x'), qos: 0 as const, retain: false };
  const { socket } = await open(target, { clientId: `will-${run}`, will });
  socket.destroy();
  return 'accepted';
}

/** Sends the same PUBREL twice in one segment. */
async function repeatedRelease(target: Target, run: number): Promise<string> {
  const socket = openSocket(target.host, target.mqttPort, target.from);
  socket.resume();
  const packets: Packet[] = [
    connectPacket({ ...target.device, clientId: `rel-${run}` }),
    { cmd: 'publish', topic: 'a', payload: 'x', qos: 2, messageId: 5, dup: false, retain: false },
    { cmd: 'pubrel', messageId: 5 },
    { cmd: 'pubrel', messageId: 5 },
  ];
  socket.write(Buffer.concat(packets.map((packet) => generate(packet))));
  return closedWithin(socket, 500);
}

async function protoFilter(target: Target, run: number): Promise<string> {
  const fields = { clientId: `proto-${run}`, clean: false };
  const first = await open(target, fields);
  await first.subscribe('__proto__', 'constructor', 'a');
  first.socket.destroy();
  const second = await open(target, fields);
  second.socket.destroy();
  return 'accepted';
}

/** Sends an MQTT 5 PUBLISH whose Response Topic is shorter than its length field. */
async function cutProperty(target: Target, run: number): Promise<string> {
  const { socket } = await open(target, { clientId: `cut-${run}`, protocolVersion: 5 });
  socket.write(Buffer.from('32120005746F706963123401087061796C6F6164', 'hex'));
  return closedWithin(socket, 1_000);
}

/** One connection subscribes and stops reading, another publishes 1 MB again and again. */
async function slowReader(target: Target, run: number): Promise<string> {
  const reader = await open(target, { clientId: `slow-${run}` });
  await reader.subscribe('flood/#');
  reader.socket.pause();
  const writer = await open(target, { clientId: `flood-${run}` });
  const payload = Buffer.alloc(1_000_000, 'x');
  let isClosed = false;
  writer.onClose(() => {
    isClosed = true;
  });
  for (const end = performance.now() + HOLD_MS; performance.now() < end && !isClosed; ) {
    if (!writer.send({ cmd: 'publish', topic: 'flood/a', payload, qos: 0, dup: false, retain: false }))
      await new Promise<void>((resolve) => {
        writer.socket.once('drain', resolve);
        writer.socket.once('close', resolve);
        setTimeout(resolve, 1_000);
      });
  }
  writer.socket.destroy();
  return closedWithin(reader.socket, 0);
}

async function wrongPasswords(target: Target, run: number): Promise<string> {
  const results = times(10, (i) =>
    tried(async (at) => {
      const { socket } = await openMqtt(at, { username: 'admin', password: `wrong ${run} ${i}` });
      socket.destroy();
      return 'accepted';
    })(target, i),
  );
  return (await Promise.all(results)).at(-1) ?? '';
}

async function deepTopics(target: Target, run: number): Promise<string> {
  const { socket, send } = await open(target, { clientId: `deep-${run}` }).then((connection) => ({
    socket: connection.socket,
    send: (packet: Packet) => connection.send(packet),
  }));
  send({ cmd: 'subscribe', messageId: 1, subscriptions: [{ topic: DEEP, qos: 1 }] });
  send({ cmd: 'publish', topic: DEEP, payload: 'x', qos: 0, dup: false, retain: true });
  send({ cmd: 'publish', topic: '/'.repeat(60_000), payload: 'x', qos: 0, dup: false, retain: true });
  return closedWithin(socket, 1_000);
}

/** Subscribes the maximum number of filters, whose levels are half wildcards, and publishes messages that match all. */
const wildcards =
  (levels: number) =>
  async (target: Target, run: number): Promise<string> => {
    const connection = await open(target, { clientId: `wild-${levels}-${run}` });
    const filter = () => Array.from(randomBytes(levels), (byte) => (byte & 1 ? '+' : 'a')).join('/');
    for (let packet = 0; packet < 20; packet += 1) await connection.subscribe(...times(500, filter));
    const topic = times(levels, () => 'a').join('/');
    await Promise.all(times(20, () => connection.publish(topic, 'x', 1)));
    connection.socket.destroy();
    return 'accepted';
  };

/** Messages of QoS 2 that are never released. */
async function unreleased(target: Target, run: number): Promise<string> {
  const { socket, ...connection } = await open(target, { clientId: `qos2-${run}`, clean: false });
  void connection;
  const packets = times(
    2_000,
    (i): Packet => ({
      cmd: 'publish',
      topic: 'unreleased',
      payload: Buffer.alloc(1_000),
      qos: 2,
      messageId: i + 1,
      dup: false,
      retain: false,
    }),
  );
  socket.write(Buffer.concat(packets.map((packet) => generate(packet))));
  return closedWithin(socket, 2_000);
}

/** Sends messages to an offline persistent session. */
async function queuedMessages(target: Target, run: number): Promise<string> {
  const away = await open(target, { clientId: `away-${run}`, clean: false });
  const packet: Packet = { cmd: 'subscribe', messageId: 1, subscriptions: [{ topic: `queue/${run}`, qos: 1 }] };
  away.send(packet);
  await new Promise((resolve) => setTimeout(resolve, 100));
  away.socket.destroy();
  const writer = await open(target, { clientId: `writer-${run}` });
  const payload = Buffer.alloc(100_000, 'x');
  await Promise.all(times(50, () => writer.publish(`queue/${run}`, payload, 1)));
  writer.socket.destroy();
  return 'accepted';
}

const oddNames = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', '\u0001', 'x'.repeat(60_000)];

async function oddConnections(target: Target, run: number): Promise<string> {
  const name = oddNames[run % oddNames.length] ?? '';
  const userProperties = JSON.parse(`{"__proto__":"x","constructor":"y","${run}":"z"}`);
  const will = { topic: name, payload: Buffer.from('x'), qos: 1 as const, retain: true };
  const properties = { userProperties, sessionExpiryInterval: 100 };
  const connection = await open(target, { clientId: name, clean: false, protocolVersion: 5, properties, will });
  await connection.subscribe(name);
  await connection.publish(name, name, 1);
  connection.socket.destroy();
  return 'accepted';
}

async function manyRetained(target: Target, run: number): Promise<string> {
  const connection = await open(target, { clientId: `retain-${run}` });
  const packets = times(
    2_000,
    (i): Packet => ({
      cmd: 'publish',
      topic: `retained/${run}/${i}`,
      payload: Buffer.alloc(1_000, 'x'),
      qos: 0,
      dup: false,
      retain: true,
    }),
  );
  connection.socket.write(Buffer.concat(packets.map((packet) => generate(packet))));
  await connection.publish('retained/end', 'x', 1);
  connection.socket.destroy();
  return 'accepted';
}

/** Subscribes filters that are compared with all retained messages and match none. */
async function retainedFilters(target: Target, run: number): Promise<string> {
  await manyRetained(target, run);
  const connection = await open(target, { clientId: `compare-${run}` });
  await connection.subscribe(...times(500, (i) => `retained/+/other-${i}`));
  return closedWithin(connection.socket, 1_000);
}

/** Below the maximum packet size of a broker. */
const LARGE_BYTES = 9_900_000;
/** The Remaining Length is above the maximum packet size. */
const OVERSIZED_BYTES = 10 * LARGE_BYTES;

/** A packet with this first byte, and the pieces as often as they fit into `bytes`. */
function packetOfPieces(bytes: number, first: number, head: readonly number[], piece: readonly number[]): Buffer {
  const pieces = Math.floor((bytes - head.length) / piece.length);
  const rest = Buffer.concat([Buffer.from(head), Buffer.alloc(pieces * piece.length, Buffer.from(piece))]);
  return Buffer.concat([Buffer.from([first, ...lengthOf(rest.length)]), rest]);
}

const lengthOf = (bytes: number): number[] => times(4, (i) => ((bytes >> (7 * i)) & 127) | (i < 3 ? 128 : 0));

/** `a` with QoS 0, after a packet id and no properties. */
const manyFilters = (bytes: number) => packetOfPieces(bytes, 0x82, [0, 1, 0], [0, 1, 0x61, 0]);
const manyUnsubscribed = (bytes: number) => packetOfPieces(bytes, 0xa2, [0, 1, 0], [0, 1, 0x61]);

/** PUBLISH to `a` with as many User Properties as fit. */
function manyProperties(bytes: number): Buffer {
  const ofProperties = 7 * Math.floor((bytes - 7) / 7);
  return packetOfPieces(
    ofProperties + 7,
    0x30,
    [0, 1, 0x61, ...lengthOf(ofProperties)],
    [0x26, 0, 1, 0x61, 0, 1, 0x62],
  );
}

const largePacket =
  (packetOf: (bytes: number) => Buffer, bytes: number) =>
  async (target: Target, run: number): Promise<string> => {
    const { socket } = await open(target, { clientId: `pieces-${run}`, protocolVersion: 5 });
    socket.write(packetOf(bytes));
    return closedWithin(socket, 5_000);
  };

/** Packets at the maximum size of packets, and of ten times that size. */
const largePackets = (name: string, what: string, packetOf: (bytes: number) => Buffer) => [
  { name, what, atOnce: 10, attack: tried(largePacket(packetOf, LARGE_BYTES)) },
  {
    name: `${name}-tenfold`,
    what: `${what}, ten times as many`,
    atOnce: 4,
    attack: tried(largePacket(packetOf, OVERSIZED_BYTES)),
  },
];

/** Publishes JSON of very many pieces to the source of a stream. */
async function streamPieces(target: Target, run: number): Promise<string> {
  const { socket, ...connection } = await open(target, { clientId: `stream-${run}` });
  void connection;
  const texts = [
    `{"a":${'['.repeat(4_900_000)}${']'.repeat(4_900_000)}}`,
    `{"a":[${'{},'.repeat(3_200_000)}1]}`,
    `{"a":1${'0'.repeat(9_800_000)}}`,
    `{${'"a":2,'.repeat(1_600_000)}"a":2}`,
  ];
  const payload = texts[run % texts.length] ?? '';
  socket.write(generate({ cmd: 'publish', topic: 'stream/a', payload, qos: 0, dup: false, retain: false }));
  return closedWithin(socket, 1_000);
}

export const mqttClient: Group = {
  who: 'MQTT client',
  inputs: [
    { name: 'deep-will', what: 'a will with 101 levels, then a dropped socket', attack: tried(deepWill) },
    { name: 'repeated-pubrel', what: 'PUBLISH QoS 2 and PUBREL twice in one segment', attack: tried(repeatedRelease) },
    { name: 'proto-filter', what: 'a persistent subscription to __proto__, and back', attack: tried(protoFilter) },
    { name: 'cut-property', what: 'a PUBLISH whose Response Topic is cut off', attack: tried(cutProperty) },
    { name: 'slow-reader', what: 'a subscriber that does not read 1 MB messages, 5 s', attack: tried(slowReader) },
    { name: 'mqtt-passwords', what: '10 wrong passwords of admin', atOnce: 20, attack: wrongPasswords },
    ...largePackets('many-filters', 'a SUBSCRIBE with 2.4 million filters', manyFilters),
    ...largePackets('many-unsubscribed', 'an UNSUBSCRIBE with 3.3 million filters', manyUnsubscribed),
    ...largePackets('many-properties', 'a PUBLISH with 1.4 million User Properties', manyProperties),
    { name: 'deep-topics', what: 'SUBSCRIBE and PUBLISH of 101 and 60,000 levels', attack: tried(deepTopics) },
    { name: 'wildcards', what: '10,000 filters of 90 levels with wildcards', attack: tried(wildcards(90)) },
    { name: 'many-wildcards', what: '10,000 filters of 16 levels with wildcards', attack: tried(wildcards(16)) },
    { name: 'unreleased', what: '2,000 QoS 2 messages that are not released', attack: tried(unreleased) },
    { name: 'queued-messages', what: '5 MB for an offline session', attack: tried(queuedMessages) },
    { name: 'stream-pieces', what: 'JSON of 10 MB for a stream', attack: tried(streamPieces) },
    { name: 'odd-names', what: 'client ids, filters and properties like __proto__', attack: tried(oddConnections) },
    { name: 'retained', what: '2,000 retained messages', attack: tried(manyRetained) },
    {
      name: 'retained-filters',
      what: '500 filters over all retained messages',
      atOnce: 20,
      attack: tried(retainedFilters),
    },
    {
      name: 'large-connect',
      what: 'a CONNECT of 10 MB',
      attack: async (target) => {
        const socket = openSocket(target.host, target.mqttPort, target.from);
        socket.write(Buffer.concat([Buffer.from([0x10, 0x80, 0xad, 0xe2, 0x04]), Buffer.alloc(10_000_000)]));
        return closedWithin(socket, 2_000);
      },
    },
    {
      name: 'garbage-mqtt',
      what: '20 connections with random bytes',
      atOnce: 20,
      attack: async (target) => {
        const results = times(20, () => {
          const socket = openSocket(target.host, target.mqttPort, target.from);
          socket.write(randomBytes(10_000));
          return closedWithin(socket, 1_000);
        });
        return (await Promise.all(results)).at(-1) ?? '';
      },
    },
    {
      name: 'silent-mqtt',
      what: '20 silent MQTT connections, for 5 s',
      atOnce: 100,
      attack: async (target) => {
        const sockets = times(20, () => openSocket(target.host, target.mqttPort, target.from));
        return (await Promise.all(sockets.map((socket) => closedWithin(socket, HOLD_MS)))).at(-1) ?? '';
      },
    },
  ],
};
