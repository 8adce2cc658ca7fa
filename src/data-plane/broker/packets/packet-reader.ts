import type { Connection, ConnectionReader } from '../clients/connection.ts';
import type { CoreParts } from '../core/core-parts.ts';
import { FieldReader } from './field-reader.ts';
import type { IncomingPacket } from './incoming-packet.ts';
import { checkFirstByte, type Protocol, readPacket } from './packet-rules.ts';
import { MALFORMED_PACKET, malformed, PACKET_TOO_LARGE, RefusedPacket } from './refused-packet.ts';

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
/** Packets that are not answered by exactly one packet. Whether PUBLISH is answered depends on its QoS. */
const UNANSWERED: ReadonlySet<string> = new Set(['connect', 'puback', 'pubcomp', 'disconnect']);
/** Packets that may wait for the disk, or a PUBLISH for its subscribers. */
const WAITING: ReadonlySet<string> = new Set(['publish', 'pubrel']);
const FAILURE = 0x80;
const NOTHING = Buffer.alloc(0);

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
  /** Has the `#available` received bytes of an incomplete packet, and grows with them to `#needed` bytes. */
  #partial: Buffer = NOTHING;
  #available = 0;
  #needed = 0;
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
    const bytes = Math.max(MAX_READ_BYTES, this.#needed - this.#available);
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
      this.#takePackets(this.#joined(chunk), start + time.leftMs);
    } catch (error) {
      if (error instanceof RefusedPacket) this.#refuse(error.reasonCode, error.message, error);
      else this.#failed("a client's packet could not be read", error, MALFORMED_PACKET);
    } finally {
      this.#isParsing = false;
      this.#connection.spend(time, performance.now() - start);
    }
  }

  /** The chunk with the bytes before it; nothing if the packet is still incomplete. */
  #joined(chunk: Buffer): Buffer {
    if (this.#available === 0) return chunk;
    const available = this.#available + chunk.length;
    if (available > this.#partial.length) this.#grow(available);
    chunk.copy(this.#partial, this.#available);
    this.#available = available;
    if (available < this.#needed) return NOTHING;
    const bytes = this.#partial.subarray(0, available);
    this.#keep(NOTHING, 0);
    return bytes;
  }

  /** The Remaining Length alone allocates nothing. */
  #grow(bytes: number): void {
    const partial = Buffer.allocUnsafeSlow(Math.max(bytes, Math.min(this.#needed, 2 * this.#partial.length)));
    this.#partial.copy(partial);
    this.#partial = partial;
  }

  #keep(bytes: Buffer, needed: number): void {
    this.#partial = bytes;
    this.#available = bytes.length;
    this.#needed = needed;
  }

  /** `end`: of the time slice. */
  #takePackets(bytes: Buffer, end: number): void {
    const connection = this.#connection;
    const { length } = bytes;
    for (let at = 0; at < length; ) {
      checkFirstByte(bytes[at] as number);
      const header = headerOf(bytes, at);
      if (header !== null) this.#assertLength(header.size);
      const next = at + (header?.size ?? length);
      if (header === null || next > length) {
        this.#keep(bytes.subarray(at), header?.size ?? length - at + 1);
        return;
      }
      const packet = readPacket(bytes[at] as number, new FieldReader(bytes, at + header.bytes, next), this.#protocol);
      // Without the password.
      if (packet.cmd === 'connect') this.#protocol = protocolOf(packet);
      at = next;
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
      if (error instanceof RefusedPacket) throw error;
      this.#failed(`a client's ${packet.cmd} could not be handled`, error);
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

  #assertLength(bytes: number): void {
    const { maxPacketBytes } = this.#parts.limits;
    const isAdmitted = this.#connection.identity !== null;
    const limit = isAdmitted ? maxPacketBytes : Math.min(maxPacketBytes, MAX_CONNECT_BYTES);
    if (bytes > limit) throw new RefusedPacket(PACKET_TOO_LARGE, `packet of ${bytes} bytes`);
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

/** The sizes of the fixed header, and of the whole packet (MQTT 5, 2.1.4). `null`: the header is incomplete. */
function headerOf(bytes: Buffer, from: number): { readonly bytes: number; readonly size: number } | null {
  let length = 0;
  for (let at = from + 1, shift = 0; at < bytes.length; at += 1, shift += 7) {
    const byte = bytes[at] as number;
    length |= (byte & 0x7f) << shift;
    if (byte < 0x80) return { bytes: at + 1 - from, size: at + 1 - from + length };
    if (shift === 21) throw malformed('1.5.5: the Remaining Length has more than four bytes');
  }
  return null;
}

/** The first two bytes of a TLS record with a handshake (RFC 8446, 5.1). */
const isTlsHandshake = (bytes: Uint8Array): boolean => bytes[0] === 0x16 && bytes[1] === 0x03;
