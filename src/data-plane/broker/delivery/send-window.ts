import type { BrokerLimits } from '../limits.ts';

const PACKET_BYTES = 512;
/** Maximum number of messages in flight, even if the client allows more. */
const LARGEST_WINDOW = 100;

/** Payload bytes in the send windows of all clients of a broker. */
export interface WindowBytes {
  total: number;
}

/** Enforces the Receive Maximum [MQTT-3.3.4-9]. Messages without a session wait here, within limits, or are dropped. */
export class SendWindow<Packet extends { readonly payload: { readonly length: number } }> {
  readonly size: number;
  readonly #limits: BrokerLimits;
  readonly #bytes: WindowBytes;
  /** Packet ids of unacknowledged messages. */
  readonly inFlight = new Set<number>();
  #packets: Packet[] = [];
  #next = 0;
  queuedBytes = 0;
  #isClosed = false;
  dropped = 0;

  constructor(receiveMaximum: number, limits: BrokerLimits, bytes: WindowBytes) {
    this.size = Math.min(receiveMaximum, LARGEST_WINDOW);
    this.#limits = limits;
    this.#bytes = bytes;
  }

  get queued(): number {
    return this.#packets.length - this.#next;
  }
  get isOpen(): boolean {
    return this.inFlight.size < this.size;
  }

  get hasQueued(): boolean {
    return this.#next < this.#packets.length;
  }

  enqueue(packet: Packet): void {
    const { length } = packet.payload;
    const { onlineMessages, sessionBytes, totalBytes } = this.#limits;
    const isFull = this.queued >= onlineMessages || this.queuedBytes + length > sessionBytes;
    if (isFull || this.#isClosed || this.#bytes.total + length + PACKET_BYTES > totalBytes) {
      this.dropped += 1;
      return;
    }
    this.#packets.push(packet);
    this.queuedBytes += length;
    this.#bytes.total += length + PACKET_BYTES;
  }

  shift(): Packet | undefined {
    const packet = this.#packets[this.#next];
    if (!packet) return undefined;
    this.#next += 1;
    this.queuedBytes -= packet.payload.length;
    this.#bytes.total -= packet.payload.length + PACKET_BYTES;
    if (this.#next * 2 > this.#packets.length) {
      this.#packets = this.#packets.slice(this.#next);
      this.#next = 0;
    }
    return packet;
  }

  close(): void {
    this.#isClosed = true;
    while (this.shift()) {}
  }
}

/** The same as `onlineMessages`, the limit of a session whose client is connected. */
const MAX_IN_FLIGHT = 20_000;

interface MessageInFlight {
  readonly bytes: number;
  readonly qos: number;
  /** QoS 2: whether PUBREC was received. */
  released: boolean;
}

/** Number and bytes of the unacknowledged QoS 1 and 2 messages of a connection; at most the newest 20,000 count. */
export class InFlightMessages {
  /** `null`: none yet, as for all clients that only publish. */
  #messages: Map<number, MessageInFlight> | null = null;
  bytes = 0;

  get count(): number {
    return this.#messages?.size ?? 0;
  }

  add(packetId: number, qos: number, bytes: number): void {
    this.#messages ??= new Map();
    const messages = this.#messages;
    this.settle(packetId);
    if (messages.size >= MAX_IN_FLIGHT) this.settle(messages.keys().next().value ?? packetId);
    messages.set(packetId, { bytes, qos, released: false });
    this.bytes += bytes;
  }

  get(packetId: number): MessageInFlight | undefined {
    return this.#messages?.get(packetId);
  }

  settle(packetId: number): void {
    const message = this.#messages?.get(packetId);
    if (message === undefined) return;
    this.#messages?.delete(packetId);
    this.bytes -= message.bytes;
  }
}
