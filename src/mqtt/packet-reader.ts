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

/**
 * Takes the bytes that a broker sends apart: the packets of publishing straight from the chunk in which they came, each told before
 * the next one is looked at. Only a packet that is spread over several chunks is copied, each byte once.
 *
 * Bound: one packet, and one chunk while paused. Errors: MalformedPacket of `read` and `resume`; nothing is
 * read after it.
 */
export class PacketReader {
  readonly #isVersion5: boolean;
  readonly #maximumPacketSize: number;
  readonly #listener: PacketListener;
  readonly #header = Buffer.alloc(LARGEST_HEADER);
  /** A packet that has not come whole: its header, or as much room as it needs. */
  #partial: Buffer | null = null;
  #filled = 0;
  /** What is being read. */
  #chunk: Buffer = NO_BYTES;
  #at = 0;
  #isPaused = false;
  #isReading = false;

  /** `maximumPacketSize`: in bytes, with its header. */
  constructor(version: 4 | 5, maximumPacketSize: number, listener: PacketListener) {
    this.#isVersion5 = version === 5;
    this.#maximumPacketSize = maximumPacketSize;
    this.#listener = listener;
  }

  /** The next bytes; nothing may come while it is paused. */
  read(chunk: Buffer): void {
    // Given by a stream that was paused in the middle of giving.
    this.#chunk = this.#at < this.#chunk.length ? Buffer.concat([this.#chunk.subarray(this.#at), chunk]) : chunk;
    this.#at = 0;
    this.#readOn();
  }

  /** Nothing is told after the packet that is being told. */
  pause(): void {
    this.#isPaused = true;
  }

  /** Goes on with what it has, before it returns unless a packet is being told. */
  resume(): void {
    this.#isPaused = false;
    this.#readOn();
  }

  #readOn(): void {
    if (this.#isReading) return;
    this.#isReading = true;
    // Stays so after an error: there is no telling where the next packet begins.
    while (!this.#isPaused && this.#at < this.#chunk.length) {
      if (this.#partial) this.#fill(this.#partial);
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
    const bytes = this.#packetBytes(chunk, from, chunk.length);
    const to = from + bytes;
    if (bytes > 0 && to <= chunk.length) {
      this.#at = to;
      this.#tell(chunk, from, to);
      return;
    }
    this.#partial = bytes > 0 ? Buffer.allocUnsafeSlow(bytes) : this.#header;
    this.#filled = chunk.copy(this.#partial, 0, from);
    this.#at = chunk.length;
  }

  #fill(partial: Buffer): void {
    // A header ends where it says so, and byte by byte is seen where.
    const to = partial === this.#header ? this.#at + 1 : this.#chunk.length;
    const copied = this.#chunk.copy(partial, this.#filled, this.#at, to);
    this.#at += copied;
    this.#filled += copied;
    if (partial === this.#header) {
      const bytes = this.#packetBytes(partial, 0, this.#filled);
      if (bytes === 0) return;
      this.#partial = Buffer.allocUnsafeSlow(bytes);
      partial.copy(this.#partial, 0, 0, this.#filled);
      if (this.#filled < bytes) return;
      partial = this.#partial;
    }
    if (this.#filled < partial.length) return;
    this.#partial = null;
    this.#tell(partial, 0, partial.length);
  }

  /** Of the packet that begins there, with its header. 0: it cannot be told yet. */
  #packetBytes(bytes: Buffer, from: number, to: number): number {
    let length = 0;
    for (let at = from + 1, shift = 0; at < to; at += 1, shift += 7) {
      const byte = bytes[at] as number;
      length |= (byte & 0x7f) << shift;
      if (byte < 0x80) {
        const whole = at + 1 - from + length;
        if (whole > this.#maximumPacketSize) throw new MalformedPacket(`A packet has ${whole} bytes`);
        return whole;
      }
      if (shift === 21) throw new MalformedPacket('The length of a packet has more than four bytes');
    }
    return 0;
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

const uint16 = (bytes: Buffer, at: number): number => ((bytes[at] as number) << 8) | (bytes[at + 1] as number);

/** [MQTT-2.3.1-1]: not 0. */
function idAt(bytes: Buffer, at: number, to: number): number {
  if (at + 2 > to) throw cutShort();
  const id = uint16(bytes, at);
  if (id === 0) throw new MalformedPacket('A packet has the id 0');
  return id;
}
