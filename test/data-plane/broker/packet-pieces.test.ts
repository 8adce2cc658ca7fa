import { once } from 'node:events';
import { createConnection } from 'node:net';
import { parser as createParser, generate, type IConnectPacket, type Packet } from 'mqtt-packet';
import { expect, onTestFinished, test } from 'vitest';
import { busyMs } from '../../support/busy-time.ts';
import { ADMINISTRATOR, connect, packetsOf, useTestBroker } from './embedded.ts';

/** A packet of many small pieces is refused before it is read, whatever its size. */

const broker = useTestBroker();
const MOST = 1_000;
/** Topic filters of a packet of 9.2 MB, user properties of one of 9.8 MB. */
const [FILTERS, PROPERTIES] = [2_300_000, 1_400_000];

let clients = 0;
const connectPacket = (protocolVersion: 3 | 4 | 5): IConnectPacket => ({
  cmd: 'connect',
  protocolId: protocolVersion === 3 ? 'MQIsdp' : 'MQTT',
  protocolVersion,
  clientId: `pieces-${++clients}`,
  clean: true,
  keepalive: 0,
  username: ADMINISTRATOR.username,
  password: Buffer.from(ADMINISTRATOR.password),
});

const variable = (value: number): Buffer => {
  const bytes: number[] = [];
  for (let rest = value; ; rest >>= 7) {
    if (rest < 128) return Buffer.of(...bytes, rest);
    bytes.push((rest & 127) | 128);
  }
};
const sized = (...parts: readonly Buffer[]) => {
  const body = Buffer.concat(parts);
  return Buffer.concat([variable(body.length), body]);
};
const packet = (first: number, ...parts: readonly Buffer[]) => Buffer.concat([Buffer.of(first), sized(...parts)]);
const repeated = (hex: string, count: number) => Buffer.alloc((count * hex.length) / 2, hex, 'hex');
const ID = Buffer.of(0, 1);
const TOPIC = Buffer.from('000161', 'hex');
const userProperties = (count: number) => sized(repeated('2600016100016b', count));

/** Sends a packet and PINGREQ. Returns the packets that came back, up to PINGRESP or the end of the connection. */
async function exchange(protocolVersion: 3 | 4 | 5, sent: Buffer): Promise<Packet[]> {
  const socket = createConnection(broker().mqttPort, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  const packets: Packet[] = [];
  const parser = createParser({ protocolVersion });
  const ended = new Promise<void>((resolve) => {
    parser.on('packet', (received) => {
      packets.push(received);
      if (received.cmd === 'pingresp') resolve();
    });
    socket.on('close', () => resolve());
  });
  socket.on('data', (chunk) => parser.parse(chunk)).on('error', () => {});
  socket.write(Buffer.concat([generate(connectPacket(protocolVersion)), sent, generate({ cmd: 'pingreq' })]));
  await ended;
  socket.destroy();
  return packets.slice(1);
}

const five = (version: 3 | 4 | 5) => (version === 5 ? Buffer.of(0) : Buffer.alloc(0));
const subscribe = (version: 3 | 4 | 5, count: number) => packet(0x82, ID, five(version), repeated('00016100', count));
const unsubscribe = (version: 3 | 4 | 5, count: number) => packet(0xa2, ID, five(version), repeated('000161', count));

test.each([
  ['SUBSCRIBE', 3, subscribe],
  ['SUBSCRIBE', 4, subscribe],
  ['SUBSCRIBE', 5, subscribe],
  ['UNSUBSCRIBE', 3, unsubscribe],
  ['UNSUBSCRIBE', 4, unsubscribe],
  ['UNSUBSCRIBE', 5, unsubscribe],
] as const)('a %s of MQTT version %i has at most 1,000 topic filters', async (_name, version, bytes) => {
  const closed = version === 5 ? [{ cmd: 'disconnect', reasonCode: 0x97 }] : [];
  expect((await exchange(version, bytes(version, MOST))).map(({ cmd }) => cmd)).toContain('pingresp');
  expect(await exchange(version, bytes(version, MOST + 1))).toMatchObject(closed);
  const before = busyMs();
  expect(await exchange(version, bytes(version, FILTERS))).toMatchObject(closed);
  expect(busyMs() - before).toBeLessThan(4_000);
});

test.each([
  ['PUBLISH', (count: number) => packet(0x30, TOPIC, userProperties(count))],
  ['PUBACK', (count: number) => packet(0x40, ID, Buffer.of(0), userProperties(count))],
  ['PUBREL', (count: number) => packet(0x62, ID, Buffer.of(0), userProperties(count))],
  ['SUBSCRIBE', (count: number) => packet(0x82, ID, userProperties(count), TOPIC, Buffer.of(0))],
  ['UNSUBSCRIBE', (count: number) => packet(0xa2, ID, userProperties(count), TOPIC)],
  ['DISCONNECT', (count: number) => packet(0xe0, Buffer.of(0), userProperties(count))],
] as const)('a %s has at most 1,000 user properties', async (name, bytes) => {
  const refused = [{ cmd: 'disconnect', reasonCode: 0x97 }];
  const accepted = await exchange(5, bytes(MOST));
  expect(accepted.filter(({ cmd }) => cmd === 'disconnect')).toEqual([]);
  expect(accepted.some(({ cmd }) => cmd === 'pingresp')).toBe(name !== 'DISCONNECT');
  expect(await exchange(5, bytes(MOST + 1))).toMatchObject(refused);
  const before = busyMs();
  expect(await exchange(5, bytes(PROPERTIES))).toMatchObject(refused);
  expect(busyMs() - before).toBeLessThan(4_000);
});

test.each(['CONNECT', 'will'])('a %s has at most 1,000 user properties', async (owner) => {
  const answerTo = async (count: number) => {
    const socket = createConnection(broker().mqttPort, '127.0.0.1');
    onTestFinished(() => void socket.destroy());
    const parser = createParser({ protocolVersion: 5 });
    const answer = once(parser, 'packet');
    socket.on('data', (chunk) => parser.parse(chunk));
    const properties = { userProperties: { a: Array<string>(count).fill('k') } };
    const will = { topic: 'a', payload: Buffer.alloc(0), qos: 0, retain: false } as const;
    const fields = owner === 'will' ? { will: { ...will, properties } } : { properties };
    socket.write(generate({ ...connectPacket(5), ...fields }));
    const [{ reasonCode }] = await answer;
    socket.destroy();
    return reasonCode;
  };
  expect(await answerTo(MOST)).toBe(0);
  expect(await answerTo(MOST + 1)).toBe(0x97);
});

test('others are served while one client sends such packets again and again', async () => {
  const client = await connect(broker().mqttPort);
  await client.subscribeAsync('echo', { qos: 1 });
  const { until } = packetsOf(client);
  const flood = Array.from({ length: 20 }, () => exchange(5, subscribe(5, FILTERS / 20)));
  for (let number = 1; number <= 5; number += 1) {
    await client.publishAsync('echo', String(number), { qos: 1 });
    await until((packets) => packets.length === number);
  }
  for (const answer of await Promise.all(flood))
    expect(answer).toMatchObject([{ cmd: 'disconnect', reasonCode: 0x97 }]);
});

test('a body of many small chunks ends its connection to a WebSocket listener', async () => {
  const before = busyMs();
  const chunks = `POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n${'1\r\n{\r\n'.repeat(10_000)}`;
  const floods = Array.from({ length: 200 }, async () => {
    const socket = createConnection(broker().wsPort ?? 0, '127.0.0.1');
    onTestFinished(() => void socket.destroy());
    socket.on('error', () => {}).resume();
    socket.write(chunks);
    await once(socket, 'close');
  });
  await Promise.all(floods);
  expect(busyMs() - before).toBeLessThan(3_000);
});

test('requests to a WebSocket listener are answered when the client reads late', async () => {
  const socket = createConnection(broker().wsPort ?? 0, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  // The listener ends a connection that is no WebSocket after 10 s, so few requests follow those that fill the buffers.
  const requests = (count: number) => 'GET / HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(count);
  socket.pause().write(requests(20_000));
  await once(socket, 'readable');
  socket.write(`${requests(1_000)}GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`);
  const texts: string[] = [];
  for await (const text of socket.setEncoding('latin1')) texts.push(text);
  expect(texts.join('').match(/HTTP\/1.1 426/g)).toHaveLength(21_001);
});
