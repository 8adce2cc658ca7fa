import { checkFirstByte } from './packet-rules.ts';
import { malformed, PACKET_TOO_LARGE, RefusedPacket } from './refused-packet.ts';

const NOTHING: Buffer = Buffer.alloc(0);

/** Where a packet is in the bytes that were received. */
interface PacketPlace {
  /** Position of the first byte behind the fixed header. */
  readonly body: number;
  readonly end: number;
}

/** Finds the packets in received chunks. A packet that spans several chunks is copied into one buffer. */
export class PacketSplitter {
  /** Has the `#available` received bytes of an incomplete packet, and grows with them to `#needed` bytes. */
  #partial = NOTHING;
  #available = 0;
  #needed = 0;

  /** How many bytes the incomplete packet needs beyond those that have arrived, as far as it is known. */
  get missingBytes(): number {
    return this.#needed - this.#available;
  }

  /** The chunk with the bytes before it; nothing if the packet is still incomplete. */
  joined(chunk: Buffer): Buffer {
    if (this.#available === 0) return chunk;
    const available = this.#available + chunk.length;
    if (available > this.#partial.length) this.#grow(available);
    chunk.copy(this.#partial, this.#available);
    this.#available = available;
    if (available < this.#needed) return NOTHING;
    const bytes = this.#partial.subarray(0, available);
    this.#keep(NOTHING, 0);
    return bytes;
  }

  /**
   * The packet that starts at `at`; `null` if it is incomplete, and its bytes stay here. Errors: RefusedPacket, also if
   * the packet has more than `maxBytes`, before its body has arrived.
   */
  next(bytes: Buffer, at: number, maxBytes: number): PacketPlace | null {
    checkFirstByte(bytes[at] as number);
    const place = placeOf(bytes, at);
    const size = place === null ? 0 : place.end - at;
    if (size > maxBytes) throw new RefusedPacket(PACKET_TOO_LARGE, `packet of ${size} bytes`);
    if (place !== null && place.end <= bytes.length) return place;
    this.#keep(bytes.subarray(at), place === null ? bytes.length - at + 1 : size);
    return null;
  }

  /** The Remaining Length alone allocates nothing. */
  #grow(bytes: number): void {
    const partial = Buffer.allocUnsafeSlow(Math.max(bytes, Math.min(this.#needed, 2 * this.#partial.length)));
    this.#partial.copy(partial);
    this.#partial = partial;
  }

  #keep(bytes: Buffer, needed: number): void {
    this.#partial = bytes;
    this.#available = bytes.length;
    this.#needed = needed;
  }
}

/** Reads the fixed header (MQTT 5, 2.1.4). `null` if it is incomplete. */
function placeOf(bytes: Buffer, from: number): PacketPlace | null {
  let length = 0;
  for (let at = from + 1, shift = 0; at < bytes.length; at += 1, shift += 7) {
    const byte = bytes[at] as number;
    length |= (byte & 0x7f) << shift;
    if (byte < 0x80) return { body: at + 1, end: at + 1 + length };
    if (shift === 21) throw malformed('1.5.5: the Remaining Length has more than four bytes');
  }
  return null;
}
