import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { TLSSocket } from 'node:tls';
import type { AedesPublishPacket, Client } from 'aedes';
import type { ListenerWanted } from '../../../domains/brokers/broker-engine.ts';
import type { ClientTls, ClientWill } from '../../../domains/clients/inspect/inspect-data.ts';
import type { ReadingTime } from '../../../protocol/mqtt/reading-time.ts';
import type { Identity } from '../access.ts';
import type { SessionAbout, Traffic } from '../store/session.ts';
import { allowDisconnectPacket, discardWill, resumeReadingStream, stopReadingStream } from './aedes-internals.ts';
import type { PacketQueue, PublisherBackpressure, SubscribeOrder } from './packet-queue.ts';
import { InFlightMessages, type SendWindow } from './send-window.ts';

export interface ListenerInfo extends Omit<ListenerWanted, 'protocol'> {
  readonly protocol: 'MQTT' | 'MQTT-WS';
}

export interface WillInfo extends Omit<ClientWill, 'payload'> {
  readonly payload: Uint8Array;
}

/** Reason codes of DISCONNECT (MQTT 5, 3.14.2.1). */
export const IMPLEMENTATION_ERROR = 0x83;
export const SESSION_TAKEN_OVER = 0x8e;
export const TOPIC_FILTER_INVALID = 0x8f;
export const RECEIVE_MAXIMUM_EXCEEDED = 0x93;
const ADMINISTRATIVE_ACTION = 0x98;

/** One network connection and its counters. The counters are plain fields because every message changes them. */
export class Connection {
  readonly listener: ListenerInfo;
  readonly address: string;
  readonly remotePort: number;
  readonly #stream: Duplex;
  readonly #socket: Socket;
  client: Client | null = null;
  /** User name of CONNECT, also of a refused client. `null` if CONNECT has none, `undefined` before CONNECT. */
  claimedUsername: string | null | undefined = undefined;
  identity: Identity | null = null;
  protocolVersion = 0;
  keepalive = 0;
  isCleanStart = true;
  isClean = true;
  /** Seconds that the session outlives the connection. `null` if the session never expires. */
  expirySeconds: number | null = 0;
  hasNoId = false;
  will: WillInfo | null = null;
  connectedAt = 0;
  previousDisconnect: number | null = null;
  /** Reads the packets behind CONNECT. Called when CONNACK was sent. */
  readOn: () => void = () => {};
  /** Whether CONNACK and the queue of the session were sent. */
  isReady = false;
  /** Whether the queue of the session is being sent. Live messages of QoS 1 and 2 wait behind it. */
  isDraining = false;
  /** MQTT 5: set if the client limits the number of unacknowledged messages (Receive Maximum). */
  window: SendWindow<AedesPublishPacket> | null = null;
  maxPacketBytes: number | null = null;
  /** MQTT 5: topic aliases that were set. aedes has their topics. At most 65,535, of which aedes accepts ten. */
  readonly topicAliases = new Set<number>();
  hasIdentifiers = false;
  /** The lowest QoS that the client has requested. Messages at or below it are never downgraded. */
  lowestQos: 0 | 1 | 2 = 2;
  /** Upper bound of the number of its topic filters, and of their weight. */
  filters = 0;
  filterWeight = 0;
  published = 0;
  publishedBytes = 0;
  delivered = 0;
  deliveredBytes = 0;
  dropped = 0;
  /** Payload bytes of large messages that are written to the stream in the next iteration of the event loop. */
  notWrittenBytes = 0;
  backpressure: PublisherBackpressure | null = null;
  packetsIn = 0;
  /** Number of packets sent to the client except PUBLISH. Each responds to one received packet. */
  responses = 0;
  /** Messages of QoS 1 and 2 that were sent to the client and belong to no session. */
  readonly inFlight = new InFlightMessages();
  /** Whether its packets took little time recently. Clients for which this is true are served before the others. */
  hasTime = true;
  /** Publishes that are not on disk or not delivered yet, and their payload bytes; then the same for QoS 2. */
  pendingCommits = 0;
  pendingBytes = 0;
  pendingQos2 = 0;
  pendingQos2Bytes = 0;
  /** Publishes with delayed acknowledgements, and those behind them [MQTT-4.6.0-2, MQTT-4.6.0-3]. `null`: none yet. */
  delayedAcks: PacketQueue | null = null;
  /** SUBSCRIBEs that are not in effect yet, and the publishes behind them. `null` before the first SUBSCRIBE. */
  subscribing: SubscribeOrder | null = null;
  /** Number of `stopReading` calls without `resumeReading`. While it is above 0, nothing is read. */
  readingStops = 0;
  pendingControl = 0;
  /** Whether the broker is sending a control response to the client, which needs no permission to receive it. */
  isReceivingResponse = false;
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

  get about(): SessionAbout {
    const { identity, address, remotePort, protocolVersion, keepalive, listener, expirySeconds } = this;
    return {
      username: identity?.username ?? null,
      address,
      remotePort,
      protocol: listener.protocol,
      protocolVersion,
      keepalive,
      listener: { port: listener.port, host: listener.host },
      lastConnect: this.connectedAt,
      lastDisconnect: this.previousDisconnect,
      expirySeconds,
    };
  }

  get bytesRead(): number {
    return this.#socket.bytesRead;
  }

  get bytesWritten(): number {
    return this.#socket.bytesWritten;
  }

  spend(time: ReadingTime, ms: number): void {
    time.spend(ms);
    this.hasTime = time.charge(this.identity?.clientId ?? '', ms);
  }

  /** Stops reading. Reading resumes when `resumeReading` was called as often as this method. */
  stopReading(): void {
    this.readingStops += 1;
    if (this.client) stopReadingStream(this.client);
  }

  resumeReading(): void {
    this.readingStops -= 1;
    if (this.client && this.readingStops === 0) resumeReadingStream(this.client);
  }

  /** Closes the connection, with DISCONNECT for an MQTT 5 client that reads. Resolves when aedes' client is closed. */
  disconnect(reason: number): Promise<void> {
    const { client } = this;
    return new Promise((resolve) => {
      if (!client) {
        this.destroy();
        resolve();
        return;
      }
      allowDisconnectPacket(client);
      client.disconnect({ reasonCode: reason }, resolve);
      // aedes would wait until the client reads.
      if (this.#stream.writableNeedDrain) client.close(resolve);
    });
  }

  async kick(): Promise<void> {
    if (this.client) discardWill(this.client);
    void this.disconnect(ADMINISTRATIVE_ACTION);
    await this.whenClosed();
  }

  whenClosed(): Promise<void> {
    return new Promise((resolve) => void this.onClosed(resolve));
  }

  onClosed(listener: () => void): () => void {
    if (this.isClosed || this.#stream.closed) {
      listener();
      return () => {};
    }
    this.#stream.once('close', listener);
    return () => this.#stream.off('close', listener);
  }

  /** `null` if the connection is not encrypted, or a proxy in front of the listener terminates TLS. */
  get tls(): ClientTls | null {
    const socket = this.#socket;
    if (!(socket instanceof TLSSocket)) return null;
    const { name, standardName } = socket.getCipher();
    const certificate = socket.getPeerX509Certificate();
    return {
      version: socket.getProtocol() ?? '',
      ciphers: standardName ?? name,
      ...(certificate ? { clientCertificate: certificate.toString() } : {}),
    };
  }

  destroy(): void {
    this.#stream.destroy();
    this.#socket.destroy();
  }
}
