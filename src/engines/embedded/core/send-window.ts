/** Memory of one queued message without its payload. */
const PACKET_BYTES = 512;
/** Maximum number of messages in flight, even if the client allows more. */
const LARGEST_WINDOW = 100;

/** Limits the payload bytes in the send windows of all clients of a broker. */
export class ByteBudget {
  readonly #max: number;
  #bytes = 0;

  constructor(max: number) {
    this.#max = max;
  }

  hasRoomFor(bytes: number): boolean {
    return this.#bytes + bytes <= this.#max;
  }

  add(bytes: number): void {
    this.#bytes += bytes;
  }
}

interface SendWindowLimits {
  readonly maxQueued: number;
  readonly maxQueuedBytes: number;
  readonly all: ByteBudget;
}

/** Enforces the Receive Maximum [MQTT-3.3.4-9]. Messages without a session wait here, within limits, or are dropped. */
export class SendWindow<Packet extends { readonly payload: { readonly length: number } }> {
  readonly size: number;
  readonly #limits: SendWindowLimits;
  /** Packet ids of unacknowledged messages. */
  readonly inFlight = new Set<number>();
  #packets: Packet[] = [];
  #next = 0;
  queuedBytes = 0;
  #isClosed = false;
  dropped = 0;

  constructor(receiveMaximum: number, limits: SendWindowLimits) {
    this.size = Math.min(receiveMaximum, LARGEST_WINDOW);
    this.#limits = limits;
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
    const { maxQueued, maxQueuedBytes, all } = this.#limits;
    const isFull = this.queued >= maxQueued || this.queuedBytes + length > maxQueuedBytes;
    if (isFull || this.#isClosed || !all.hasRoomFor(length + PACKET_BYTES)) {
      this.dropped += 1;
      return;
    }
    this.#packets.push(packet);
    this.queuedBytes += length;
    all.add(length + PACKET_BYTES);
  }

  shift(): Packet | undefined {
    const packet = this.#packets[this.#next];
    if (!packet) return undefined;
    this.#next += 1;
    this.queuedBytes -= packet.payload.length;
    this.#limits.all.add(-packet.payload.length - PACKET_BYTES);
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
