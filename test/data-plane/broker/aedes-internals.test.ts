import { once } from 'node:events';
import { createServer } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { Aedes, type AedesOptions, type Client } from 'aedes';
import {
  parser as createParser,
  generate,
  type IConnectPacket,
  type IPublishPacket,
  type Packet,
  writeToStream,
} from 'mqtt-packet';
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  allowDisconnectPacket,
  type ClientInternals,
  discardWill,
  readNextAfterWrite,
  setSessionEnd,
  takePacketId,
  useSafeBrokerTables,
} from '../../../src/data-plane/broker/core/aedes-internals.ts';
import { disableNumberCache, replaceWriter } from '../../../src/data-plane/broker/packets/mqtt-packet-internals.ts';
import { CallbackParser } from './callback-parser.ts';
import { rawClient } from './raw-client.ts';

/** Each test fails if an upgrade of aedes or mqtt-packet removes or changes a member that the broker uses. */

const message = (fields: Partial<IPublishPacket> = {}) =>
  ({ cmd: 'publish', topic: 'a', payload: Buffer.from('x'), qos: 0, retain: false, dup: false, ...fields }) as const;
const will = { topic: 'will', payload: Buffer.from('gone'), qos: 0, retain: false } as const;
const options = { topic: 'a', qos: 1, rh: 0, rap: false, nl: false } as const;

type InnerClient = Client & ClientInternals;

/** aedes as its package is, behind a TCP port. `connect` returns both sides of a connection of MQTT 5. */
async function startAedes(given: AedesOptions = {}, onClient: (client: Client) => void = () => {}) {
  const aedes = new Aedes(given);
  useSafeBrokerTables(aedes);
  await aedes.listen();
  const server = createServer((socket) => {
    onClient(aedes.handle(socket));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => {
    server.close();
    return new Promise<void>((resolve) => aedes.close(resolve));
  });
  const { port } = server.address() as { port: number };
  const connect = async (fields: Partial<IConnectPacket> = {}, filter?: string) => {
    const ready = new Promise<InnerClient>((resolve) => {
      aedes.once('clientReady', (client) => resolve(client as object as InnerClient));
    });
    const [client, raw] = await Promise.all([ready, rawClient(port, fields, filter)]);
    return { client, raw };
  };
  const publish = (fields: Partial<IPublishPacket> = {}) =>
    new Promise<void>((resolve) => aedes.publish(message(fields), () => resolve()));
  return { aedes, connect, publish };
}

const publishesOf = ({ packets }: { readonly packets: readonly Packet[] }) =>
  packets.flatMap((packet) => (packet.cmd === 'publish' ? [packet] : []));

describe('aedes', () => {
  test('`clients` and `brokers` are plain objects unless they are replaced', async () => {
    type Tables = { readonly clients: object; readonly brokers: object };
    const original = new Aedes() as unknown as Tables;
    expect(Object.getPrototypeOf(original.clients)).toBe(Object.prototype);
    expect(Object.getPrototypeOf(original.brokers)).toBe(Object.prototype);
    const { aedes, connect } = await startAedes();
    await connect({ clientId: 'constructor' });
    const { clients, brokers } = aedes as unknown as Tables;
    expect(Object.keys(clients)).toEqual(['constructor']);
    expect(Object.keys(brokers)).toEqual([]);
    expect(Object.getPrototypeOf(brokers)).toBe(null);
  });

  test('`_nextId` is the packet id of the next message, and 1 follows 65,535', async () => {
    const { connect, publish } = await startAedes();
    const { client, raw } = await connect({}, 'a');
    while (takePacketId(client) !== 65_534) {}
    await publish({ qos: 1 });
    await publish({ qos: 1 });
    await raw.until('publish', 2);
    expect(publishesOf(raw).map(({ messageId }) => messageId)).toEqual([65_535, 1]);
    expect(takePacketId(client)).toBe(2);
  });

  test('`connackSent` is set after CONNACK was written', async () => {
    const seen: boolean[] = [];
    const { aedes, connect } = await startAedes();
    for (const event of ['client', 'clientReady'] as const)
      aedes.on(event, (client) => seen.push((client as object as InnerClient).connackSent));
    const { client } = await connect();
    expect(seen).toEqual([false, true]);
    expect(client.connecting).toBe(false);
  });

  test('`connected` decides whether aedes sends DISCONNECT', async () => {
    const { connect } = await startAedes();
    const commands: string[][] = [];
    for (const isAllowed of [false, true]) {
      const { client, raw } = await connect();
      expect(client.connected).toBe(true);
      Object.assign(client, { connected: false });
      if (isAllowed) allowDisconnectPacket(client);
      client.disconnect({ reasonCode: 0x98 });
      await raw.closed;
      commands.push(raw.packets.map(({ cmd }) => cmd));
    }
    expect(commands).toEqual([['connack'], ['connack', 'disconnect']]);
  });

  test('`_disconnected` decides whether the will is published', async () => {
    const { aedes, connect } = await startAedes();
    const { raw: watcher } = await connect({ clientId: 'watcher' }, 'will');
    for (const payload of ['published', 'discarded', 'published, too']) {
      const { client, raw } = await connect({ clientId: payload, will: { ...will, payload: Buffer.from(payload) } });
      const gone = once(aedes, 'clientDisconnect');
      if (payload === 'discarded') discardWill(client);
      client.close();
      await Promise.all([gone, raw.closed]);
    }
    await watcher.until('publish', 2);
    expect(publishesOf(watcher).map(({ payload }) => String(payload))).toEqual(['published', 'published, too']);
  });

  test('`waitForDrain` reads again when the stream is drained', async () => {
    const { connect } = await startAedes();
    const { client, raw } = await connect();
    client.conn.off('readable', client._nextBatch);
    for (const hasRoom of [true, false]) {
      const arrived = once(client.conn, 'readable');
      raw.send({ cmd: 'pingreq' });
      await arrived;
      readNextAfterWrite(client, hasRoom);
      await turn();
      await turn();
      expect(client.conn.readableLength).toBe(hasRoom ? 0 : 2);
    }
    client.conn.emit('drain');
    await raw.until('pingresp', 2);
  });

  test('`waitForDrain` closes the connection after `drainTimeout`', async () => {
    const { connect } = await startAedes({ drainTimeout: 20 });
    const { client, raw } = await connect();
    readNextAfterWrite(client, false);
    await raw.closed;
    expect(client.closed).toBe(true);
  });

  test('`clean` and `sessionExpiryInterval` decide whether the session ends with the connection', async () => {
    const { aedes, connect } = await startAedes();
    const isPresent: boolean[] = [];
    for (const isClean of [false, true]) {
      const { client, raw } = await connect();
      setSessionEnd(client, false);
      raw.send({ cmd: 'subscribe', messageId: 1, subscriptions: [options] });
      await raw.until('suback', 1);
      setSessionEnd(client, isClean);
      const gone = once(aedes, 'clientDisconnect');
      await raw.leave();
      await gone;
      const { raw: next } = await connect({ clean: false });
      const [connack] = next.packets;
      isPresent.push(connack?.cmd === 'connack' && connack.sessionPresent);
      await next.leave();
    }
    expect(isPresent).toEqual([true, false]);
  });
});

/** Parses bytes that are sent in one piece. Returns the packets, and the messages of the errors. */
function parse(bytes: Buffer, isReplaced = true) {
  const packets: Packet[] = [];
  const errors: string[] = [];
  const packet = (one: object) => void packets.push(one as Packet);
  const error = ({ message }: Error) => void errors.push(message);
  const parser = isReplaced ? new CallbackParser({ packet, error }, 5) : createParser({ protocolVersion: 5 });
  if (!(parser instanceof CallbackParser)) parser.on('packet', packet).on('error', error);
  parser.parse(bytes);
  return { packets, errors };
}

const bytesOf = (packet: Packet) => generate(packet, { protocolVersion: 5 });
const hex = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex');
const PINGREQ = bytesOf({ cmd: 'pingreq' });

describe('mqtt-packet', () => {
  test('`packet.length` is the length of the packet that is being parsed, and -1 between two packets', () => {
    const parser = new CallbackParser({}, 5);
    expect(parser.packet.length).toBe(-1);
    const bytes = bytesOf(message({ payload: Buffer.alloc(500) }));
    parser.parse(bytes.subarray(0, 50));
    expect(parser.packet.length).toBe(bytes.length - 3);
    parser.parse(bytes.subarray(50));
    expect(parser.packet.length).toBe(-1);
  });

  test('`_list` has the bytes that are not parsed yet', () => {
    const packets: string[] = [];
    const parser = new CallbackParser({ packet: ({ cmd }) => packets.push(cmd) }, 5);
    const bytes = bytesOf(message({ payload: Buffer.alloc(500) }));
    parser.parse(bytes.subarray(0, 50));
    expect(parser.missingBytes).toBe(bytes.length - 50);
    expect(parser.hasUnparsedBytes).toBe(true);
    expect(parser.takeUnparsedBytes()).toEqual(bytes.subarray(3, 50));
    expect(parser.hasUnparsedBytes).toBe(false);
    expect(parser.missingBytes).toBe(bytes.length - 3);
    parser.parse(bytes.subarray(3));
    expect(packets).toEqual(['publish']);
  });

  test('`_newPacket` is called with each packet, and what is behind it may be taken', () => {
    const seen: string[] = [];
    const after = () => seen.push(`rest: ${parser.hasUnparsedBytes}`);
    const parser = new CallbackParser({ packet: ({ cmd }) => seen.push(cmd), after }, 5);
    parser.parse(Buffer.concat([bytesOf(message()), PINGREQ]));
    expect(seen).toEqual(['publish', 'rest: true', 'pingreq', 'rest: false']);
  });

  test('`settings` has the version of CONNECT, and nothing else of it', () => {
    const parser = new CallbackParser({});
    const connect = { cmd: 'connect', protocolId: 'MQTT', protocolVersion: 5, clientId: 'x', keepalive: 0 } as const;
    parser.parse(generate({ ...connect, username: 'u', password: Buffer.from('secret') }));
    expect(parser.settings).toEqual({ protocolVersion: 5, bridgeMode: undefined });
    parser.parse(bytesOf(message()));
    expect(parser.settings).toEqual({ protocolVersion: 5, bridgeMode: undefined });
  });

  test('`_parsePayload` is called with the bytes of a packet, `settings` has its version, `_emitError` refuses it', () => {
    const seen: unknown[] = [];
    const parser = new CallbackParser({
      packet: ({ cmd }) => seen.push(cmd),
      error: (error) => seen.push(error.message),
      check: ({ cmd, qos, dup }, body, version) => {
        seen.push([cmd, qos, dup, body.length, version]);
        if (cmd === 'puback') throw new Error('refused');
      },
    });
    const connect = generate({ cmd: 'connect', protocolId: 'MQTT', protocolVersion: 5, clientId: 'x', keepalive: 0 });
    const sent = Buffer.concat([connect, bytesOf(message({ qos: 1, messageId: 1 })), PINGREQ, hex('40 02 00 01')]);
    // In two chunks, of which the second has most of CONNECT.
    parser.parse(sent.subarray(0, 5));
    parser.parse(sent.subarray(5));
    expect(seen).toEqual([
      ['connect', 0, false, connect.length - 2, undefined],
      'connect',
      ['publish', 1, false, 7, 5],
      'publish',
      ['pingreq', 0, false, 0, 5],
      'pingreq',
      ['puback', 0, false, 2, 5],
      'refused',
    ]);
  });

  test('`check` may change a CONNECT that arrives in several chunks', () => {
    const seen: string[] = [];
    const parser = new CallbackParser({
      packet: ({ cmd }) => seen.push(cmd),
      error: (error) => seen.push(error.message),
      check: (_header, body) => {
        body[7] = (body[7] as number) & ~1;
      },
    });
    const connect = generate({ cmd: 'connect', protocolId: 'MQTT', protocolVersion: 4, clientId: 'x', keepalive: 0 });
    connect[9] = (connect[9] as number) | 1;
    parser.parse(connect.subarray(0, 12));
    parser.parse(connect.subarray(12));
    expect(seen).toEqual(['connect']);
  });

  test('a packet that arrives in several chunks is copied once, into one element of `_bufs`', () => {
    const seen: ArrayBufferLike[] = [];
    const packet = (one: object) => {
      const { payload } = one as { readonly payload: Buffer };
      expect(payload).toHaveLength(60_000);
      seen.push(payload.buffer);
    };
    const parser = new CallbackParser({ packet, check: (_header, body) => seen.push(body.buffer) }, 5);
    const bytes = bytesOf(message({ payload: Buffer.alloc(60_000) }));
    for (let at = 0; at < bytes.length; at += 16_384) parser.parse(bytes.subarray(at, at + 16_384));
    expect(seen).toHaveLength(2);
    expect(seen[0]).toBe(seen[1]);
  });

  test('`cacheNumbers` keeps a buffer for each number of two bytes unless it is disabled', () => {
    const writer = writeToStream as unknown as { cacheNumbers: boolean };
    expect(Object.getOwnPropertyDescriptor(writer, 'cacheNumbers')?.set).toBeTypeOf('function');
    // An embedded broker that another test started has disabled it.
    writer.cacheNumbers = true;
    expect(writer.cacheNumbers).toBe(true);
    disableNumberCache();
    expect(writer.cacheNumbers).toBe(false);
    expect(bytesOf(message({ qos: 1, messageId: 65_535 }))).toEqual(hex('32 07 0001 61 ffff 00 78'));
  });

  test('`writeToStream` of the default export writes the packets of aedes', async () => {
    const { connect } = await startAedes();
    const written: string[] = [];
    replaceWriter((write, packet, stream, options) => {
      written.push(packet.cmd);
      return write(packet, stream, options);
    });
    onTestFinished(() => replaceWriter((write, packet, stream, options) => write(packet, stream, options)));
    await connect({}, 'a');
    expect(written).toEqual(['connack', 'suback']);
  });

  test('`_parseDisconnect` reads a missing reason code from the next packet unless it is replaced', () => {
    const bytes = Buffer.concat([hex('e0 00'), PINGREQ]);
    expect(parse(bytes, false).errors).not.toEqual([]);
    expect(parse(bytes)).toMatchObject({ packets: [{ cmd: 'disconnect', reasonCode: 0 }, { cmd: 'pingreq' }] });
    expect(parse(hex('e0 01 04'))).toMatchObject({ packets: [{ cmd: 'disconnect', reasonCode: 4 }], errors: [] });
  });
});
