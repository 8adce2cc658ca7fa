/** Memory of one queued message without its payload. */
const PACKET_BYTES = 512;
/** What one client may be sent at a time, below what it allows. */
const LARGEST_WINDOW = 100;

/** Bytes of payload that all windows of a broker hold together. */
export class HeldBytes {
  readonly #max: number;
  #bytes = 0;

  constructor(max: number) {
    this.#max = max;
  }

  get bytes(): number {
    return this.#bytes;
  }

  hasRoomFor(bytes: number): boolean {
    return this.#bytes + bytes <= this.#max;
  }

  add(bytes: number): void {
    this.#bytes += bytes;
  }
}

export interface SendWindowLimits {
  readonly maxHeld: number;
  readonly maxHeldBytes: number;
  /** Shared by all windows of a broker. */
  readonly all: HeldBytes;
}

/**
 * The Receive Maximum of one MQTT 5 client [MQTT-3.3.4-9]: how many messages of QoS 1 and 2 are under way to it. Those of its
 * session wait in the session's queue; those that no session keeps wait here, at most `maxHeld` messages and `maxHeldBytes` of
 * payload, and as much as there is room for in `all`. Further messages are dropped and counted.
 */
export class SendWindow<Packet extends { readonly payload: { readonly length: number } }> {
  readonly #size: number;
  readonly #maxHeld: number;
  readonly #maxHeldBytes: number;
  readonly #all: HeldBytes;
  readonly #underWay = new Set<number>();
  #held: Packet[] = [];
  #next = 0;
  #heldBytes = 0;
  #isClosed = false;
  dropped = 0;

  constructor(receiveMaximum: number, limits: SendWindowLimits) {
    this.#size = Math.min(receiveMaximum, LARGEST_WINDOW);
    this.#maxHeld = limits.maxHeld;
    this.#maxHeldBytes = limits.maxHeldBytes;
    this.#all = limits.all;
  }

  /** How many messages may be under way. */
  get size(): number {
    return this.#size;
  }

  /** Messages that wait here, and bytes of their payload. */
  get held(): number {
    return this.#held.length - this.#next;
  }

  get heldBytes(): number {
    return this.#heldBytes;
  }

  get isOpen(): boolean {
    return this.#underWay.size < this.#size;
  }

  get isHolding(): boolean {
    return this.#next < this.#held.length;
  }

  has(packetId: number): boolean {
    return this.#underWay.has(packetId);
  }

  take(packetId: number): void {
    this.#underWay.add(packetId);
  }

  /** The client is done with it. */
  release(packetId: number): void {
    this.#underWay.delete(packetId);
  }

  hold(packet: Packet): void {
    const { length } = packet.payload;
    const isFull = this.held >= this.#maxHeld || this.#heldBytes + length > this.#maxHeldBytes;
    if (isFull || this.#isClosed || !this.#all.hasRoomFor(length + PACKET_BYTES)) {
      this.dropped += 1;
      return;
    }
    this.#held.push(packet);
    this.#heldBytes += length;
    this.#all.add(length + PACKET_BYTES);
  }

  /** The oldest that is held here. */
  shift(): Packet | undefined {
    const packet = this.#held[this.#next];
    if (!packet) return undefined;
    this.#next += 1;
    this.#heldBytes -= packet.payload.length;
    this.#all.add(-packet.payload.length - PACKET_BYTES);
    if (this.#next * 2 > this.#held.length) {
      this.#held = this.#held.slice(this.#next);
      this.#next = 0;
    }
    return packet;
  }

  /** Evicts what is held: the connection has ended. */
  close(): void {
    this.#isClosed = true;
    while (this.shift()) {}
  }
}
