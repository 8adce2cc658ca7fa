import type { MessageProperties } from './message-properties.ts';

/** Publishes of one connection and their payload bytes: those that came from the client, and those it was sent. */
export interface Traffic {
  readonly published: number;
  readonly publishedBytes: number;
  readonly delivered: number;
  readonly deliveredBytes: number;
}

/** What is told of a session while its client is away. Times are epoch milliseconds. */
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
  /** Seconds that the session outlives its connection; null or missing (written by an earlier version): without end. */
  readonly expirySeconds?: number | null;
  /** Of the last connection; missing: the broker ended before it did, or it was an earlier version. */
  readonly traffic?: Traffic;
}

export interface SubscriptionRecord {
  readonly qos: 0 | 1 | 2;
  /** MQTT 5 subscription options, as the broker core hands them over. */
  readonly [option: string]: unknown;
}

/** A payload, kept once for all the sessions that wait for it. */
export interface StoredMessage {
  readonly id: number;
  readonly topic: string;
  readonly payload: Uint8Array | string;
  readonly properties: MessageProperties | undefined;
  /** Bytes of topic, payload and properties. */
  readonly size: number;
  /** How the broker core numbers what it delivers; 0 until it is delivered. */
  brokerId: string | undefined;
  counter: number;
  references: number;
  /** Until it is numbered: where it is queued. */
  queued: { readonly session: Session; readonly entry: QueueEntry }[];
}

/** A message in the queue of one session: queued, then sent (`packetId`), then for QoS 2 released, then gone. */
export interface QueueEntry {
  /** The message's id: in the order in which they were queued. */
  readonly position: number;
  readonly message: StoredMessage;
  readonly qos: 1 | 2;
  /** The message was published to be retained, and the subscription asked for that flag as it was published. */
  readonly retain: boolean;
  /** Set once it was sent. */
  packetId: number | undefined;
  /** QoS 2: PUBREC came, PUBREL is what would be sent again. */
  released: boolean;
  /** It was sent on a connection that ended. */
  dup: boolean;
}

/** One client's persistent session in memory. Who changes it also writes the journal: `SessionStore` and `MessageQueues`. */
export class Session {
  readonly id: string;
  readonly subscriptions = new Map<string, SubscriptionRecord>();
  readonly queue = new Map<number, QueueEntry>();
  readonly byPacketId = new Map<number, QueueEntry>();
  readonly byCounter = new Map<number, QueueEntry>();
  about: SessionAbout | null = null;
  online = false;
  /** It was there before it was opened for the connection that has it now, or had it last. */
  isResumed = false;
  /** The connection that it was last opened for in this run. */
  owner: object | null = null;
  /** Of its subscriptions. */
  filterWeight = 0;
  /** Of topic, payload and properties, as the limits count. */
  queuedBytes = 0;
  /** Of payload alone. */
  payloadBytes = 0;
  /** Those in the queue that were sent, and bytes of their payload. */
  sentMessages = 0;
  sentBytes = 0;
  dropped = 0;

  constructor(id: string) {
    this.id = id;
  }

  entryByPacketId(packetId: number): QueueEntry | undefined {
    const entry = this.byPacketId.get(packetId);
    if (entry) return entry;
    // Packet ids wrap, so two entries may have had the same one and the map knows only the later.
    for (const candidate of this.queue.values()) if (candidate.packetId === packetId) return candidate;
    return undefined;
  }

  /** What an earlier connection sent is sent again as a duplicate [MQTT-3.3.1-1]. */
  markDuplicates(): void {
    for (const entry of this.queue.values()) if (entry.packetId !== undefined) entry.dup = true;
  }
}
