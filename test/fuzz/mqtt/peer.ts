import { randomInt } from 'node:crypto';
import { createConnection, type Socket } from 'node:net';
import { type Packet, parser } from 'mqtt-packet';
import { type Account, encode } from './encode.ts';
import type { FuzzPacket, Text } from './packets.ts';

/** What a server may send (MQTT 5, 2.1.2). */
const FROM_SERVER = new Set(
  'connack publish puback pubrec pubrel pubcomp suback unsuback pingresp disconnect auth'.split(' '),
);
const CONNACK_FIRST_BYTE = 0x20;
/** Beyond this what a broker sends to one connection is read as it comes, and not once more at the end. */
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
  /** Whether CONNECT determines the version of packets: not if it is damaged or has an unknown version. */
  readonly #isVersionCertain: boolean;
  readonly #kept: Buffer[] = [];
  #keptBytes = 0;
  #fault: string | null = null;
  /** The fuzzer closes its side. */
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
      // A reset by the broker is one of the ends that MQTT allows. Node 20 emits no `close` where its own reset fails.
      this.#socket.on('error', close);
    });
  }

  /** Bytes per write; `undefined`: one write for everything. Resolves when the socket has everything. */
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
    // Node resets a socket only when everything was sent, which a broker that reads no more never lets happen.
    if (this.#socket.connecting || this.#socket.writableLength > 0) this.#socket.destroy();
    else this.#socket.resetAndDestroy();
  }

  /** Resolves when `condition` holds, which is asked again after each packet, or when the connection is closed. */
  async until(condition: () => boolean): Promise<void> {
    while (!this.isClosed && !condition()) {
      await new Promise<void>((resolve) => {
        this.#changed = resolve;
      });
    }
  }

  /** What the broker sent that MQTT does not allow; `null`: nothing. */
  fault(): string | null {
    if (this.#fault === null || this.#isVersionCertain) return this.#fault;
    // The broker may have read another version than the one that was meant.
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

/** Brokers make addresses wait from which wrong passwords come, and some CONNECTs are damaged. */
const anyLoopback = (): string => ['127', randomInt(256), randomInt(256), randomInt(1, 255)].join('.');

/** A long stream byte by byte would take minutes. */
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
