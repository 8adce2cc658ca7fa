import { LinkLimitExceeded, largestOf, type PacketLimits } from './packet-limits.ts';
import {
  cutShort,
  type Identifiers,
  MalformedPacket,
  PropertyReader,
  subscriptionIdentifiers,
} from './packet-properties.ts';

/** Types of packets, in the upper four bits of the first byte: MQTT 3.1.1, 2.2.1. */
const PUBLISH = 3;
const PUBACK = 4;
const PUBREC = 5;
const PUBREL = 6;
const PUBCOMP = 7;
/** Flags in the lower four bits: 2.2.2. */
const DUP = 0x08;
const RETAIN = 0x01;
const PUBREL_FLAGS = 0x02;

/** First byte, and four bytes of length [MQTT 2.2.3]. */
const LARGEST_HEADER = 5;
/** The header, and the largest length that four bytes say. */
export const LARGEST_PACKET = LARGEST_HEADER + 268_435_455;
const NO_BYTES = Buffer.alloc(0);

export interface IncomingPublish {
  readonly topic: string;
  /** Of the bytes that were read: keeps these in memory. */
  readonly payload: Buffer;
  readonly qos: 0 | 1 | 2;
  readonly retain: boolean;
  readonly dup: boolean;
  /** Undefined with QoS 0. */
  readonly messageId?: number | undefined;
  /** Of the subscriptions that it came for, where these have any. */
  readonly identifiers?: Identifiers;
  /** As they stand in the packet, with their length; undefined where there are none for who receives it. See `payload`. */
  readonly properties?: Buffer | undefined;
}

export type AnswerName = 'puback' | 'pubrec' | 'pubcomp';

export interface PacketListener {
  onPublish(packet: IncomingPublish): void;
  onAnswer(name: AnswerName, id: number, reasonCode: number): void;
  onRelease(id: number): void;
  /** Any other packet, whole and unread. */
  onOther(packet: Buffer): void;
}

/** Room for a packet that has not come whole, at first: its announced length alone allocates no more. */
const FIRST_ROOM = 65_536;
const CONTROL = Buffer.from('$CONTROL/');

export interface PacketReaderOptions {
  readonly version: 4 | 5;
  readonly limits: PacketLimits;
  /** Whether a PUBLISH beyond the limits is passed over, without an acknowledgement, instead of being an error. Default: false. */
  readonly skipsLarge?: boolean;
}

/**
 * Parses the bytes that a broker sends: packets of publishing straight from the chunk in which they came, each reported before
 * the next one is parsed. A packet that is spread over several chunks is copied into a buffer that grows with what has come.
 *
 * Bounds: one packet within `limits`, and one chunk while paused. Errors of `read` and `resume`: MalformedPacket, LinkLimitExceeded;
 * nothing is read after them.
 */
export class PacketReader {
  readonly #isVersion5: boolean;
  readonly #limits: PacketLimits;
  readonly #largest: number;
  readonly #skipsLarge: boolean;
  readonly #listener: PacketListener;
  readonly #header = Buffer.alloc(LARGEST_HEADER);
  /** A packet that has not come whole: its header, or what has come of it and room for more. */
  #partial: Buffer | null = null;
  #filled = 0;
  /** Size of that packet; 0 while its header is not complete. */
  #size = 0;
  /** Bytes of a packet that are still to be passed over. */
  #skipped = 0;
  /** What is being read. */
  #chunk: Buffer = NO_BYTES;
  #at = 0;
  #isPaused = false;
  #isReading = false;

  constructor({ version, limits, skipsLarge = false }: PacketReaderOptions, listener: PacketListener) {
    this.#isVersion5 = version === 5;
    this.#limits = limits;
    this.#largest = largestOf(limits);
    this.#skipsLarge = skipsLarge;
    this.#listener = listener;
  }

  /** Memory of a packet that has not come whole. */
  get unfinishedBytes(): number {
    return this.#size === 0 ? 0 : (this.#partial?.length ?? 0);
  }

  /** The next bytes; while it is paused they are stored, and nothing more may come. */
  read(chunk: Buffer): void {
    // Given by a stream that was paused in the middle of giving.
    this.#chunk = this.#at < this.#chunk.length ? Buffer.concat([this.#chunk.subarray(this.#at), chunk]) : chunk;
    this.#at = 0;
    this.#readOn();
  }

  /** Nothing is reported after the packet that is being reported. */
  pause(): void {
    this.#isPaused = true;
  }

  /** Goes on with what it has, before it returns unless a packet is being reported. */
  resume(): void {
    this.#isPaused = false;
    this.#readOn();
  }

  #readOn(): void {
    if (this.#isReading) return;
    this.#isReading = true;
    // Stays so after an error: there is no telling where the next packet begins.
    while (!this.#isPaused && this.#at < this.#chunk.length) {
      if (this.#skipped > 0) this.#skip();
      else if (this.#partial) this.#fill(this.#partial);
      else this.#next();
    }
    if (this.#at === this.#chunk.length) {
      this.#chunk = NO_BYTES;
      this.#at = 0;
    }
    this.#isReading = false;
  }

  #next(): void {
    const chunk = this.#chunk;
    const from = this.#at;
    const size = packetSize(chunk, from, chunk.length);
    const to = from + size;
    if (size > 0 && this.#passesOver(chunk[from] as number, size)) {
      this.#skipped = size;
      return;
    }
    if (size > 0 && to <= chunk.length) {
      this.#assertAllowed(chunk, from, size, size);
      this.#at = to;
      this.#tell(chunk, from, to);
      return;
    }
    const available = chunk.length - from;
    this.#size = size;
    this.#partial = size > 0 ? this.#roomFor(available) : this.#header;
    this.#filled = chunk.copy(this.#partial, 0, from);
    this.#at = chunk.length;
    if (size > 0) this.#assertAllowed(this.#partial, 0, this.#filled, size);
  }

  #fill(partial: Buffer): void {
    // A header ends where it says so, and byte by byte is seen where.
    const to = this.#size === 0 ? this.#at + 1 : this.#chunk.length;
    const copied = this.#chunk.copy(partial, this.#filled, this.#at, to);
    this.#at += copied;
    this.#filled += copied;
    let room = partial;
    if (this.#size === 0) {
      const size = packetSize(partial, 0, this.#filled);
      if (size === 0) return;
      if (this.#passesOver(partial[0] as number, size)) {
        this.#skipped = size - this.#filled;
        this.#partial = null;
        return;
      }
      this.#size = size;
      room = this.#grown(partial);
    }
    this.#assertAllowed(room, 0, this.#filled, this.#size);
    if (this.#filled === this.#size) {
      this.#partial = null;
      this.#size = 0;
      this.#tell(room, 0, this.#filled);
    } else this.#partial = this.#filled === room.length ? this.#grown(room) : room;
  }

  /** A copy of what has come, with room for more. */
  #grown(bytes: Buffer): Buffer {
    const room = this.#roomFor(2 * bytes.length);
    bytes.copy(room, 0, 0, this.#filled);
    return room;
  }

  #roomFor(bytes: number): Buffer {
    return Buffer.allocUnsafeSlow(Math.min(this.#size, Math.max(FIRST_ROOM, bytes)));
  }

  #skip(): void {
    const passed = Math.min(this.#skipped, this.#chunk.length - this.#at);
    this.#skipped -= passed;
    this.#at += passed;
  }

  #passesOver(first: number, size: number): boolean {
    return this.#skipsLarge && size > this.#largest && first >> 4 === PUBLISH;
  }

  /** `available`: bytes of the packet that have come. */
  #assertAllowed(bytes: Buffer, from: number, available: number, size: number): void {
    const { packet } = this.#limits;
    if (size <= packet) return;
    if (size > this.#largest) throw tooLarge(size, this.#largest);
    let at = from + 1;
    while ((bytes[at] as number) >= 0x80) at += 1;
    const topicAt = at + 3;
    const isKnown = topicAt + CONTROL.length <= from + available;
    const isControl = () => bytes.compare(CONTROL, 0, CONTROL.length, topicAt, topicAt + CONTROL.length) === 0;
    if ((bytes[from] as number) >> 4 !== PUBLISH || (isKnown && !isControl())) throw tooLarge(size, packet);
  }

  #tell(bytes: Buffer, from: number, to: number): void {
    const first = bytes[from] as number;
    const type = first >> 4;
    if (type < PUBLISH || type > PUBCOMP) {
      this.#listener.onOther(bytes.subarray(from, to));
      return;
    }
    let at = from + 1;
    while ((bytes[at] as number) >= 0x80) at += 1;
    if (type === PUBLISH) this.#publish(first, bytes, at + 1, to);
    else this.#answer(type, first & 0x0f, bytes, at + 1, to);
  }

  #publish(first: number, bytes: Buffer, from: number, to: number): void {
    const qos = (first >> 1) & 3;
    if (qos === 3) throw new MalformedPacket('A PUBLISH has QoS 3');
    let at = from + 2;
    if (at > to) throw cutShort();
    const topicEnd = at + uint16(bytes, from);
    if (topicEnd > to) throw cutShort();
    const topic = bytes.toString('utf8', at, topicEnd);
    // [MQTT-3.3.2-1], [MQTT-3.3.2-2]; there are no topic aliases.
    if (topic === '' || topic.includes('#') || topic.includes('+'))
      throw new MalformedPacket('A PUBLISH has no valid topic');
    at = topicEnd;
    let messageId: number | undefined;
    if (qos > 0) {
      messageId = idAt(bytes, at, to);
      at += 2;
    }
    let identifiers: Identifiers;
    let propertyBytes: Buffer | undefined;
    if (this.#isVersion5) {
      const properties = new PropertyReader(bytes, at, to);
      if (!properties.isAtEnd) identifiers = subscriptionIdentifiers(properties);
      if (properties.hasOthers) propertyBytes = bytes.subarray(at, properties.end);
      at = properties.end;
    }
    this.#listener.onPublish({
      topic,
      payload: bytes.subarray(at, to),
      qos: qos as 0 | 1 | 2,
      retain: (first & RETAIN) !== 0,
      dup: (first & DUP) !== 0,
      messageId,
      identifiers,
      properties: propertyBytes,
    });
  }

  /** Reason code and properties may be left out (MQTT 5, 3.4.2.1); properties are not looked at. */
  #answer(type: number, flags: number, bytes: Buffer, from: number, to: number): void {
    if (flags !== (type === PUBREL ? PUBREL_FLAGS : 0))
      throw new MalformedPacket('An answer has flags that are reserved');
    if (to > from + 2 && !this.#isVersion5) throw new MalformedPacket('An answer is longer than MQTT 3.1.1 has it');
    const id = idAt(bytes, from, to);
    const reasonCode = to > from + 2 ? (bytes[from + 2] as number) : 0;
    if (to > from + 3 && new PropertyReader(bytes, from + 3, to).end !== to) throw cutShort();
    if (type === PUBACK) this.#listener.onAnswer('puback', id, reasonCode);
    else if (type === PUBREC) this.#listener.onAnswer('pubrec', id, reasonCode);
    else if (type === PUBCOMP) this.#listener.onAnswer('pubcomp', id, reasonCode);
    else this.#listener.onRelease(id);
  }
}

/** Size of the packet that begins there, with its header; 0 while its header is not complete. */
function packetSize(bytes: Buffer, from: number, to: number): number {
  let length = 0;
  for (let at = from + 1, shift = 0; at < to; at += 1, shift += 7) {
    const byte = bytes[at] as number;
    length |= (byte & 0x7f) << shift;
    if (byte < 0x80) return at + 1 - from + length;
    if (shift === 21) throw new MalformedPacket('The length of a packet has more than four bytes');
  }
  return 0;
}

const tooLarge = (size: number, limit: number) =>
  new LinkLimitExceeded(`The broker sent a packet of ${size} bytes; at most ${limit} bytes are accepted`);

const uint16 = (bytes: Buffer, at: number): number => ((bytes[at] as number) << 8) | (bytes[at + 1] as number);

/** [MQTT-2.3.1-1]: not 0. */
function idAt(bytes: Buffer, at: number, to: number): number {
  if (at + 2 > to) throw cutShort();
  const id = uint16(bytes, at);
  if (id === 0) throw new MalformedPacket('A packet has the id 0');
  return id;
}
