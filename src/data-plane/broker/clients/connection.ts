import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { TLSSocket } from 'node:tls';
import type { ClientTls, ClientWill } from '../../../protocol/apis/clients/inspect-data.ts';
import type { ListenerWanted } from '../../../protocol/hosting/broker-engine.ts';
import type { ReadingTimeLimit } from '../../../protocol/mqtt/reading-time-limit.ts';
import type { Identity } from '../connecting/access.ts';
import { allowDisconnectPacket, discardWill } from '../core/aedes-internals.ts';
import { InFlightMessages, type SendWindow } from '../delivery/send-window.ts';
import type { UnacknowledgedShared, WaitingMessage } from '../delivery/sent-messages.ts';
import type { PacketQueue, PublisherBackpressure } from '../packets/packet-queue.ts';
import type { WaitingLiveMessages } from '../retained/waiting-live-messages.ts';
import { type QueueEntry, Session, type SessionAbout, type Traffic } from '../store/session.ts';
import type { Subscription, SubscriptionHolder } from '../store/subscription.ts';
import type { BrokerClient } from './broker-client.ts';

export interface ListenerInfo extends Omit<ListenerWanted, 'protocol'> {
  readonly protocol: 'MQTT' | 'MQTT-WS';
}

export interface WillInfo extends Omit<ClientWill, 'payload'> {
  readonly payload: Uint8Array;
}

/** Reason codes of DISCONNECT (MQTT 5, 3.14.2.1). */
export const IMPLEMENTATION_ERROR = 0x83;
export const SESSION_TAKEN_OVER = 0x8e;
export const RECEIVE_MAXIMUM_EXCEEDED = 0x93;
const ADMINISTRATIVE_ACTION = 0x98;

/** One network connection and its counters. The counters are plain fields because every message changes them. */
export class Connection implements SubscriptionHolder {
  readonly listener: ListenerInfo;
  readonly #stream: Duplex;
  readonly #socket: Socket;
  #hasTcpKeepAlive = false;
  #unchargedMs = 0;
  client: BrokerClient | null = null;
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
  /** Whether the account could publish the will when the client was admitted. */
  couldPublishWill = false;
  connectedAt = 0;
  previousDisconnect: number | null = null;
  /** Why the previous connection of the client ended, in the words of Mosquitto. `null` if it is not known. */
  previousEnd: string | null = null;
  /** Whether CONNACK was sent. */
  isReady = false;
  /** Whether the queue of the session is being sent. Live messages of QoS 1 and 2 wait behind it. */
  isDraining = false;
  /** Where the reading of the queue continues; `null`: at its beginning. */
  unsent: Iterator<QueueEntry> | null = null;
  /** Position of the last message that was read there. Positions grow along the queue. */
  readPosition = 0;
  isDrainScheduled = false;
  /** Set while the client gets retained messages of new subscriptions. */
  held: WaitingLiveMessages | null = null;
  /** `null` before the client is admitted, and if its session ends with the connection. */
  session: Session | null = null;
  /** Subscriptions that end with the connection. */
  readonly subscriptions = new Map<string, Subscription>();
  /** Set if the client got messages of shared subscriptions that belong to no session. */
  shared: UnacknowledgedShared | null = null;
  /** MQTT 5: set if the client limits the number of unacknowledged messages (Receive Maximum). */
  window: SendWindow<WaitingMessage> | null = null;
  /** Number of queued messages that are sent after the next commit. */
  pendingSends = 0;
  maxPacketBytes: number | null = null;
  /** MQTT 5: topic aliases that were set. aedes has their topics. `null`: none yet. aedes accepts ten. */
  topicAliases: Set<number> | null = null;
  /** Weight of the filters of `subscriptions`. */
  filterWeight = 0;
  published = 0;
  publishedBytes = 0;
  delivered = 0;
  deliveredBytes = 0;
  dropped = 0;
  backpressure: PublisherBackpressure | null = null;
  packetsIn = 0;
  /** When the last packet arrived, CONNACK was sent, or the connection was opened: milliseconds of `performance`. */
  lastPacketAt = Math.trunc(performance.now());
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
  /** Number of `stopReading` calls without `resumeReading`. While it is above 0, nothing is read. */
  readingStops = 0;
  pendingControl = 0;
  isClosed = false;

  constructor(stream: Duplex, socket: Socket, listener: ListenerInfo) {
    this.#stream = stream;
    this.#socket = socket;
    this.listener = listener;
  }

  /** Empty if it is first read after the connection was closed. The first read is a system call. */
  get address(): string {
    return (this.#socket.remoteAddress ?? '').replace(/^::ffff:(?=\d)/, '');
  }

  /** Makes the address known after the connection was closed. */
  rememberAddress(): void {
    void this.#socket.remoteAddress;
  }

  get remotePort(): number {
    return this.#socket.remotePort ?? 0;
  }

  get isOnline(): boolean {
    return true;
  }

  /** Who has the client's subscriptions. */
  get holder(): SubscriptionHolder {
    return this.session ?? this;
  }

  /** Bytes that the client has not taken yet, with the memory of each chunk. */
  get unsentBytes(): number {
    const { writableLength } = this.#stream;
    const held = this.held?.bytes ?? 0;
    if (writableLength === 0) return held;
    const state = (this.#stream as { _writableState?: { bufferedRequestCount?: number } })._writableState;
    return held + writableLength + (state?.bufferedRequestCount ?? 0) * CHUNK_BYTES;
  }

  /** Whether the client takes what is sent to it. */
  get hasRoom(): boolean {
    return this.#stream.writableLength < MAX_UNSENT_BYTES;
  }

  /** Writes a packet, together with others of this iteration of the event loop. Returns whether there is room. */
  write(head: Buffer, payload: Buffer | null): boolean {
    const stream = this.#stream;
    if (stream.writableCorked === 0) {
      stream.cork();
      process.nextTick(uncork, stream);
    }
    stream.write(head);
    if (payload !== null) stream.write(payload);
    return stream.writableLength < MAX_UNSENT_BYTES;
  }

  /** Closing the stream discards what it has not tried to send yet. */
  #flush(): void {
    while (this.#stream.writableCorked > 0) this.#stream.uncork();
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

  /** Short times are charged together, so that a short connection costs no entry of its client id. */
  spend(time: ReadingTimeLimit, ms: number): void {
    time.spend(ms);
    this.#unchargedMs += ms;
    if (this.hasTime && this.#unchargedMs < CHARGED_MS) return;
    this.hasTime = time.charge(this.identity?.clientId ?? '', this.#unchargedMs);
    this.#unchargedMs = 0;
  }

  /** Makes the system detect that a silent peer has gone. Repeated calls have no effect. */
  enableTcpKeepAlive(): void {
    if (this.#hasTcpKeepAlive) return;
    this.#hasTcpKeepAlive = true;
    this.#socket.setKeepAlive(true, MIN_TCP_KEEP_ALIVE_MS + Math.random() * TCP_KEEP_ALIVE_SPREAD_MS);
  }

  /** Stops reading. Reading resumes when `resumeReading` was called as often as this method. */
  stopReading(): void {
    this.readingStops += 1;
  }

  resumeReading(): void {
    this.readingStops -= 1;
    if (this.readingStops === 0) this.client?._parser.readOn();
  }

  /** Closes the connection, with DISCONNECT for an MQTT 5 client that reads. Resolves when aedes' client is closed. */
  disconnect(reason: number): Promise<void> {
    const { client } = this;
    this.#flush();
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

  /** Publishes the will, as [MQTT-3.1.2-8] requires after a close without DISCONNECT of the client, or discards it. */
  async kick(discardsWill = false): Promise<void> {
    if (this.client && discardsWill) discardWill(this.client);
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

/** A full socket makes publishers wait for the client. Node.js reports a stream as full at 16 KiB already. */
const MAX_UNSENT_BYTES = 65_536;
/** Memory of one chunk that waits in a stream, without its bytes. */
const CHUNK_BYTES = 128;
/** Minimum time of packets that is charged to a client that has time. */
const CHARGED_MS = 1;
/** Silence after which the system sends TCP keep-alive probes. */
const MIN_TCP_KEEP_ALIVE_MS = 60_000;
/** Thousands of probes at one moment overflow the receive queue of Linux, which then ends connections. */
const TCP_KEEP_ALIVE_SPREAD_MS = 60_000;

const uncork = (stream: Duplex): void => stream.uncork();

/** The connection that messages for a holder of subscriptions are sent to; `null` if its client is not connected. */
export function connectedOf(holder: SubscriptionHolder): Connection | null {
  const connection = holder instanceof Session ? holder.owner : holder;
  if (!(connection instanceof Connection) || !connection.isReady || connection.isClosed) return null;
  return connection.client && !connection.client.closed ? connection : null;
}
