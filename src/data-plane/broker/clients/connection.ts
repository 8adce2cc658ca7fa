import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { TLSSocket } from 'node:tls';
import type { ClientTls, ClientWill } from '../../../protocol/apis/clients/inspect-data.ts';
import type { ListenerWanted } from '../../../protocol/hosting/broker-engine.ts';
import type { ReadingTimeLimit } from '../../../protocol/mqtt/reading-time-limit.ts';
import type { Identity } from '../connecting/access.ts';
import { InFlightMessages, type SendWindow } from '../delivery/send-window.ts';
import type { UnacknowledgedShared, WaitingMessage } from '../delivery/sent-messages.ts';
import { disconnectOf } from '../packets/packet-bytes.ts';
import type { PacketQueue, PublisherBackpressure } from '../packets/packet-queue.ts';
import type { WaitingLiveMessages } from '../retained/waiting-live-messages.ts';
import type { ClientRef } from '../store/incoming-store.ts';
import { type QueueEntry, Session, type SessionAbout, type Traffic } from '../store/session.ts';
import type { Subscription, SubscriptionHolder } from '../store/subscription.ts';
import type { WillPacket } from '../store/will-store.ts';

export interface ListenerInfo extends Omit<ListenerWanted, 'protocol'> {
  readonly protocol: 'MQTT' | 'MQTT-WS';
}

export interface WillInfo extends Omit<ClientWill, 'payload'> {
  readonly payload: Uint8Array;
}

/** Reason codes of DISCONNECT (MQTT 5, 3.14.2.1). */
export const IMPLEMENTATION_ERROR = 0x83;
export const SERVER_SHUTTING_DOWN = 0x8b;
export const KEEP_ALIVE_TIMEOUT = 0x8d;
export const SESSION_TAKEN_OVER = 0x8e;
export const RECEIVE_MAXIMUM_EXCEEDED = 0x93;
export const ADMINISTRATIVE_ACTION = 0x98;

/** Handles what the stream of a connection reports. */
export interface ConnectionReader {
  /** Bytes have arrived. */
  arrived(): void;
  /** Reads on in this iteration of the event loop. */
  readOn(): void;
  /** The connection is being closed. */
  closing(): void;
  /** The stream is closed. */
  ended(): void;
}

/** One network connection and its counters. The counters are plain fields because every message changes them. */
export class Connection implements SubscriptionHolder, ClientRef {
  readonly listener: ListenerInfo;
  readonly #stream: Duplex;
  readonly #socket: Socket;
  #hasTcpKeepAlive = false;
  #unchargedMs = 0;
  #drainTimeoutMs = 0;
  #reader: ConnectionReader | null = null;
  #drain: Drain | null = null;
  #isDisconnecting = false;
  #nextPacketId = 1 + Math.floor(Math.random() * MAX_PACKET_ID);
  /** Whether `close` was called. */
  isClosing = false;
  /** Whether the client waits for CONNACK. Nothing is read meanwhile. */
  isConnecting = false;
  /** Whether the will is not published when the connection is closed. */
  discardsWill = false;
  /** The will that the broker has stored; `null` before CONNACK. */
  storedWill: WillPacket | null = null;
  /** MQTT 5: whether the client wants Reason Strings. */
  wantsReasons = true;
  /** User name of CONNECT, also of a refused client. `null` if CONNECT has none, `undefined` before CONNECT. */
  claimedUsername: string | null | undefined = undefined;
  identity: Identity | null = null;
  protocolVersion = 0;
  keepalive = 0;
  isCleanStart = true;
  isClean = true;
  /** Seconds that the session outlives the connection. `null` if the session never expires. */
  expirySeconds: number | null = 0;
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
  /** MQTT 5: topics by alias. `null`: none yet. */
  topicAliases: Map<number, string> | null = null;
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
  /** Reason code of DISCONNECT, also if it was not sent. `null` if the broker has not closed the connection. */
  closedBy: number | null = null;
  /** Whether the client has sent DISCONNECT. */
  isEndedByClient = false;

  constructor(stream: Duplex, socket: Socket, listener: ListenerInfo) {
    this.#stream = stream;
    this.#socket = socket;
    this.listener = listener;
  }

  /** Begins to read. Call it once. */
  open(reader: ConnectionReader, drainTimeoutMs: number): void {
    const stream = this.#stream;
    this.#reader = reader;
    this.#drainTimeoutMs = drainTimeoutMs;
    Object.assign(stream, { connection: this });
    stream.setMaxListeners(0);
    stream.on('readable', onReadable);
    stream.on('error', onEnd);
    stream.on('end', onEnd);
    stream.on('close', onClose);
  }

  arrived(): void {
    if (!this.isClosing) this.#reader?.arrived();
  }

  ended(): void {
    this.close();
    this.#reader?.ended();
  }

  /** The client id. Empty before the client is admitted. */
  get id(): string {
    return this.identity?.clientId ?? '';
  }

  /** Whether the session ends with the connection. */
  get clean(): boolean {
    return this.isClean;
  }

  get isReadable(): boolean {
    return !this.isClosing && !this.isConnecting && this.readingStops === 0;
  }

  get readableLength(): number {
    return this.#stream.readableLength;
  }

  /** With a size, because Node 26 returns only the first buffer without one. */
  read(bytes: number): Buffer | null {
    return this.#stream.read(bytes) as Buffer | null;
  }

  /** Bytes that are read again later. */
  unshift(bytes: Buffer): void {
    this.#stream.unshift(bytes);
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
    // Nothing follows DISCONNECT.
    if (this.#isDisconnecting) return true;
    if (stream.writableCorked === 0) {
      stream.cork();
      process.nextTick(uncork, stream);
    }
    stream.write(head);
    if (payload !== null) stream.write(payload);
    return stream.writableLength < MAX_UNSENT_BYTES;
  }

  /** [MQTT-3.1.2-24] Whether the client accepts a packet of this size. */
  accepts(bytes: number): boolean {
    return this.maxPacketBytes === null || bytes <= this.maxPacketBytes;
  }

  /** The next packet id, from 1 to 65,535. An earlier message may still have it. */
  takePacketId(): number {
    const packetId = this.#nextPacketId;
    this.#nextPacketId = packetId >= MAX_PACKET_ID ? 1 : packetId + 1;
    return packetId;
  }

  /** Calls `done` when the stream has taken what was written, or the connection is closed. */
  waitForDrain(done: () => void): void {
    if (this.isClosing) {
      setImmediate(done);
      return;
    }
    this.#drain ??= this.#startDrain();
    this.#drain.waiting.push(done);
  }

  #startDrain(): Drain {
    const listener = () => this.#endDrain();
    this.#stream.once('drain', listener);
    const timer = setTimeout(() => this.close(), this.#drainTimeoutMs);
    timer.unref();
    return { waiting: [], listener, timer };
  }

  #endDrain(): void {
    const drain = this.#drain;
    if (drain === null) return;
    this.#drain = null;
    clearTimeout(drain.timer);
    this.#stream.off('drain', drain.listener);
    for (const done of drain.waiting) setImmediate(done);
  }

  pauseUntilDrained(): void {
    this.stopReading();
    this.waitForDrain(() => this.resumeReading());
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
    if (this.readingStops === 0) this.readOn();
  }

  readOn(): void {
    if (!this.isClosing) this.#reader?.readOn();
  }

  /**
   * Closes the connection, with DISCONNECT for an MQTT 5 client that has got CONNACK and reads. Resolves when `close`
   * was called.
   */
  async disconnect(reason: number): Promise<void> {
    if (this.isClosing) return;
    this.closedBy ??= reason;
    this.#flush();
    const packet = disconnectOf(reason);
    const getsPacket = this.protocolVersion === 5 && this.isReady && this.accepts(packet.length);
    // A client that does not read would not get it.
    if (getsPacket && !this.#stream.writableNeedDrain) await this.#closeAfter(packet);
    else this.close();
  }

  /** Closes the connection of a client that gets no other packet. */
  closeWith(connack: Buffer): void {
    if (this.isClosing) return;
    if (this.accepts(connack.length)) void this.#closeAfter(connack);
    else this.close();
  }

  /** Closes the connection in the next iteration of the event loop, because closing discards what is not sent. */
  async #closeAfter(packet: Buffer): Promise<void> {
    if (!this.#isDisconnecting) this.#stream.write(packet);
    this.#isDisconnecting = true;
    await new Promise<void>((resolve) => {
      setImmediate(() => {
        this.close();
        resolve();
      });
    });
  }

  /** Closes the connection immediately. Repeated calls have no effect. */
  close(): void {
    if (this.isClosing) return;
    this.isClosing = true;
    this.#endDrain();
    this.#reader?.closing();
    this.#stream.destroy();
  }

  /** Publishes the will, as [MQTT-3.1.2-8] requires after a close without DISCONNECT of the client, or discards it. */
  async kick(discardsWill = false): Promise<void> {
    if (discardsWill) this.discardsWill = true;
    void this.disconnect(ADMINISTRATIVE_ACTION);
    await this.whenClosed();
  }

  whenClosed(): Promise<void> {
    return new Promise((resolve) => void this.onClosed(resolve));
  }

  onClosed(listener: () => void): () => void {
    if (this.#stream.closed) {
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

const MAX_PACKET_ID = 65_535;

/** Callbacks that wait for a stream to take what was written. */
interface Drain {
  readonly waiting: (() => void)[];
  readonly listener: () => void;
  readonly timer: NodeJS.Timeout;
}

/** Shared by all streams, because functions of its own would be most of the memory of an idle connection. */
type ConnectionStream = Duplex & { readonly connection: Connection };

function onReadable(this: Duplex): void {
  (this as ConnectionStream).connection.arrived();
}

function onEnd(this: Duplex): void {
  (this as ConnectionStream).connection.close();
}

function onClose(this: Duplex): void {
  (this as ConnectionStream).connection.ended();
}

const uncork = (stream: Duplex): void => stream.uncork();

/** The connection that messages for a holder of subscriptions are sent to; `null` if its client is not connected. */
export function connectedOf(holder: SubscriptionHolder): Connection | null {
  const connection = holder instanceof Session ? holder.owner : holder;
  return connection instanceof Connection && connection.isReady && !connection.isClosing ? connection : null;
}
