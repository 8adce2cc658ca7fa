import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Client } from 'aedes';
import type { Identity } from './access.ts';

export interface ListenerInfo {
  readonly port: number;
  readonly host: string;
  readonly protocol: 'MQTT' | 'MQTT-WS';
}

export interface WillInfo {
  readonly topic: string;
  readonly payload: Uint8Array;
  readonly qos: number;
  readonly retain: boolean;
}

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
  isClean = true;
  /** CONNECT came without a client id; only a clean session may. */
  hasNoId = false;
  will: WillInfo | null = null;
  connectedAt = 0;
  previousDisconnect: number | null = null;
  /** The queue of its session is being sent; live messages of QoS 1 and 2 wait for their turn behind it. */
  isDraining = false;
  /** The lowest QoS it ever asked for: messages at or below it never need a smaller one. */
  lowestQos: 0 | 1 | 2 = 2;
  /** An upper bound: filters that it asked for. */
  filters = 0;
  published = 0;
  publishedBytes = 0;
  delivered = 0;
  deliveredBytes = 0;
  packetsIn = 0;
  /** Packets that are not PUBLISH: each is the answer to one that came. */
  answers = 0;
  /** Publishes whose journal group is not on disk yet. */
  pendingCommits = 0;
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

  get bytesRead(): number {
    return this.#socket.bytesRead;
  }

  get bytesWritten(): number {
    return this.#socket.bytesWritten;
  }

  destroy(): void {
    this.#stream.destroy();
    this.#socket.destroy();
  }
}

/** A connected client's subscriptions by topic filter, as granted. aedes has them but does not declare them. */
export function subscriptionsOf(client: Client): Readonly<Record<string, { readonly qos: 0 | 1 | 2 } | undefined>> {
  return (client as unknown as { subscriptions: Record<string, { readonly qos: 0 | 1 | 2 }> }).subscriptions;
}
