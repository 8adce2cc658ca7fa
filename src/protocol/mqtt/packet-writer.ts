import type { Duplex } from 'node:stream';
import { IterationBatch } from '../../platform/scheduling/iteration-batch.ts';

const PUBLISH = 0x30;
const RETAIN = 0x01;
export const PUBACK = 0x40;
export const PUBREC = 0x50;
export const PUBREL = 0x62;
export const PUBCOMP = 0x70;

/** Most links write little: a slab of the largest size would be most of their memory. */
const MIN_SLAB_BYTES = 512;
const MAX_SLAB_BYTES = 64 * 1024;
/** Payloads of this size are written without copying. Smaller ones are copied into the slab. */
const LARGE_BYTES = 16 * 1024;
/** First byte, four bytes of Remaining Length, topic length, packet identifier, empty properties. */
const MAX_OVERHEAD = 1 + 4 + 2 + 2 + 1;
const NO_PROPERTIES = 1;
const MAX_BYTES_PER_UNIT = 3;

export interface OutgoingPacket {
  readonly topic: string;
  readonly payload: Uint8Array | string;
  readonly qos: 0 | 1 | 2;
  readonly retain: boolean;
  readonly properties?: Buffer | undefined;
}

type Written = (error?: Error | null) => void;

export function publishBytes({ topic, payload, qos, properties }: OutgoingPacket, version: 4 | 5): number {
  const propertyBytes = properties?.length ?? NO_PROPERTIES;
  const length = contentBytes(Buffer.byteLength(topic), payloadBytesOf(payload), qos, version, propertyBytes);
  return 1 + (length < 128 ? 1 : length < 16_384 ? 2 : length < 2_097_152 ? 3 : 4) + length;
}

/** Upper bound of `publishBytes`. Counting the UTF-8 bytes of each packet would cost as much as writing it. */
export const maxPublishBytes = ({ topic, payload, properties }: OutgoingPacket): number =>
  MAX_OVERHEAD + MAX_BYTES_PER_UNIT * (topic.length + payload.length) + (properties?.length ?? 0);

const payloadBytesOf = (payload: Uint8Array | string): number =>
  typeof payload === 'string' ? Buffer.byteLength(payload) : payload.length;

const contentBytes = (
  topicBytes: number,
  payloadBytes: number,
  qos: 0 | 1 | 2,
  version: 4 | 5,
  propertyBytes: number,
): number => 2 + topicBytes + (qos > 0 ? 2 : 0) + (version === 5 ? propertyBytes : 0) + payloadBytes;

/**
 * Writes PUBLISH packets and acknowledgements. All packets of one event loop iteration go into one write, which costs
 * more than everything else for a small message. Callers check `pendingBytes`, the bytes that the peer has not read
 * yet.
 */
export class PacketWriter {
  readonly #stream: Duplex;
  readonly #version: 4 | 5;
  readonly #iterationBatch: IterationBatch;
  #slab = Buffer.allocUnsafe(0);
  #slabBytes = MIN_SLAB_BYTES;
  #from = 0;
  #to = 0;
  #written: Written[] = [];
  #isScheduled = false;
  #isClosed = false;

  constructor(stream: Duplex, version: 4 | 5, iterationBatch = new IterationBatch()) {
    this.#stream = stream;
    this.#version = version;
    this.#iterationBatch = iterationBatch;
  }

  get pendingBytes(): number {
    return this.#stream.writableLength + this.#to - this.#from;
  }

  /** The thread must not pause after this batch: packets wait for an acknowledgement. */
  skipPause(): void {
    this.#iterationBatch.skipEnd();
  }

  /** `onWritten` is called once, when the bytes were passed to the socket or the stream closed. */
  publish({ topic, payload, qos, retain, properties }: OutgoingPacket, id: number, onWritten?: Written): void {
    if (this.#isClosed) {
      onWritten?.(new Error('closed'));
      return;
    }
    const topicBytes = Buffer.byteLength(topic);
    const payloadBytes = payloadBytesOf(payload);
    const isLarge = payloadBytes >= LARGE_BYTES;
    const propertyBytes = properties?.length ?? NO_PROPERTIES;
    this.#reserve(MAX_OVERHEAD + topicBytes + propertyBytes + (isLarge ? 0 : payloadBytes));
    const slab = this.#slab;
    let at = this.#to;
    slab[at++] = PUBLISH | (qos << 1) | (retain ? RETAIN : 0);
    let length = contentBytes(topicBytes, payloadBytes, qos, this.#version, propertyBytes);
    do {
      slab[at++] = length > 127 ? (length & 127) | 128 : length;
      length >>= 7;
    } while (length > 0);
    at = slab.writeUInt16BE(topicBytes, at);
    at += slab.write(topic, at, topicBytes);
    if (qos > 0) at = slab.writeUInt16BE(id, at);
    if (this.#version === 5) {
      if (properties === undefined) slab[at++] = 0;
      else at += properties.copy(slab, at);
    }
    if (isLarge) {
      this.#to = at;
      this.#flush();
      this.#stream.write(payload, onWritten);
      return;
    }
    if (typeof payload === 'string') at += slab.write(payload, at, payloadBytes);
    else {
      slab.set(payload, at);
      at += payloadBytes;
    }
    this.#to = at;
    if (onWritten) this.#written.push(onWritten);
    this.#schedule();
  }

  acknowledge(first: typeof PUBACK | typeof PUBREC | typeof PUBREL | typeof PUBCOMP, id: number): void {
    if (this.#isClosed) return;
    this.#reserve(4);
    const slab = this.#slab;
    slab[this.#to] = first;
    slab[this.#to + 1] = 2;
    this.#to = slab.writeUInt16BE(id, this.#to + 2);
    this.#schedule();
  }

  /** Writes nothing more, except the packets of this event loop iteration if `flush` is true. */
  close(flush: boolean): void {
    if (this.#isClosed) return;
    if (flush) this.#flush();
    this.#isClosed = true;
    for (const onWritten of this.#written.splice(0)) onWritten(new Error('closed'));
  }

  #reserve(bytes: number): void {
    if (this.#slab.length - this.#to >= bytes) return;
    // The size follows the packets of one iteration.
    const size = this.#to > this.#from ? this.#slabBytes * 4 : this.#slabBytes / 2;
    this.#slabBytes = Math.min(MAX_SLAB_BYTES, Math.max(MIN_SLAB_BYTES, size));
    this.#flush();
    this.#slab = Buffer.allocUnsafeSlow(Math.max(this.#slabBytes, bytes));
    this.#from = 0;
    this.#to = 0;
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#iterationBatch.add(this.#endIteration);
  }

  readonly #endIteration = (): void => {
    this.#isScheduled = false;
    if (!this.#isClosed) this.#flush();
  };

  #flush(): void {
    if (this.#to === this.#from) return;
    const chunk = this.#slab.subarray(this.#from, this.#to);
    this.#from = this.#to;
    const written = this.#written;
    if (written.length === 0) {
      this.#stream.write(chunk);
      return;
    }
    this.#written = [];
    this.#stream.write(chunk, (error) => {
      for (const onWritten of written) onWritten(error);
    });
  }
}
