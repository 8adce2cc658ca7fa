import { randomInt } from 'node:crypto';
import { createConnection, type Socket } from 'node:net';
import { type Packet, parser } from 'mqtt-packet';
import { type Account, encode } from './encode.ts';
import type { FuzzPacket, Text } from './packets.ts';

/** Packet types that a server may send (MQTT 5, 2.1.2). */
const FROM_SERVER = new Set(
  'connack publish puback pubrec pubrel pubcomp suback unsuback pingresp disconnect auth'.split(' '),
);
const CONNACK_FIRST_BYTE = 0x20;
/** Maximum stored bytes of a connection. A connection with more received data is not parsed again at the end. */
const MAX_KEPT = 1_048_576;

interface PeerOptions {
  readonly port: number;
  readonly account: Account;
  readonly acknowledges: boolean;
}

/** One TCP connection of a fuzzer. It reads everything that the broker sends, and may acknowledge it. */
export class Peer {
  readonly packets: Packet[] = [];
  acknowledges: boolean;
  /** Resolves when the socket is closed. */
  readonly closed: Promise<void>;
  isClosed = false;
  readonly #account: Account;
  readonly #socket: Socket;
  readonly version: number;
  readonly clientId: Text;
  /** Whether CONNECT determines the protocol version. False if it is damaged or has an unknown version. */
  readonly #isVersionCertain: boolean;
  readonly #kept: Buffer[] = [];
  #keptBytes = 0;
  #fault: string | null = null;
  /** Whether the fuzzer has closed its side. */
  hasEnded = false;
  #changed: () => void = () => {};

  constructor(first: FuzzPacket, { port, account, acknowledges }: PeerOptions) {
    this.#account = account;
    this.acknowledges = acknowledges;
    this.version = first.type === 'connect' ? first.version : 4;
    this.clientId = first.type === 'connect' ? first.id : '';
    this.#isVersionCertain = first.type === 'connect' && !first.damage && [3, 4, 5].includes(first.version);
    this.#socket = createConnection({ port, host: '127.0.0.1', localAddress: anyLoopback(), noDelay: true });
    const stream = parser({ protocolVersion: this.version === 5 ? 5 : 4 });
    stream.on('packet', (packet: Packet) => {
      this.packets.push(packet);
      this.#check(packet);
      if (this.acknowledges) this.#acknowledge(packet);
      this.#changed();
    });
    stream.on('error', (error: Error) => {
      this.#fault ??= `the broker sent what is no packet: ${error.message}`;
    });
    this.#socket.on('data', (data: Buffer) => {
      this.#keptBytes += data.length;
      if (this.#keptBytes <= MAX_KEPT) this.#kept.push(data);
      if (this.#fault === null) stream.parse(data);
    });
    this.closed = new Promise((resolve) => {
      const close = () => {
        this.isClosed = true;
        this.#changed();
        resolve();
      };
      this.#socket.once('close', close);
      // MQTT allows a reset by the broker. Node 20 emits no `close` if its own reset fails.
      this.#socket.on('error', close);
    });
  }

  /** `segment`: bytes per write. Default: one write for all. Resolves when all bytes are written to the socket. */
  async send(packets: readonly FuzzPacket[], segment?: number): Promise<void> {
    const bytes = Buffer.concat(packets.map((packet) => encode(packet, this.version, this.#account)));
    const size = Math.max(segment ?? bytes.length, Math.ceil(bytes.length / MAX_SEGMENTS), 1);
    for (let from = 0; from < bytes.length && !this.hasEnded && !this.isClosed; from += size) {
      this.#socket.write(bytes.subarray(from, from + size));
      if (from + size < bytes.length) await new Promise((resolve) => setImmediate(resolve));
    }
  }

  end(): void {
    this.hasEnded = true;
    this.#socket.end();
  }

  reset(): void {
    this.hasEnded = true;
    // Node resets a socket only after all data was sent, which never happens if the broker has stopped reading.
    if (this.#socket.connecting || this.#socket.writableLength > 0) this.#socket.destroy();
    else this.#socket.resetAndDestroy();
  }

  /** Resolves when `condition` is true or the connection is closed. Checks the condition after each packet. */
  async until(condition: () => boolean): Promise<void> {
    while (!this.isClosed && !condition()) {
      await new Promise<void>((resolve) => {
        this.#changed = resolve;
      });
    }
  }

  /** A violation of MQTT by the broker; `null` if there is none. */
  fault(): string | null {
    if (this.#fault === null || this.#isVersionCertain) return this.#fault;
    // The broker may have read another protocol version from the damaged CONNECT.
    if (this.#keptBytes > MAX_KEPT) return null;
    const bytes = Buffer.concat(this.#kept);
    return isReadable(bytes, 4) || isReadable(bytes, 5) ? null : this.#fault;
  }

  #check({ cmd }: Packet): void {
    if (!FROM_SERVER.has(cmd)) this.#fault ??= `the broker sent ${cmd}, which only clients send`;
    if (this.packets.length === 1 && this.#isVersionCertain && cmd !== 'connack') {
      this.#fault ??= `the first packet was ${cmd}, not CONNACK [MQTT-3.2.0-1]`;
    }
    if (this.packets.length > 1 && cmd === 'connack') this.#fault ??= 'the broker sent CONNACK twice [MQTT-3.2.0-2]';
  }

  #acknowledge(packet: Packet): void {
    const packetId = packet.messageId ?? 0;
    if (packet.cmd === 'publish' && packet.qos === 1) void this.send([{ type: 'puback', packetId }]);
    else if (packet.cmd === 'publish' && packet.qos === 2) void this.send([{ type: 'pubrec', packetId }]);
    else if (packet.cmd === 'pubrel') void this.send([{ type: 'pubcomp', packetId }]);
  }
}

/** A random address, because brokers delay addresses after wrong passwords, which damaged CONNECTs contain. */
const anyLoopback = (): string => ['127', randomInt(256), randomInt(256), randomInt(1, 255)].join('.');

/** Maximum number of writes, because sending a long stream byte by byte would take minutes. */
const MAX_SEGMENTS = 200;

function isReadable(bytes: Buffer, protocolVersion: 4 | 5): boolean {
  if (bytes.length > 0 && bytes[0] !== CONNACK_FIRST_BYTE) return false;
  let isRight = true;
  const stream = parser({ protocolVersion });
  stream.on('error', () => {
    isRight = false;
  });
  stream.parse(bytes);
  return isRight;
}
