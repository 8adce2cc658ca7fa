/** A packet is malformed or violates the protocol. The connection is closed. */
export class MalformedPacket extends Error {}

/** Properties of PUBLISH (MQTT 5, 3.3.2.3). SKIPPED: bytes, or a string, of those that are not read here. */
const SUBSCRIPTION_IDENTIFIER = 0x0b;
const TOPIC_ALIAS = 0x23;
const USER_PROPERTY = 0x26;
const SKIPPED = new Map<number, number | 'string'>([
  [0x01, 1],
  [0x02, 4],
  [0x03, 'string'],
  [0x08, 'string'],
  [0x09, 'string'],
]);

/** Of a text (MQTT 5, 1.5.4). A UTF-16 code unit takes at most three of them. */
const MAX_BYTES = 65_535;
const LONGEST_UNITS = MAX_BYTES / 3;

export type Identifiers = number | readonly number[] | undefined;

/** Reads the properties of a packet in order (MQTT 5, 2.2.2). Errors: MalformedPacket. */
export class PropertyReader {
  readonly end: number;
  hasOthers = false;
  readonly #bytes: Buffer;
  #at: number;

  constructor(bytes: Buffer, from: number, to: number) {
    this.#bytes = bytes;
    this.#at = from;
    this.end = to;
    const length = this.number();
    this.end = this.#at + length;
    if (this.end > to) throw tooShort();
  }

  get isAtEnd(): boolean {
    return this.#at >= this.end;
  }

  byte(): number {
    if (this.#at >= this.end) throw tooShort();
    const byte = this.#bytes[this.#at] as number;
    this.#at += 1;
    return byte;
  }

  /** Variable byte integer (1.5.5). */
  number(): number {
    let value = 0;
    for (let shift = 0; shift <= 21; shift += 7) {
      const byte = this.byte();
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    throw new MalformedPacket('A variable byte integer has more than four bytes');
  }

  uint32(): number {
    const at = this.#at;
    this.skip(4);
    return this.#bytes.readUInt32BE(at);
  }

  binary(): Buffer {
    const length = this.byte() * 256 + this.byte();
    const at = this.#at;
    this.skip(length);
    return this.#bytes.subarray(at, this.#at);
  }

  /**
   * Bytes that are no UTF-8, which some brokers pass on, become U+FFFD. A text that then has more bytes than can be
   * written again is truncated.
   */
  string(): string {
    const text = this.binary().toString();
    const isTooLong = text.length > LONGEST_UNITS && Buffer.byteLength(text) > MAX_BYTES;
    return isTooLong ? text.slice(0, LONGEST_UNITS) : text;
  }

  skip(bytes: number): void {
    this.#at += bytes;
    if (this.#at > this.end) throw tooShort();
  }

  /** Also skips binary data, which has the same two-byte length. */
  skipString(): void {
    this.skip(this.byte() * 256 + this.byte());
  }
}

export function subscriptionIdentifiers(properties: PropertyReader): Identifiers {
  let identifiers: number | number[] | undefined;
  while (!properties.isAtEnd) {
    const property = properties.byte();
    const skipped = SKIPPED.get(property);
    if (property === SUBSCRIPTION_IDENTIFIER) {
      const identifier = properties.number();
      if (identifier === 0) throw new MalformedPacket('A PUBLISH has the subscription identifier 0');
      if (identifiers === undefined) identifiers = identifier;
      else if (typeof identifiers === 'number') identifiers = [identifiers, identifier];
      else identifiers.push(identifier);
      continue;
    }
    properties.hasOthers = true;
    if (property === USER_PROPERTY) {
      properties.skipString();
      properties.skipString();
    } else if (skipped === 'string') properties.skipString();
    else if (skipped !== undefined) properties.skip(skipped);
    // [MQTT-3.1.2-26]: this service sends no Topic Alias Maximum.
    else if (property === TOPIC_ALIAS) throw new MalformedPacket('A PUBLISH has a topic alias');
    else throw new MalformedPacket('A PUBLISH has a property that is not allowed');
  }
  return identifiers;
}

export const tooShort = (): MalformedPacket => new MalformedPacket('A packet is shorter than its contents');
