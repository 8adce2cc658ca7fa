import type { Connection, ConnectionReader } from '../clients/connection.ts';
import type { CoreParts } from '../core/core-parts.ts';
import { FieldReader } from './field-reader.ts';
import type { IncomingPacket } from './incoming-packet.ts';
import { type Protocol, readPacket } from './packet-rules.ts';
import { PacketSplitter } from './packet-splitter.ts';
import { MALFORMED_PACKET, RefusedPacket } from './refused-packet.ts';

export interface PacketHandlers {
  /**
   * Handles a packet. Returns a reason code if it refuses the packet, otherwise `null`. `done` is called when a PUBLISH
   * or PUBREL was handled, also if it is refused later. Errors: RefusedPacket.
   */
  handle(connection: Connection, packet: IncomingPacket, done: () => void): number | null;
  /** The client has acknowledged or refused a message. */
  settled(connection: Connection, packetId: number): void;
  /** The connection is being closed. */
  closing(connection: Connection): void;
  /** The stream is closed. */
  ended(connection: Connection): void;
}

/** Maximum number of bytes of one read, unless the rest of a large packet is longer. */
const MAX_READ_BYTES = 16_384;
/** Maximum size of a packet before the client is admitted: the largest possible CONNECT. */
const MAX_CONNECT_BYTES = 330_000;
/** Packets without exactly one response packet. Whether PUBLISH has one depends on its QoS. */
const UNANSWERED: ReadonlySet<string> = new Set(['connect', 'puback', 'pubcomp', 'disconnect']);
/** Packets that may wait for the disk, or a PUBLISH for its subscribers. */
const WAITING: ReadonlySet<string> = new Set(['publish', 'pubrel']);
const FAILURE = 0x80;

/**
 * Reads the packets of a connection. A packet that the specification forbids, one that is too large (before its body
 * is read), one that `handle` refuses, or an exception closes the connection, and nothing more is read.
 *
 * It reads in time slices. A slice ends with the first packet after `time` is over, and a client that needs much time
 * is read after the others. Bytes behind the slice return to the socket's buffer. The next bytes are read when the
 * packets of the last read were handled. Bytes that arrive meanwhile, and the end of a pause, count as one handled
 * packet: an acknowledgement behind a PUBLISH that waits for a stream or a slow subscriber is read.
 */
export class PacketReader implements ConnectionReader {
  readonly #connection: Connection;
  readonly #parts: CoreParts;
  readonly #handlers: PacketHandlers;
  #protocol: Protocol | undefined;
  readonly #splitter = new PacketSplitter();
  /** Packets that are being handled. */
  #unfinished = 0;
  #isOver = false;
  /** Whether the bytes before CONNECT begin like TLS. */
  #isTls = false;
  #isWaiting = false;
  #isParsing = false;

  constructor(connection: Connection, parts: CoreParts, handlers: PacketHandlers) {
    this.#connection = connection;
    this.#parts = parts;
    this.#handlers = handlers;
  }

  /** Called when bytes have arrived, or a pause has ended. */
  arrived(): void {
    if (this.#unfinished > 0) this.#unfinished -= 1;
    this.readNext();
  }

  readonly #finished = (): void => {
    if (this.#unfinished === 0) return;
    this.#unfinished -= 1;
    if (this.#unfinished === 0 && !this.#isParsing) setImmediate(readNext, this);
  };

  readNext(): void {
    if (this.#unfinished === 0) this.#read();
  }

  /** Reads on in this iteration of the event loop. */
  readOn(): void {
    process.nextTick(readOn, this);
  }

  goOn(): void {
    this.#isWaiting = false;
    if (this.#connection.isReadable) this.arrived();
  }

  closing(): void {
    this.#handlers.closing(this.#connection);
  }

  ended(): void {
    const text = 'the end of a connection could not be handled';
    this.#parts.faults.run(undefined, text, () => this.#handlers.ended(this.#connection));
  }

  #read(): void {
    const connection = this.#connection;
    if (this.#isWaiting || this.#isParsing || this.#isOver || !connection.isReadable) return;
    if (this.#parts.time.leftMs <= 0) {
      this.#wait();
      return;
    }
    const bytes = Math.max(MAX_READ_BYTES, this.#splitter.missingBytes);
    const arrived = connection.readableLength;
    if (arrived > bytes) {
      this.#isWaiting = true;
      this.readOn();
    }
    const chunk = connection.read(Math.min(bytes, arrived));
    if (chunk !== null) this.#parse(chunk);
  }

  #parse(chunk: Buffer): void {
    if (this.#protocol === undefined) this.#isTls = isTlsHandshake(chunk);
    const { time } = this.#parts;
    const start = performance.now();
    this.#isParsing = true;
    try {
      this.#takePackets(this.#splitter.joined(chunk), start + time.leftMs);
    } catch (error) {
      if (error instanceof RefusedPacket) this.#refuse(error.reasonCode, error.message, error);
      else this.#failed("a client's packet could not be read", error, MALFORMED_PACKET);
    } finally {
      this.#isParsing = false;
      this.#connection.spend(time, performance.now() - start);
    }
  }

  /** `end`: of the time slice. */
  #takePackets(bytes: Buffer, end: number): void {
    const connection = this.#connection;
    const { length } = bytes;
    for (let at = 0; at < length; ) {
      const place = this.#splitter.next(bytes, at, this.#maxBytes);
      if (place === null) return;
      const fields = new FieldReader(bytes, place.body, place.end);
      const packet = readPacket(bytes[at] as number, fields, this.#protocol);
      // Without the password.
      if (packet.cmd === 'connect') this.#protocol = protocolOf(packet);
      at = place.end;
      this.#handle(packet);
      if (this.#isOver || connection.isClosing || at === length) return;
      if (connection.isReadable && performance.now() < end) continue;
      connection.unshift(bytes.subarray(at));
      if (connection.isReadable && !this.#isWaiting) this.#wait();
      return;
    }
  }

  #handle(packet: IncomingPacket): void {
    const connection = this.#connection;
    connection.counters.alive();
    if (WAITING.has(packet.cmd)) this.#unfinished += 1;
    try {
      const reason = this.#handlers.handle(connection, packet, this.#finished);
      if (reason !== null) this.#refuse(reason);
    } catch (error) {
      if (error instanceof RefusedPacket) this.#refuse(error.reasonCode, error.message, error);
      else this.#failed(`a client's ${packet.cmd} could not be handled`, error);
    }
    this.#count(packet);
  }

  #count(packet: IncomingPacket): void {
    const connection = this.#connection;
    const { cmd } = packet;
    connection.counters.packet(cmd === 'publish' ? packet.qos !== 0 : !UNANSWERED.has(cmd));
    const isSettled = cmd === 'puback' || cmd === 'pubcomp' || (cmd === 'pubrec' && packet.reasonCode >= FAILURE);
    if (isSettled) this.#handlers.settled(connection, packet.messageId);
  }

  get #maxBytes(): number {
    const { maxPacketBytes } = this.#parts.limits;
    return this.#connection.identity === null ? Math.min(maxPacketBytes, MAX_CONNECT_BYTES) : maxPacketBytes;
  }

  #wait(): void {
    this.#isWaiting = true;
    this.#parts.time.nextIteration(() => this.goOn(), !this.#connection.hasTime);
  }

  #refuse(reasonCode: number, rule: string | null = null, { connack, topic }: Refusal = NO_DETAILS): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const isTls = this.#protocol === undefined && this.#isTls;
    this.#parts.onProtocolError?.(this.#connection, { reasonCode, rule, topic, isTls });
    if (connack === null) void this.#connection.disconnect(reasonCode);
    else this.#connection.closeWith(connack);
  }

  #failed(text: string, error: unknown, reason?: number): void {
    this.#isOver = true;
    this.#parts.faults.ofConnection(this.#connection, text, error, reason);
  }
}

const protocolOf = ({ protocolVersion, isBridge }: Protocol): Protocol => ({ protocolVersion, isBridge });

type Refusal = Pick<RefusedPacket, 'connack' | 'topic'>;

const NO_DETAILS: Refusal = { connack: null, topic: null };

const readOn = (reader: PacketReader): void => reader.goOn();
const readNext = (reader: PacketReader): void => reader.readNext();

/** The first two bytes of a TLS record with a handshake (RFC 8446, 5.1). */
const isTlsHandshake = (bytes: Uint8Array): boolean => bytes[0] === 0x16 && bytes[1] === 0x03;
