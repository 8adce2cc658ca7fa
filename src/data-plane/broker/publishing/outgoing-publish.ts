import { writePublishProperties } from '../../../protocol/mqtt/publish-properties.ts';
import { asBuffer } from '../../log/log-message.ts';
import { copyOf, type MessageProperties } from '../store/message-properties.ts';

/** Payloads of this size are written without copying. */
const LARGE_BYTES = 16_384;
const PUBLISH = 0x30;
const DUP = 0x08;
const RETAIN = 0x01;

interface Flags {
  readonly qos: 0 | 1 | 2;
  readonly retain: boolean;
  readonly dup: boolean;
}

interface Template {
  /** The whole packet; without the payload if it is large. */
  readonly bytes: Buffer;
  /** Position of the packet id, which is 0; 0 if there is none. */
  readonly idAt: number;
}

/** One message as PUBLISH packets of several clients. What the packets have in common is written once. */
export class OutgoingPublish {
  readonly topic: string;
  readonly properties: MessageProperties | undefined;
  #payload: Buffer;
  readonly #topicBytes: number;
  /** Epoch milliseconds; `null` if the message does not expire. */
  readonly #expiresAt: number | null;
  /** By flags and protocol version, of packets without subscription identifiers. */
  readonly #templates: (Template | undefined)[] = [];

  constructor(topic: string, payload: Uint8Array | string, properties: MessageProperties | undefined) {
    this.topic = topic;
    this.#payload = asBuffer(payload);
    this.properties = properties;
    this.#topicBytes = Buffer.byteLength(topic);
    const interval = properties?.messageExpiryInterval;
    this.#expiresAt = interval === undefined ? null : Date.now() + interval * 1000;
  }

  get payload(): Buffer {
    return this.#payload;
  }

  /** The same message, for memory: it does not keep the buffer of the publisher's socket. */
  kept(): this {
    if (this.#payload.buffer.byteLength > this.#payload.length) this.#payload = copyOf(this.#payload);
    return this;
  }

  /** The message after it has waited, with its remaining expiry interval [MQTT-3.3.2-6]. `null` if it has expired. */
  after(now: number): OutgoingPublish | null {
    const { properties } = this;
    if (properties === undefined || this.#expiresAt === null) return this;
    const messageExpiryInterval = Math.ceil((this.#expiresAt - now) / 1000);
    if (messageExpiryInterval <= 0) return null;
    if (messageExpiryInterval === properties.messageExpiryInterval) return this;
    return new OutgoingPublish(this.topic, this.#payload, { ...properties, messageExpiryInterval });
  }

  /** The payload if it is a chunk of its own behind `head`. */
  get separatePayload(): Buffer | null {
    return this.payload.length >= LARGE_BYTES ? this.payload : null;
  }

  /** The packet, or what comes before `separatePayload`. The bytes may be shared and must not be changed. */
  head(flags: Flags, packetId: number, version: number, identifiers: readonly number[] | null): Buffer {
    const isV5 = version === 5;
    const { bytes, idAt } =
      isV5 && identifiers !== null ? this.#write(flags, true, identifiers) : this.#template(flags, isV5);
    if (idAt === 0) return bytes;
    const packet = Buffer.allocUnsafe(bytes.length);
    packet.set(bytes);
    packet.writeUInt16BE(packetId, idAt);
    return packet;
  }

  #template(flags: Flags, isV5: boolean): Template {
    const key = (firstByte(flags) & 0x0f) | (isV5 ? 0x10 : 0);
    let template = this.#templates[key];
    if (template === undefined) {
      template = this.#write(flags, isV5, null);
      this.#templates[key] = template;
    }
    return template;
  }

  #write(flags: Flags, isV5: boolean, identifiers: readonly number[] | null): Template {
    const properties = isV5 ? this.#propertyBytes(identifiers) : null;
    const { length: payloadBytes } = this.payload;
    const idBytes = flags.qos > 0 ? 2 : 0;
    const length = 2 + this.#topicBytes + idBytes + (properties?.length ?? 0) + payloadBytes;
    const isSeparate = payloadBytes >= LARGE_BYTES;
    const lengthBytes = length < 128 ? 1 : length < 16_384 ? 2 : length < 2_097_152 ? 3 : 4;
    const bytes = Buffer.allocUnsafe(1 + lengthBytes + length - (isSeparate ? payloadBytes : 0));
    bytes[0] = firstByte(flags);
    let at = 1;
    for (let rest = length, index = 0; index < lengthBytes; index += 1, rest >>>= 7) {
      bytes[at++] = index < lengthBytes - 1 ? (rest & 0x7f) | 0x80 : rest;
    }
    at = bytes.writeUInt16BE(this.#topicBytes, at);
    at += bytes.write(this.topic, at);
    const idAt = idBytes > 0 ? at : 0;
    if (idBytes > 0) at = bytes.writeUInt16BE(0, at);
    if (properties) {
      bytes.set(properties, at);
      at += properties.length;
    }
    if (!isSeparate) bytes.set(this.payload, at);
    return { bytes, idAt };
  }

  #propertyBytes(identifiers: readonly number[] | null): Buffer {
    if (this.properties === undefined && identifiers === null) return NO_PROPERTIES;
    return writePublishProperties(this.properties ?? {}, identifiers ?? []);
  }
}

const NO_PROPERTIES = Buffer.alloc(1);

const firstByte = ({ qos, retain, dup }: Flags): number =>
  PUBLISH | (dup ? DUP : 0) | (qos << 1) | (retain ? RETAIN : 0);
