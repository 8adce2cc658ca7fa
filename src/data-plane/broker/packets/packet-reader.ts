import type { UserProperties } from '../../../protocol/mqtt/publish-properties.ts';
import type { BrokerClient } from '../clients/broker-client.ts';
import type { Connection } from '../clients/connection.ts';
import { closeWith } from '../connecting/connect-refusal.ts';
import type { CoreParts } from '../core/core-parts.ts';
import { type IncomingPacket, PacketParser } from './mqtt-packet-internals.ts';
import { checkPacket, type PacketHeader } from './packet-rules.ts';
import { MALFORMED_PACKET, PACKET_TOO_LARGE, RefusedPacket } from './refused-packet.ts';

export interface PacketHandlers {
  /** DONE: aedes does not get the packet. A reason code refuses it, `null` passes it on to aedes. */
  before(client: BrokerClient, connection: Connection, packet: IncomingPacket): number | null | 'DONE';
  /** The stream is closed. */
  ended(connection: Connection): void;
  /** The client has acknowledged or refused a message. */
  settled(client: BrokerClient, connection: Connection, packetId: number): void;
}

type Refusal = Pick<RefusedPacket, 'connack' | 'topic'>;

const NO_DETAILS: Refusal = { connack: null, topic: null };
/** Maximum number of bytes of one read, unless the rest of a large packet is longer. */
const MAX_READ_BYTES = 16_384;
/** Maximum size of a packet before the client is admitted: the largest possible CONNECT. */
const MAX_CONNECT_BYTES = 330_000;
/** Packets that are not answered by exactly one packet. Whether PUBLISH is answered depends on its QoS. */
const UNANSWERED = new Set(['connect', 'puback', 'pubcomp', 'disconnect']);
const FAILURE = 0x80;

/**
 * Reads the packets of a connection for aedes. A packet that the specification forbids, one that is too large (before
 * its body is read), one that `before` refuses, or an exception closes the connection, and nothing more is read.
 *
 * It reads in time slices, because aedes 2.0.0-beta.1 handles all bytes that have arrived without a pause. A slice ends
 * with the first packet after `time` is over, and a client that needs much time is read after the others. Unparsed
 * bytes return to the socket's buffer.
 */
export class PacketReader extends PacketParser {
  readonly client: BrokerClient;
  readonly connection: Connection;
  readonly #parts: CoreParts;
  readonly #handlers: PacketHandlers;
  /** `_queue`: packets that aedes handles after CONNACK. `null` when it was sent. */
  _queue: IncomingPacket[] | null = [];
  #isOver = false;
  #hasConnect = false;
  /** Whether the bytes before CONNECT begin like TLS. */
  #isTls = false;
  #isWaiting = false;
  #isParsing = false;
  #end = 0;

  constructor(client: BrokerClient, connection: Connection, parts: CoreParts, handlers: PacketHandlers) {
    super();
    this.client = client;
    this.connection = connection;
    this.#parts = parts;
    this.#handlers = handlers;
  }

  /** Called when bytes have arrived, and when aedes has handled a packet, even while later ones are being parsed. */
  read(): void {
    const { conn } = this.client;
    if (this.#isWaiting || this.#isParsing || this.#isConnecting || this.connection.readingStops > 0) return;
    if (this.#parts.time.leftMs <= 0) {
      this.#wait();
      return;
    }
    const bytes = Math.max(MAX_READ_BYTES, this.missingBytes);
    if (conn.readableLength > bytes) {
      this.#isWaiting = true;
      this.readOn();
    }
    // With a size, because Node 26 returns only the first buffer without one.
    const chunk: Buffer | null = conn.read(Math.min(bytes, conn.readableLength));
    if (chunk !== null) this.parse(chunk);
  }

  /** Reads on in this iteration of the event loop. */
  readOn(): void {
    process.nextTick(readOn, this);
  }

  goOn(): void {
    this.#isWaiting = false;
    if (!this.client.closed && this.connection.readingStops === 0) this.client._nextBatch();
  }

  ended(): void {
    const text = 'the end of a connection could not be handled';
    this.#parts.faults.run(undefined, text, () => this.#handlers.ended(this.connection));
  }

  override parse(chunk: Buffer): number {
    if (this.#isOver) return 0;
    if (!this.#hasConnect) this.#isTls = isTlsHandshake(chunk);
    const { time } = this.#parts;
    const start = performance.now();
    this.#end = start + time.leftMs;
    this.#isParsing = true;
    try {
      return super.parse(chunk);
    } catch (error) {
      this.#failed("a client's packet could not be read", error, MALFORMED_PACKET);
      return 0;
    } finally {
      this.#isParsing = false;
      this.connection.spend(time, performance.now() - start);
      this.#checkLength();
    }
  }

  protected override check(
    header: PacketHeader,
    body: Buffer,
    version: number | undefined,
  ): UserProperties | undefined {
    return checkPacket(header, body, version);
  }

  protected override onPacket(packet: IncomingPacket): void {
    const { client } = this;
    const connection = this.connection;
    if (this.#isOver || client.closed) return;
    this.#hasConnect = true;
    connection.lastPacketAt = Math.trunc(performance.now());
    try {
      const reason = this.#handlers.before(client, connection, packet);
      if (reason === null) client.handle(packet);
      else if (reason !== 'DONE') this.#refuse(reason);
    } catch (error) {
      if (error instanceof RefusedPacket) this.onError(error);
      else this.#failed(`a client's ${packet.cmd} could not be handled`, error);
    }
    this.#count(packet);
  }

  #count({ cmd, qos, messageId, reasonCode = 0 }: IncomingPacket): void {
    const connection = this.connection;
    connection.packetsIn += 1;
    if (cmd === 'publish' ? qos !== 0 : !UNANSWERED.has(cmd)) connection.responses += 1;
    const isSettled = cmd === 'puback' || cmd === 'pubcomp' || (cmd === 'pubrec' && reasonCode >= FAILURE);
    if (isSettled && messageId !== undefined) this.#handlers.settled(this.client, connection, messageId);
  }

  protected override afterPacket(): void {
    const { client } = this;
    if (!this.hasUnparsedBytes || client.closed) return;
    const isConnecting = this.#isConnecting;
    if (performance.now() < this.#end && !isConnecting) return;
    client.conn.unshift(this.takeUnparsedBytes());
    if (!this.#isWaiting && !isConnecting) this.#wait();
  }

  protected override onError(error: Error): void {
    if (error instanceof RefusedPacket) this.#refuse(error.reasonCode, error.message, error);
    else this.#refuse(MALFORMED_PACKET, error.message);
  }

  /** aedes emits `error` when its queue of packets behind CONNECT is full. */
  emit(_event: 'error', error: Error): void {
    this.onError(error);
  }

  get #isConnecting(): boolean {
    return this.client.connecting && !this.client.connackSent;
  }

  #checkLength(): void {
    const { maxPacketBytes } = this.#parts.limits;
    const isAdmitted = this.connection.identity !== null;
    const limit = isAdmitted ? maxPacketBytes : Math.min(maxPacketBytes, MAX_CONNECT_BYTES);
    const { length } = this.packet;
    if (length > limit) this.#refuse(PACKET_TOO_LARGE, `packet of ${length} bytes`);
  }

  #wait(): void {
    this.#isWaiting = true;
    this.#parts.time.nextIteration(() => this.goOn(), !this.connection.hasTime);
  }

  #refuse(reasonCode: number, rule: string | null = null, { connack, topic }: Refusal = NO_DETAILS): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const isTls = !this.#hasConnect && this.#isTls;
    this.#parts.onProtocolError?.(this.connection, { reasonCode, rule, topic, isTls });
    if (connack === null || this.#hasConnect) void this.connection.disconnect(reasonCode);
    else closeWith(this.client, connack);
  }

  #failed(text: string, error: unknown, reason?: number): void {
    this.#isOver = true;
    this.#parts.faults.ofConnection(this.connection, text, error, reason);
  }
}

const readOn = (reader: PacketReader): void => reader.goOn();

/** The first two bytes of a TLS record with a handshake (RFC 8446, 5.1). */
const isTlsHandshake = (bytes: Uint8Array): boolean => bytes[0] === 0x16 && bytes[1] === 0x03;

/** `undefined` if it is not a client of this broker. */
export function connectionOf(client: object): Connection | undefined {
  const { _parser: parser } = client as Partial<BrokerClient>;
  return parser instanceof PacketReader ? parser.connection : undefined;
}
