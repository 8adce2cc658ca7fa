import { isExpired, type MessageProperties } from './message-properties.ts';
import type { Subscription, SubscriptionHolder } from './subscription.ts';

export interface Traffic {
  readonly published: number;
  readonly publishedBytes: number;
  readonly delivered: number;
  readonly deliveredBytes: number;
}

/** The last connection of a session, for inspection while the client is offline. Times are epoch milliseconds. */
export interface SessionAbout {
  readonly username: string | null;
  readonly address: string;
  readonly remotePort: number;
  readonly protocol: 'MQTT' | 'MQTT-WS';
  readonly protocolVersion: number;
  readonly keepalive: number;
  readonly listener: { readonly port: number; readonly host: string };
  readonly lastConnect: number;
  readonly lastDisconnect: number | null;
  /** Seconds that the session outlives its connection. `null`, or missing from an earlier version: it never expires. */
  readonly expirySeconds?: number | null;
  /** Missing if the broker ended before the connection, or the record is from an earlier version. */
  readonly traffic?: Traffic;
}

/** A queued message, stored once for all sessions that queue it. */
export interface StoredMessage {
  readonly id: number;
  readonly topic: string;
  readonly payload: Uint8Array | string;
  readonly properties?: MessageProperties | undefined;
  /** The QoS and the RETAIN flag that it was published with. */
  readonly qos: 0 | 1 | 2;
  readonly retain: boolean;
  readonly size: number;
  /** Whether it may be sent: it is on disk, and earlier messages of its publisher were delivered. */
  isDelivered: boolean;
  references: number;
}

/** A message in the queue of a session: queued, sent (`packetId`), for QoS 2 released, and at last removed. */
export interface QueueEntry {
  readonly position: number;
  readonly message: StoredMessage;
  readonly qos: 1 | 2;
  /** Whether the RETAIN flag is sent: the message was retained, and the subscription has Retain As Published. */
  readonly retain: boolean;
  packetId: number | undefined;
  /** QoS 2: whether PUBREC was received. A new connection gets PUBREL then. */
  released: boolean;
  dup: boolean;
  /** Whether it was sent on the current connection. */
  isSent: boolean;
  /** The filter of the shared subscription; `null` if the client has the message by a subscription of its own. */
  readonly share: string | null;
  /** The subscription identifiers of the message; `undefined` if it was queued in an earlier run of the broker. */
  readonly identifiers: readonly number[] | null | undefined;
}

/** [MQTT-3.3.2-5] Whether a message may be sent: expired messages only if they were already sent. */
export function isSendable({ message, packetId }: QueueEntry, now: number): boolean {
  return packetId !== undefined || !isExpired(message.properties, now);
}

/** The persistent session of one client. `SessionStore` and `MessageQueues` change it and write the journal. */
export class Session implements SubscriptionHolder {
  readonly id: string;
  readonly subscriptions = new Map<string, Subscription>();
  readonly queue = new Map<number, QueueEntry>();
  readonly byPacketId = new Map<number, QueueEntry>();
  about: SessionAbout | null = null;
  online = false;
  isResumed = false;
  /** The connection that has the session; `null` if the client is offline. */
  owner: object | null = null;
  filterWeight = 0;
  /** Bytes of topics, payloads and properties, as counted by the limits. */
  queuedBytes = 0;
  payloadBytes = 0;
  sentMessages = 0;
  sentBytes = 0;
  dropped = 0;

  constructor(id: string) {
    this.id = id;
  }

  get isOnline(): boolean {
    return this.owner !== null;
  }

  entryByPacketId(packetId: number): QueueEntry | undefined {
    const entry = this.byPacketId.get(packetId);
    if (entry) return entry;
    // Packet ids are reused, so two entries may have the same id, and the map has only the later entry.
    for (const candidate of this.queue.values()) if (candidate.packetId === packetId) return candidate;
    return undefined;
  }

  /** [MQTT-3.3.1-1] Sets DUP for messages that were sent on an earlier connection. */
  markDuplicates(): void {
    for (const entry of this.queue.values()) {
      if (entry.packetId !== undefined) entry.dup = true;
      entry.isSent = false;
    }
  }
}
