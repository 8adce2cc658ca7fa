import { LinkLimitExceeded, largestOf, OTHER_PACKET, type PacketLimits } from './packet-limits.ts';
import {
  type Identifiers,
  MalformedPacket,
  PropertyReader,
  subscriptionIdentifiers,
  tooShort,
} from './packet-properties.ts';

const PUBLISH = 3;
const PUBACK = 4;
const PUBREC = 5;
const PUBREL = 6;
const PUBCOMP = 7;
const DUP = 0x08;
const RETAIN = 0x01;
const PUBREL_FLAGS = 0x02;

/** First byte and four bytes of Remaining Length (MQTT 3.1.1, 2.2.3). */
const LARGEST_HEADER = 5;
export const LARGEST_PACKET = LARGEST_HEADER + 268_435_455;
const NO_BYTES = Buffer.alloc(0);

export interface IncomingPublish {
  readonly topic: string;
  /** A view of the bytes that were read, which it retains in memory. */
  readonly payload: Buffer;
  readonly qos: 0 | 1 | 2;
  readonly retain: boolean;
  readonly dup: boolean;
  readonly messageId?: number | undefined;
  readonly identifiers?: Identifiers;
  /** `undefined` if there are none for the receiver. A view like `payload`. */
  readonly properties?: Buffer | undefined;
}

export type AcknowledgementName = 'puback' | 'pubrec' | 'pubcomp';

export interface PacketListener {
  onPublish(packet: IncomingPublish): void;
  onAcknowledgement(name: AcknowledgementName, id: number, reasonCode: number): void;
  onRelease(id: number): void;
  /** Any other packet, unparsed. */
  onOther(packet: Buffer): void;
}

/** The Remaining Length alone does not allocate more. */
const INITIAL_BUFFER_BYTES = 65_536;
const CONTROL = Buffer.from('$CONTROL/');

export interface PacketReaderOptions {
  readonly version: 4 | 5;
  readonly limits: PacketLimits;
  /** Whether a PUBLISH beyond the limits is skipped. Default: false, it is an error. */
  readonly skipsLarge?: boolean;
}

/**
 * Parses the bytes that a broker sends. Packets of publishing are parsed in place, and each is reported before the next
 * one is parsed. A packet that spans several chunks is copied into a buffer that grows with the received bytes.
 *
 * Bounds: one packet within `limits`, and one chunk while paused. Errors of `read` and `resume`: MalformedPacket,
 * LinkLimitExceeded; the reader must not be used after them.
 */
export class PacketReader {
  readonly #isVersion5: boolean;
  readonly #limits: PacketLimits;
  readonly #largest: number;
  readonly #skipsLarge: boolean;
  readonly #listener: PacketListener;
  readonly #header = Buffer.alloc(LARGEST_HEADER);
  /** Buffer of an incomplete packet, or its incomplete header. */
  #partial: Buffer | null = null;
  #filled = 0;
  /** Size of the incomplete packet; 0 while its header is incomplete. */
  #size = 0;
  #skipped = 0;
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

  get unfinishedBytes(): number {
    return this.#size === 0 ? 0 : (this.#partial?.length ?? 0);
  }

  /** Parses the next bytes. While paused it stores one chunk; a second one must not follow. */
  read(chunk: Buffer): void {
    // A stream that is paused while it emits may emit one more chunk.
    this.#chunk = this.#at < this.#chunk.length ? Buffer.concat([this.#chunk.subarray(this.#at), chunk]) : chunk;
    this.#at = 0;
    this.#parse();
  }

  pause(): void {
    this.#isPaused = true;
  }

  resume(): void {
    this.#isPaused = false;
    this.#parse();
  }

  #parse(): void {
    if (this.#isReading) return;
    this.#isReading = true;
    // Stays true after an error, because the start of the next packet is then unknown.
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
    if (size > 0 && this.#isSkipped(chunk[from] as number, size)) {
      this.#skipped = size;
      return;
    }
    if (size > 0 && to <= chunk.length) {
      this.#assertAllowed(chunk, from, size, size);
      this.#at = to;
      this.#report(chunk, from, to);
      return;
    }
    const available = chunk.length - from;
    this.#size = size;
    this.#partial = size > 0 ? this.#allocate(available) : this.#header;
    this.#filled = chunk.copy(this.#partial, 0, from);
    this.#at = chunk.length;
    if (size > 0) this.#assertAllowed(this.#partial, 0, this.#filled, size);
  }

  #fill(partial: Buffer): void {
    // The end of a header is only known from its bytes, so they are copied one by one.
    const to = this.#size === 0 ? this.#at + 1 : this.#chunk.length;
    const copied = this.#chunk.copy(partial, this.#filled, this.#at, to);
    this.#at += copied;
    this.#filled += copied;
    let buffer = partial;
    if (this.#size === 0) {
      const size = packetSize(partial, 0, this.#filled);
      if (size === 0) return;
      if (this.#isSkipped(partial[0] as number, size)) {
        this.#skipped = size - this.#filled;
        this.#partial = null;
        return;
      }
      this.#size = size;
      buffer = this.#grown(partial);
    }
    this.#assertAllowed(buffer, 0, this.#filled, this.#size);
    if (this.#filled === this.#size) {
      this.#partial = null;
      this.#size = 0;
      this.#report(buffer, 0, this.#filled);
    } else this.#partial = this.#filled === buffer.length ? this.#grown(buffer) : buffer;
  }

  #grown(bytes: Buffer): Buffer {
    const buffer = this.#allocate(2 * bytes.length);
    bytes.copy(buffer, 0, 0, this.#filled);
    return buffer;
  }

  #allocate(bytes: number): Buffer {
    return Buffer.allocUnsafeSlow(Math.min(this.#size, Math.max(INITIAL_BUFFER_BYTES, bytes)));
  }

  #skip(): void {
    const skipped = Math.min(this.#skipped, this.#chunk.length - this.#at);
    this.#skipped -= skipped;
    this.#at += skipped;
  }

  #isSkipped(first: number, size: number): boolean {
    return this.#skipsLarge && size > this.#largest && first >> 4 === PUBLISH;
  }

  /** `available`: received bytes of the packet. */
  #assertAllowed(bytes: Buffer, from: number, available: number, size: number): void {
    const isPublish = (bytes[from] as number) >> 4 === PUBLISH;
    const packet = isPublish ? this.#limits.packet : Math.min(this.#limits.packet, OTHER_PACKET);
    if (size <= packet) return;
    if (!isPublish) throw tooLarge(size, packet);
    if (size > this.#largest) throw tooLarge(size, this.#largest);
    let at = from + 1;
    while ((bytes[at] as number) >= 0x80) at += 1;
    const topicAt = at + 3;
    const isKnown = topicAt + CONTROL.length <= from + available;
    const isControl = () => bytes.compare(CONTROL, 0, CONTROL.length, topicAt, topicAt + CONTROL.length) === 0;
    if (isKnown && !isControl()) throw tooLarge(size, packet);
  }

  #report(bytes: Buffer, from: number, to: number): void {
    const first = bytes[from] as number;
    const type = first >> 4;
    if (type < PUBLISH || type > PUBCOMP) {
      this.#listener.onOther(bytes.subarray(from, to));
      return;
    }
    let at = from + 1;
    while ((bytes[at] as number) >= 0x80) at += 1;
    if (type === PUBLISH) this.#publish(first, bytes, at + 1, to);
    else this.#acknowledgement(type, first & 0x0f, bytes, at + 1, to);
  }

  #publish(first: number, bytes: Buffer, from: number, to: number): void {
    const qos = (first >> 1) & 3;
    if (qos === 3) throw new MalformedPacket('A PUBLISH has QoS 3');
    let at = from + 2;
    if (at > to) throw tooShort();
    const topicEnd = at + uint16(bytes, from);
    if (topicEnd > to) throw tooShort();
    const topic = bytes.toString('utf8', at, topicEnd);
    // [MQTT-3.3.2-1], [MQTT-3.3.2-2]. Topic aliases are not allowed.
    if (topic === '' || topic.includes('#') || topic.includes('+'))
      throw new MalformedPacket('A PUBLISH has an invalid topic');
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

  /** Reason code and properties are optional (MQTT 5, 3.4.2.1). Properties are ignored. */
  #acknowledgement(type: number, flags: number, bytes: Buffer, from: number, to: number): void {
    if (flags !== (type === PUBREL ? PUBREL_FLAGS : 0))
      throw new MalformedPacket('An acknowledgement has reserved flags');
    if (to > from + 2 && !this.#isVersion5) throw new MalformedPacket('An acknowledgement of MQTT 3.1.1 is too long');
    const id = idAt(bytes, from, to);
    const reasonCode = to > from + 2 ? (bytes[from + 2] as number) : 0;
    if (to > from + 3 && new PropertyReader(bytes, from + 3, to).end !== to) throw tooShort();
    if (type === PUBACK) this.#listener.onAcknowledgement('puback', id, reasonCode);
    else if (type === PUBREC) this.#listener.onAcknowledgement('pubrec', id, reasonCode);
    else if (type === PUBCOMP) this.#listener.onAcknowledgement('pubcomp', id, reasonCode);
    else this.#listener.onRelease(id);
  }
}

/** Size of the packet that starts at `from`, including its header; 0 if the header is incomplete. */
function packetSize(bytes: Buffer, from: number, to: number): number {
  let length = 0;
  for (let at = from + 1, shift = 0; at < to; at += 1, shift += 7) {
    const byte = bytes[at] as number;
    length |= (byte & 0x7f) << shift;
    if (byte < 0x80) return at + 1 - from + length;
    if (shift === 21) throw new MalformedPacket('The Remaining Length of a packet has more than four bytes');
  }
  return 0;
}

const tooLarge = (size: number, limit: number) =>
  new LinkLimitExceeded(`The broker sent a packet of ${size} bytes; at most ${limit} bytes are accepted`);

const uint16 = (bytes: Buffer, at: number): number => ((bytes[at] as number) << 8) | (bytes[at + 1] as number);

function idAt(bytes: Buffer, at: number, to: number): number {
  if (at + 2 > to) throw tooShort();
  const id = uint16(bytes, at);
  if (id === 0) throw new MalformedPacket('A packet has the packet identifier 0');
  return id;
}
