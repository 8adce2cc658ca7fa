import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { TLSSocket } from 'node:tls';
import type { AedesPublishPacket, Client } from 'aedes';
import type { ReadingTime } from '../../../protocol/mqtt/reading-time.ts';
import type { Identity } from '../access.ts';
import type { Traffic } from '../store/session.ts';
import { allowDisconnectPacket, discardWill, resumeReadingStream, stopReadingStream } from './aedes-internals.ts';
import type { PacketQueue } from './packet-queue.ts';
import type { PublisherBackpressure } from './publisher-backpressure.ts';
import type { SendWindow } from './send-window.ts';
import type { SubscribeOrder } from './subscribe-order.ts';
import { UnderWay } from './under-way.ts';
import type { WillProperty } from './will-properties.ts';

export interface ListenerInfo {
  /** From 1; `id` and `listener_id` in the control APIs. */
  readonly number: number;
  readonly port: number;
  readonly host: string;
  readonly protocol: 'MQTT' | 'MQTT-WS';
  readonly tls: boolean;
  readonly requireCertificate: boolean;
}

export interface TlsInfo {
  /** As `TLSv1.3`. */
  readonly version: string;
  readonly ciphers: string;
  /** PEM; null: the client sent none. */
  readonly clientCertificate: string | null;
}

export interface WillInfo {
  readonly topic: string;
  readonly payload: Uint8Array;
  readonly qos: number;
  readonly retain: boolean;
  /** As CONNECT said, in order. */
  readonly properties: readonly WillProperty[];
  /** Seconds, as CONNECT said. */
  readonly delayInterval: number;
}

/** Reason codes of DISCONNECT (MQTT 5, 3.14.2.1). */
export const MALFORMED_PACKET = 0x81;
export const IMPLEMENTATION_ERROR = 0x83;
export const SESSION_TAKEN_OVER = 0x8e;
export const TOPIC_FILTER_INVALID = 0x8f;
export const RECEIVE_MAXIMUM_EXCEEDED = 0x93;
const ADMINISTRATIVE_ACTION = 0x98;
export type DisconnectReason =
  | typeof MALFORMED_PACKET
  | typeof IMPLEMENTATION_ERROR
  | typeof SESSION_TAKEN_OVER
  | typeof TOPIC_FILTER_INVALID
  | typeof RECEIVE_MAXIMUM_EXCEEDED
  | typeof ADMINISTRATIVE_ACTION;

/** One network connection and what was counted on it. Counters are plain fields: they are touched for every message. */
export class Connection {
  readonly listener: ListenerInfo;
  readonly address: string;
  readonly remotePort: number;
  readonly #stream: Duplex;
  readonly #socket: Socket;
  /** Set when the broker core took the stream. */
  client: Client | null = null;
  /** The user name that its CONNECT came with, let in or not; null: without one, undefined: no CONNECT came. */
  claimedUsername: string | null | undefined = undefined;
  /** Set when the client was let in. */
  identity: Identity | null = null;
  protocolVersion = 0;
  keepalive = 0;
  /** Nothing of an earlier session is wanted. */
  isCleanStart = true;
  /** The session ends with the connection. */
  isClean = true;
  /** Seconds that the session outlives the connection; null: without end. */
  expirySeconds: number | null = 0;
  /** CONNECT came without a client id; before MQTT 5 only a clean session may. */
  hasNoId = false;
  will: WillInfo | null = null;
  /** Epoch milliseconds; when it was let in. */
  connectedAt = 0;
  previousDisconnect: number | null = null;
  /** Reads what follows CONNECT. Called when CONNACK was sent. */
  readOn: () => void = () => {};
  /** CONNACK and what was queued for it were sent. */
  isReady = false;
  /** The queue of its session is being sent; live messages of QoS 1 and 2 wait for their turn behind it. */
  isDraining = false;
  /** MQTT 5: it said how many messages of QoS 1 and 2 it takes at a time. */
  window: SendWindow<AedesPublishPacket> | null = null;
  /** MQTT 5: the largest packet it takes. */
  maxPacketBytes: number | null = null;
  /** MQTT 5: it gave a subscription an identifier. */
  hasIdentifiers = false;
  /** The lowest QoS it ever asked for: messages at or below it never need a smaller one. */
  lowestQos: 0 | 1 | 2 = 2;
  /** An upper bound: filters that it asked for, and their weight. */
  filters = 0;
  filterWeight = 0;
  published = 0;
  publishedBytes = 0;
  delivered = 0;
  deliveredBytes = 0;
  /** QoS 0 messages that passed it by because it reads too slowly. */
  dropped = 0;
  /** Payload bytes of large messages that are written to its stream in the next step of the event loop. */
  notWrittenBytes = 0;
  /** Set when it has published a large message. */
  backpressure: PublisherBackpressure | null = null;
  packetsIn = 0;
  /** Packets that are not PUBLISH: each is the answer to one that came. */
  answers = 0;
  /** Messages of QoS 1 and 2 that it was sent and that no session keeps. */
  readonly underWay = new UnderWay();
  /** Whether handling its packets has taken little time recently, so that it comes before clients that it has taken more for. */
  hasTime = true;
  /** Publishes that are not on disk, or not delivered yet, and bytes of their payload; and those of QoS 2 among them. */
  pendingCommits = 0;
  pendingBytes = 0;
  pendingQos2 = 0;
  pendingQos2Bytes = 0;
  /**
   * Publishes whose acknowledgement somebody puts off, and those behind them: acknowledgements leave in the order in which the
   * publishes came [MQTT-4.6.0-2, MQTT-4.6.0-3]. Null: none yet.
   */
  held: PacketQueue | null = null;
  /** SUBSCRIBEs on their way, and the publishes behind them; null: it sent no SUBSCRIBE yet. */
  subscribing: SubscribeOrder | null = null;
  /** Number of `stopReading` calls without `resumeReading`. While it is above 0, nothing is read. */
  readingStops = 0;
  pendingControl = 0;
  /** While the broker answers it by itself: an answer needs no right to receive. */
  isAnswered = false;
  isClosed = false;

  constructor(stream: Duplex, socket: Socket, listener: ListenerInfo) {
    this.#stream = stream;
    this.#socket = socket;
    this.listener = listener;
    this.address = (socket.remoteAddress ?? '').replace(/^::ffff:(?=\d)/, '');
    this.remotePort = socket.remotePort ?? 0;
  }

  get traffic(): Traffic {
    const { published, publishedBytes, delivered, deliveredBytes } = this;
    return { published, publishedBytes, delivered, deliveredBytes };
  }

  get bytesRead(): number {
    return this.#socket.bytesRead;
  }

  get bytesWritten(): number {
    return this.#socket.bytesWritten;
  }

  /** Notes the time that handling its packets has taken. */
  spend(time: ReadingTime, ms: number): void {
    time.spend(ms);
    this.hasTime = time.charge(this.identity?.clientId ?? '', ms);
  }

  /** Nothing is read until `resumeReading` was called as often. */
  stopReading(): void {
    this.readingStops += 1;
    if (this.client) stopReadingStream(this.client);
  }

  resumeReading(): void {
    this.readingStops -= 1;
    if (this.client && this.readingStops === 0) resumeReadingStream(this.client);
  }

  /** Ends it from this side; a client of MQTT 5 is told `reason`, unless it does not read. Resolves when its client is gone. */
  end(reason: DisconnectReason): Promise<void> {
    const { client } = this;
    return new Promise((resolve) => {
      if (!client) {
        this.destroy();
        resolve();
        return;
      }
      allowDisconnectPacket(client);
      client.disconnect({ reasonCode: reason }, resolve);
      // aedes would wait for it to be read.
      if (this.#stream.writableNeedDrain) client.close(resolve);
    });
  }

  /** As `end`, as an administrator does: as if it had sent DISCONNECT, so without its will. Resolves when it is gone. */
  async kick(): Promise<void> {
    if (this.client) discardWill(this.client);
    void this.end(ADMINISTRATIVE_ACTION);
    await this.gone();
  }

  /** Resolves when the stream is closed, and those who listened before know it. */
  gone(): Promise<void> {
    return new Promise((resolve) => void this.onGone(resolve));
  }

  /** Calls once, when `gone` resolves, unless the returned function was called before. */
  onGone(listener: () => void): () => void {
    if (this.isClosed || this.#stream.closed) {
      listener();
      return () => {};
    }
    this.#stream.once('close', listener);
    return () => this.#stream.off('close', listener);
  }

  /** Null: the connection is not encrypted, or its listener leaves that to somebody before it. */
  get tls(): TlsInfo | null {
    const socket = this.#socket;
    if (!(socket instanceof TLSSocket)) return null;
    const { name, standardName } = socket.getCipher();
    return {
      version: socket.getProtocol() ?? '',
      ciphers: standardName ?? name,
      clientCertificate: socket.getPeerX509Certificate()?.toString() ?? null,
    };
  }

  destroy(): void {
    this.#stream.destroy();
    this.#socket.destroy();
  }
}
