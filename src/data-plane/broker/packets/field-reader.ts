import { isUtf8 } from 'node:buffer';
import { invalidName, malformed } from './refused-packet.ts';

const HASH = 0x23;
const PLUS = 0x2b;
const FIRST_PRINTABLE = 0x20;
const LAST_PRINTABLE = 0x7e;
/** Control characters and noncharacters, for which a receiver may close the connection, and Mosquitto does (1.5.4). */
const FORBIDDEN = /[\p{Cc}\p{Noncharacter_Code_Point}]/u;

/** Reads the fields of one packet in order (MQTT 5, 1.5). Errors: RefusedPacket for a malformed or incomplete field. */
export class FieldReader {
  readonly #bytes: Buffer;
  #at = 0;
  #end: number;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
    this.#end = bytes.length;
  }

  get isAtEnd(): boolean {
    return this.#at === this.#end;
  }

  byte(): number {
    const at = this.#skip(1);
    return this.#bytes[at] as number;
  }

  /** Clears bits of the byte that was read last. */
  clear(bits: number): void {
    const at = this.#at - 1;
    this.#bytes[at] = (this.#bytes[at] as number) & ~bits;
  }

  uint16(): number {
    const at = this.#skip(2);
    return ((this.#bytes[at] as number) << 8) | (this.#bytes[at + 1] as number);
  }

  uint32(): number {
    return this.#bytes.readUInt32BE(this.#skip(4));
  }

  /** Variable byte integer [MQTT-1.5.5-1]. */
  variable(): number {
    let value = 0;
    for (let shift = 0; shift <= 21; shift += 7) {
      const byte = this.byte();
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    throw malformed('1.5.5: a variable byte integer has more than four bytes');
  }

  /** Returns the number of bytes. */
  binary(): number {
    const length = this.uint16();
    this.#skip(length);
    return length;
  }

  /** Returns the number of bytes. */
  text(): number {
    const from = this.#at + 2;
    const length = this.binary();
    for (let at = from; at < this.#at; at += 1) {
      const byte = this.#bytes[at] as number;
      if (byte < FIRST_PRINTABLE || byte > LAST_PRINTABLE) {
        assertText(this.#bytes.subarray(from, this.#at));
        break;
      }
    }
    return length;
  }

  /** A topic name. Returns the number of bytes. */
  topic(rule: string): number {
    const from = this.#at + 2;
    const length = this.text();
    for (let at = from; at < this.#at; at += 1) {
      const byte = this.#bytes[at];
      if (byte === HASH || byte === PLUS) {
        throw invalidName(`${rule}: the topic has a wildcard`, this.#bytes.toString('utf8', from, this.#at));
      }
    }
    return length;
  }

  string(): string {
    const from = this.#at + 2;
    this.text();
    return this.#bytes.toString('utf8', from, this.#at);
  }

  /** Calls `read` until the next `length` bytes are read, which must end with a field. */
  part(length: number, read: () => void): void {
    const end = this.#end;
    const partEnd = this.#at + length;
    if (partEnd > end) throw incomplete();
    this.#end = partEnd;
    while (this.#at < partEnd) read();
    this.#end = end;
  }

  /** The payload of PUBLISH. */
  skipRest(): void {
    this.#at = this.#end;
  }

  assertEnd(): void {
    if (!this.isAtEnd) throw malformed('2.1.4: the packet is longer than its fields');
  }

  #skip(length: number): number {
    const at = this.#at;
    if (at + length > this.#end) throw incomplete();
    this.#at = at + length;
    return at;
  }
}

const incomplete = () => malformed('2.1.4: the packet is shorter than its fields');

/** [MQTT-1.5.4-1], [MQTT-1.5.4-2]; [MQTT-1.5.3-1], [MQTT-1.5.3-2] of MQTT 3.1.1. */
function assertText(bytes: Buffer): void {
  if (!isUtf8(bytes)) throw malformed('MQTT-1.5.4-1: a string is not UTF-8');
  if (FORBIDDEN.test(bytes.toString())) throw malformed('MQTT-1.5.4-2: a string has a character that is not allowed');
}
