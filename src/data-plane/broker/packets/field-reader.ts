import { isUtf8 } from 'node:buffer';
import { invalidName, malformed } from './refused-packet.ts';

const FIRST_PRINTABLE = 0x20;
const LAST_PRINTABLE = 0x7e;
/** Control characters and noncharacters, for which a receiver may close the connection, and Mosquitto does (1.5.4). */
const FORBIDDEN = /[\p{Cc}\p{Noncharacter_Code_Point}]/u;

/** Reads the fields of one packet in order (MQTT 5, 1.5). Errors: RefusedPacket for a malformed or incomplete field. */
export class FieldReader {
  readonly #bytes: Buffer;
  #at: number;
  #end: number;

  constructor(bytes: Buffer, from: number, end: number) {
    this.#bytes = bytes;
    this.#at = from;
    this.#end = end;
  }

  get isAtEnd(): boolean {
    return this.#at === this.#end;
  }

  byte(): number {
    const at = this.#skip(1);
    return this.#bytes[at] as number;
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

  /** A view of the bytes. */
  binary(): Buffer {
    const length = this.uint16();
    const at = this.#skip(length);
    return this.#bytes.subarray(at, at + length);
  }

  text(): string {
    const length = this.uint16();
    const from = this.#skip(length);
    const end = from + length;
    for (let at = from; at < end; at += 1) {
      const byte = this.#bytes[at] as number;
      if (byte < FIRST_PRINTABLE || byte > LAST_PRINTABLE) return textOf(this.#bytes.subarray(from, end));
    }
    return this.#bytes.toString('latin1', from, end);
  }

  /** A topic name. */
  topic(rule: string): string {
    const topic = this.text();
    if (topic.includes('#') || topic.includes('+')) throw invalidName(`${rule}: the topic has a wildcard`, topic);
    return topic;
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

  /** The payload of PUBLISH: a view of the bytes. */
  rest(): Buffer {
    const at = this.#at;
    this.#at = this.#end;
    return this.#bytes.subarray(at, this.#end);
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
function textOf(bytes: Buffer): string {
  if (!isUtf8(bytes)) throw malformed('MQTT-1.5.4-1: a string is not UTF-8');
  const text = bytes.toString();
  if (FORBIDDEN.test(text)) throw malformed('MQTT-1.5.4-2: a string has a character that is not allowed');
  return text;
}
