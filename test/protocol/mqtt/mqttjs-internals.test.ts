import { Duplex } from 'node:stream';
import type { IClientOptions } from 'mqtt';
import { generate, type Packet, parser } from 'mqtt-packet';
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import * as internals from '../../../src/protocol/mqtt/mqttjs-internals.ts';
import { PacketIds } from '../../../src/protocol/mqtt/packet-ids.ts';

const KEEPALIVE = 10;
const CONNACK: Packet = { cmd: 'connack', sessionPresent: false, reasonCode: 0 };

beforeEach(
  () => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'setTimeout', 'clearTimeout', 'Date'] }),
);
afterEach(() => void vi.useRealTimers());

/** A client on a stream without a network; `sent` lists the packets that it has written. */
function openClient(options: IClientOptions = {}) {
  const sent: Packet[] = [];
  const written = parser({ protocolVersion: 5 });
  written.on('packet', (packet: Packet) => sent.push(packet));
  const stream = new Duplex({
    read: () => undefined,
    write: (chunk: Buffer, _encoding, done) => {
      written.parse(chunk);
      done();
    },
  });
  let input: NodeJS.WritableStream | null = null;
  const ids = new PacketIds();
  const client = internals.createClient(
    stream,
    {
      protocolId: 'MQTT',
      protocolVersion: 5,
      clientId: 'internals',
      keepalive: KEEPALIVE,
      connectTimeout: 5_000,
      reconnectPeriod: 0,
      resubscribe: false,
      timerVariant: 'native',
      writeCache: false,
      messageIdProvider: ids,
      ...options,
    },
    (destination) => {
      input = destination;
    },
  );
  client.on('error', () => undefined);
  onTestFinished(() => void client.end(true));
  const receive = (packet: Packet) => input?.write(generate(packet, { protocolVersion: 5 }));
  return { client, ids, stream, sent, receive, hasInput: () => input !== null };
}

async function connectedClient(options?: IClientOptions, connack = CONNACK) {
  const opened = openClient(options);
  const connected = new Promise((resolve) => opened.client.once('connect', resolve));
  opened.receive(connack);
  await connected;
  opened.sent.length = 0;
  return opened;
}

/** Packets that were written so far. MQTT.js corks the stream until the next tick. */
async function commandsOf(sent: readonly Packet[]): Promise<readonly string[]> {
  await new Promise<void>((resolve) => process.nextTick(resolve));
  return sent.map(({ cmd }) => cmd);
}

test('createClient: the client has no other input than the one passed to onPipe', async () => {
  const { stream, hasInput } = openClient();
  expect(hasInput()).toBe(true);
  expect(['data', 'readable', 'end'].map((event) => stream.listenerCount(event))).toEqual([0, 0, 0]);
  const { client } = await connectedClient();
  expect(client.connected).toBe(true);
});

test('createClient: the client has handled a packet when write returns', async () => {
  const { client, receive } = await connectedClient();
  const received: string[] = [];
  client.on('packetreceive', ({ cmd }) => received.push(cmd));
  for (let count = 1; count <= 3; count += 1) {
    receive({ cmd: 'pingresp' });
    expect(received).toHaveLength(count);
  }
});

test('sendPing writes PINGREQ and emits packetsend', async () => {
  const { client, sent } = await connectedClient();
  const emitted: string[] = [];
  client.on('packetsend', ({ cmd }) => emitted.push(cmd));
  internals.sendPing(client);
  expect(emitted).toEqual(['pingreq']);
  expect(await commandsOf(sent)).toEqual(['pingreq']);
});

test('restartKeepalive postpones PINGREQ by one keepalive, also after an unanswered PINGREQ', async () => {
  const { client, sent } = await connectedClient();
  const timedOut = vi.fn();
  internals.onKeepaliveTimeout(client, timedOut);
  vi.advanceTimersByTime(9_000);
  internals.restartKeepalive(client);
  vi.advanceTimersByTime(9_000);
  expect(await commandsOf(sent)).toEqual([]);
  vi.advanceTimersByTime(1_000);
  expect(await commandsOf(sent)).toEqual(['pingreq']);
  internals.restartKeepalive(client);
  vi.advanceTimersByTime(9_000);
  expect(timedOut).not.toHaveBeenCalled();
});

test('onKeepaliveTimeout replaces the handling of a missing PINGRESP, and giveUp is the original one', async () => {
  const { client, stream } = await connectedClient();
  const errors: Error[] = [];
  client.on('error', (error) => errors.push(error));
  const giveUps: (() => void)[] = [];
  internals.onKeepaliveTimeout(client, (giveUp) => giveUps.push(giveUp));
  vi.advanceTimersByTime(KEEPALIVE * 1_500);
  expect(giveUps).toHaveLength(1);
  expect([stream.destroyed, errors.length]).toEqual([false, 0]);
  giveUps[0]?.();
  expect(stream.destroyed).toBe(true);
  expect(errors.map(internals.isKeepaliveTimeout)).toEqual([true]);
});

test('isConnackTimeout recognizes the error of a missing CONNACK', async () => {
  const { client } = openClient();
  const errors: Error[] = [];
  client.on('error', (error) => errors.push(error));
  vi.advanceTimersByTime(5_000);
  expect(errors.map(internals.isConnackTimeout)).toEqual([true]);
});

test('keepaliveSeconds is the Server Keep Alive of CONNACK, or the keepalive of the options', async () => {
  const { client } = await connectedClient();
  expect(internals.keepaliveSeconds(client)).toBe(KEEPALIVE);
  const limited = await connectedClient({}, { ...CONNACK, properties: { serverKeepAlive: 3 } } as Packet);
  expect(internals.keepaliveSeconds(limited.client)).toBe(3);
});

test('dropUnacknowledged lets end send DISCONNECT without waiting for SUBACK', async () => {
  const waiting = await connectedClient();
  waiting.client.subscribe('a', () => undefined);
  waiting.client.end(false);
  expect(await commandsOf(waiting.sent)).toEqual(['subscribe']);
  const dropped = await connectedClient();
  dropped.client.subscribe('a', () => undefined);
  internals.dropUnacknowledged(dropped.client);
  dropped.client.end(false);
  expect(await commandsOf(dropped.sent)).toEqual(['subscribe', 'disconnect']);
});

test('subscribe returns the packet identifier of SUBSCRIBE, and null if none was sent', async () => {
  const { client, ids, sent } = await connectedClient();
  const id = internals.subscribe(client, ids, 'a', { qos: 0 }, () => undefined);
  expect(id).not.toBeNull();
  expect(await commandsOf(sent)).toEqual(['subscribe']);
  expect(sent[0]).toMatchObject({ messageId: id });
  expect(internals.subscribe(client, ids, 'a/#/b', { qos: 0 }, () => undefined)).toBeNull();
});

test('subackReasonCode is the reason code of the SUBACK that refused a filter', async () => {
  const { client, ids, receive } = await connectedClient();
  const failed = new Promise<Error | null>((resolve) => {
    const messageId = internals.subscribe(client, ids, 'a', { qos: 0 }, resolve);
    receive({ cmd: 'suback', messageId, granted: [0x87] } as Packet);
  });
  const error = await failed;
  expect(error && internals.subackReasonCode(error)).toBe(0x87);
  expect(internals.subackReasonCode(new Error('Connection closed'))).toBeUndefined();
});
