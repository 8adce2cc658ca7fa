import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { ListenerWanted } from '../../../protocol/hosting/broker-engine.ts';
import type { ReadingTimeLimit } from '../../../protocol/mqtt/reading-time-limit.ts';
import { type AdmittedIdentity, type ConnectRequest, NO_REQUEST } from '../connecting/access.ts';
import { ConnectionFlow } from '../delivery/connection-flow.ts';
import { disconnectOf } from '../packets/packet-bytes.ts';
import type { ClientRef } from '../store/incoming-store.ts';
import { Session, type SessionAbout } from '../store/session.ts';
import type { Subscription, SubscriptionHolder } from '../store/subscription.ts';
import type { WillPacket } from '../store/will-store.ts';
import { ClientSocket } from './client-socket.ts';
import { ConnectionCounters } from './connection-counters.ts';

export interface ListenerInfo extends Omit<ListenerWanted, 'protocol'> {
  readonly protocol: 'MQTT' | 'MQTT-WS';
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

/**
 * One network connection: who uses it (`request` and `identity`, which the parts that let clients in set once), what it
 * has carried (`counters`), and what is on its way (`flow`, which the parts that deliver and publish change).
 */
export class Connection extends ClientSocket implements SubscriptionHolder, ClientRef {
  readonly listener: ListenerInfo;
  readonly counters = new ConnectionCounters();
  readonly flow = new ConnectionFlow();
  /** What CONNECT said. */
  request: ConnectRequest = NO_REQUEST;
  /** User name of CONNECT, also of a refused client. `null` if CONNECT has none, `undefined` before CONNECT. */
  claimedUsername: string | null | undefined = undefined;
  /** `null` before the client is admitted. */
  identity: AdmittedIdentity | null = null;
  /** Whether the session ends with the connection. */
  isClean = true;
  /** Seconds that the session outlives the connection. `null` if the session never expires. */
  expirySeconds: number | null = 0;
  /** Whether the client waits for CONNACK. Nothing is read meanwhile. */
  isConnecting = false;
  /** Whether CONNACK was sent. */
  isReady = false;
  /** The will that the broker has stored; `null` before CONNACK. */
  storedWill: WillPacket | null = null;
  /** Whether the will is not published when the connection is closed. */
  discardsWill = false;
  /** `null` before the client is admitted, and if its session ends with the connection. */
  session: Session | null = null;
  /** Subscriptions that end with the connection, and the weight of their filters. */
  readonly subscriptions = new Map<string, Subscription>();
  filterWeight = 0;
  /** Whether its packets took little time recently. Clients for which this is true are served before the others. */
  hasTime = true;
  #unchargedMs = 0;
  /** Number of `stopReading` calls without `resumeReading`. While it is above 0, nothing is read. */
  /** Reason code of DISCONNECT, also if it was not sent. `null` if the broker has not closed the connection. */
  closedBy: number | null = null;
  /** Whether the client has sent DISCONNECT. */
  isEndedByClient = false;
  #readingStops = 0;
  #reader: ConnectionReader | null = null;

  constructor(stream: Duplex, socket: Socket, listener: ListenerInfo) {
    super(stream, socket);
    this.listener = listener;
  }

  /** Begins to read. Call it once. */
  open(reader: ConnectionReader, drainTimeoutMs: number): void {
    this.#reader = reader;
    this.listen(drainTimeoutMs);
  }

  override arrived(): void {
    if (!this.isClosing) this.#reader?.arrived();
  }

  override ended(): void {
    this.close();
    this.#reader?.ended();
  }

  /** The client id. Empty before the client is admitted. */
  get id(): string {
    return this.identity?.clientId ?? '';
  }

  get isReadable(): boolean {
    return !this.isClosing && !this.isConnecting && this.#readingStops === 0;
  }

  get isOnline(): boolean {
    return true;
  }

  /** Who has the client's subscriptions. */
  get holder(): SubscriptionHolder {
    return this.session ?? this;
  }

  /** Also those that wait for retained messages. */
  override get unsentBytes(): number {
    return super.unsentBytes + (this.flow.held?.bytes ?? 0);
  }

  /** [MQTT-3.1.2-24] Whether the client accepts a packet of this size. */
  accepts(bytes: number): boolean {
    const { maxPacketBytes } = this.request;
    return maxPacketBytes === null || bytes <= maxPacketBytes;
  }

  pauseUntilDrained(): void {
    this.stopReading();
    this.waitForDrain(() => this.resumeReading());
  }

  get about(): SessionAbout {
    const { identity, address, remotePort, listener, expirySeconds } = this;
    const { protocolVersion, keepalive } = this.request;
    return {
      username: identity?.username ?? null,
      address,
      remotePort,
      protocol: listener.protocol,
      protocolVersion,
      keepalive,
      listener: { port: listener.port, host: listener.host },
      lastConnect: identity?.connectedAt ?? 0,
      lastDisconnect: identity?.previousDisconnect ?? null,
      expirySeconds,
    };
  }

  /** Short times are charged together, so that a short connection costs no entry of its client id. */
  spend(time: ReadingTimeLimit, ms: number): void {
    time.spend(ms);
    this.#unchargedMs += ms;
    if (this.hasTime && this.#unchargedMs < CHARGED_MS) return;
    this.hasTime = time.charge(this.identity?.clientId ?? '', this.#unchargedMs);
    this.#unchargedMs = 0;
  }

  /** Stops reading. Reading resumes when `resumeReading` was called as often as this method. */
  stopReading(): void {
    this.#readingStops += 1;
  }

  resumeReading(): void {
    this.#readingStops -= 1;
    if (this.#readingStops === 0) this.readOn();
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
    const packet = disconnectOf(reason);
    const getsPacket = this.request.protocolVersion === 5 && this.isReady && this.accepts(packet.length);
    await this.closeAfter(getsPacket ? packet : null);
  }

  /** Closes the connection of a client that gets no other packet. */
  closeWith(connack: Buffer): void {
    if (!this.isClosing) void this.closeAfter(this.accepts(connack.length) ? connack : null);
  }

  protected override closing(): void {
    this.#reader?.closing();
  }

  /** Publishes the will, as [MQTT-3.1.2-8] requires after a close without DISCONNECT of the client, or discards it. */
  async kick(discardsWill = false): Promise<void> {
    if (discardsWill) this.discardsWill = true;
    void this.disconnect(ADMINISTRATIVE_ACTION);
    await this.whenClosed();
  }
}

/** Minimum time of packets that is charged to a client that has time. */
const CHARGED_MS = 1;

/** The connection that messages for a holder of subscriptions are sent to; `null` if its client is not connected. */
export function connectedOf(holder: SubscriptionHolder): Connection | null {
  const connection = holder instanceof Session ? holder.owner : holder;
  return connection instanceof Connection && connection.isReady && !connection.isClosing ? connection : null;
}
