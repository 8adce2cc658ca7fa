import type { Duplex } from 'node:stream';
import { generate, type Packet, parser } from 'mqtt-packet';
import { ServiceError } from '../../platform/errors.ts';
import type { ConnectOptions } from './connect-options.ts';
import { disconnected, failureOf } from './link-failure.ts';
import { OBSERVER_LIMITS } from './packet-limits.ts';
import { IGNORED, PacketStream } from './packet-stream.ts';
import { newReadingLimits, type ReadingLimits } from './reading-limits.ts';

interface RawConnectionOptions {
  readonly version: 4 | 5;
  readonly timeoutMs: number;
  readonly readingLimits?: ReadingLimits;
}

const GRACE_MS = 500;
export const ONLY_PACKET_ID = 1;

/** An MQTT connection without a client library. One packet is awaited at a time. */
export class RawConnection {
  readonly #stream: Duplex;
  readonly #version: 4 | 5;
  readonly #timer: NodeJS.Timeout;
  #failure: ServiceError | null = null;
  #waiting: { readonly cmd: Packet['cmd']; resolve(packet: Packet): void; reject(error: ServiceError): void } | null =
    null;

  constructor(
    endpoint: ConnectOptions,
    { version, timeoutMs, readingLimits = newReadingLimits() }: RawConnectionOptions,
  ) {
    this.#version = version;
    this.#timer = setTimeout(
      () => this.#fail(new ServiceError('BROKER_TIMEOUT', `The broker did not respond within ${timeoutMs} ms`)),
      timeoutMs,
    );
    const incoming = parser({ protocolVersion: version });
    incoming.on('packet', (packet: Packet) => this.#received(packet));
    incoming.on('error', (error: unknown) => this.#fail(unreachable(failureOf(error).text)));
    // Messages of the session belong to the client. They are skipped, whatever their size.
    const packets = new PacketStream(
      endpoint,
      { version, limits: OBSERVER_LIMITS, skipsLarge: true, readingLimits },
      { ...IGNORED, onOther: (packet) => incoming.parse(packet) },
    );
    const { stream } = packets;
    this.#stream = stream;
    packets.start();
    stream.on('error', (error) => this.#fail(unreachable(failureOf(error).text)));
    stream.on('close', () => this.#fail(unreachable(disconnected(undefined).text)));
  }

  send(packet: Packet): void {
    if (!this.#stream.writable) return;
    this.#stream.write(generate(packet, { protocolVersion: this.#version }));
  }

  next(cmd: Packet['cmd']): Promise<Packet> {
    return new Promise((resolve, reject) => {
      if (this.#failure) reject(this.#failure);
      else this.#waiting = { cmd, resolve, reject };
    });
  }

  /** Resolves when the broker has closed the connection, at most after GRACE_MS. */
  async close(): Promise<void> {
    clearTimeout(this.#timer);
    const stream = this.#stream;
    if (stream.destroyed) return;
    const timer = setTimeout(() => stream.destroy(), GRACE_MS);
    await new Promise<void>((resolve) => {
      stream.once('close', () => resolve());
      stream.end();
    });
    clearTimeout(timer);
  }

  #received(packet: Packet): void {
    if (packet.cmd === 'disconnect') this.#fail(unreachable(disconnected(packet.reasonCode).text));
    const waiting = this.#waiting;
    if (waiting === null || packet.cmd !== waiting.cmd) return;
    if (packet.cmd !== 'connack' && packet.messageId !== ONLY_PACKET_ID) return;
    this.#waiting = null;
    waiting.resolve(packet);
  }

  #fail(error: ServiceError): void {
    this.#failure ??= error;
    this.#waiting?.reject(this.#failure);
    this.#waiting = null;
  }
}
const unreachable = (text: string) => new ServiceError('BROKER_UNREACHABLE', text);
