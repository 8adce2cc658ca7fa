import type { Duplex } from 'node:stream';
import type { ConnectOptions } from './connect-options.ts';
import { openStream } from './open-stream.ts';
import { LinkLimitExceeded, largestOf } from './packet-limits.ts';
import { MalformedPacket } from './packet-properties.ts';
import { type PacketListener, PacketReader, type PacketReaderOptions } from './packet-reader.ts';
import type { PacketHolder, ReadingLimits } from './reading-limits.ts';
import { type ReadingTimeLimit, SLICE_MS, type Slice } from './reading-time-limit.ts';

interface PacketStreamOptions extends PacketReaderOptions {
  readonly readingLimits: ReadingLimits;
  readonly onRead?: () => void;
}

/** A listener without interest in the packets of publishing. */
export const IGNORED = { onPublish: () => undefined, onAcknowledgement: () => undefined, onRelease: () => undefined };

/** Packets between two readings of the clock. A power of two. */
const PACKETS_PER_CLOCK_READ = 32;

/**
 * A connection to a broker whose input is parsed within the limits of `readingLimits`. Malformed input and exceeded
 * limits destroy the stream with an error. Errors of the constructor: OpenSSL, for a certificate or key.
 */
export class PacketStream implements PacketHolder {
  readonly stream: Duplex;
  readonly #options: PacketStreamOptions;
  readonly #reader: PacketReader;
  /** Identifies the link over several connections. */
  readonly #key: string;
  #isPaused = false;
  #isWaiting = false;
  #isDiscarding = false;
  #isThrottled = false;
  #frameBytes = 0;
  #packets = 0;
  #readUntil = Number.POSITIVE_INFINITY;
  #sliceMs = 0;
  #endSlice: (isDrained: boolean) => void = () => undefined;

  constructor(connection: ConnectOptions, options: PacketStreamOptions, listener: PacketListener) {
    this.#options = options;
    this.#key = connection.clientId ?? '';
    this.#reader = new PacketReader(options, options.readingLimits.time === null ? listener : this.#timed(listener));
    this.stream = openStream(connection, largestOf(options.limits), (bytes) => {
      this.#frameBytes = bytes;
      if (!this.#isDiscarding) this.#noteUnfinished();
    });
    this.stream.once('close', () => this.discard());
  }

  start(): void {
    this.stream.on('data', (chunk: Buffer) => this.#read(chunk));
    // A WebSocket stream does not close by itself after `end`.
    this.stream.once('end', () => this.stream.destroy());
  }

  pause(): void {
    this.#isPaused = true;
    this.#stop();
  }

  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    // The caller must not receive messages before `resume` returns.
    queueMicrotask(() => this.#continue());
  }

  /** Discards further input without reporting it, so that the end of the connection is still noticed. */
  discard(): void {
    if (this.#isDiscarding) return;
    this.#isPaused = false;
    this.#isDiscarding = true;
    this.#options.readingLimits.unfinished.set(this, 0);
    // `discard` may be called while a packet is reported: the reader must not report the next one.
    this.#reader.pause();
    this.stream.resume();
    this.#endSlice(true);
  }

  cut(reason: LinkLimitExceeded): void {
    this.discard();
    this.stream.destroy(reason);
  }

  #stop(): void {
    this.#reader.pause();
    this.stream.pause();
  }

  #continue(): void {
    if (this.#isPaused || this.#isWaiting || this.#isDiscarding) return;
    this.#read(null);
    if (!this.#isPaused && !this.#isWaiting && !this.#isDiscarding) this.stream.resume();
  }

  #read(chunk: Buffer | null): void {
    if (this.#isDiscarding) return;
    const { time } = this.#options.readingLimits;
    if (time === null) {
      this.#parse(chunk);
      return;
    }
    const leftMs = this.#isThrottled ? SLICE_MS - this.#sliceMs : time.leftMs;
    if (leftMs <= 0) {
      this.#wait();
      // The paused reader stores the chunk.
      if (chunk !== null) this.#reader.read(chunk);
      if (!this.#isThrottled) this.#readNextIteration(time);
      return;
    }
    const startedAt = performance.now();
    this.#readUntil = startedAt + leftMs;
    this.#parse(chunk);
    const usedMs = performance.now() - startedAt;
    time.spend(usedMs);
    if (this.#isDiscarding) return;
    if (this.#isThrottled) {
      this.#sliceMs += usedMs;
      if (this.#sliceMs < SLICE_MS) return;
      this.#wait();
      this.#endSlice(false);
    } else if (!time.charge(this.#key, usedMs)) {
      this.#wait();
      void this.#readInSlices(time);
    } else if (this.#isWaiting) this.#readNextIteration(time);
  }

  #readNextIteration(time: ReadingTimeLimit): void {
    time.nextIteration(() => {
      this.#isWaiting = false;
      this.#continue();
    });
  }

  #parse(chunk: Buffer | null): void {
    try {
      if (chunk === null) this.#reader.resume();
      else this.#reader.read(chunk);
      this.#options.onRead?.();
      if (!this.#isDiscarding) this.#noteUnfinished();
    } catch (error) {
      if (!(error instanceof MalformedPacket || error instanceof LinkLimitExceeded)) throw error;
      this.discard();
      this.stream.destroy(error);
    }
  }

  #noteUnfinished(): void {
    this.#options.readingLimits.unfinished.set(this, this.#reader.unfinishedBytes + this.#frameBytes);
  }

  #wait(): void {
    this.#isWaiting = true;
    this.#stop();
  }

  async #readInSlices(time: ReadingTimeLimit): Promise<void> {
    this.#isThrottled = true;
    let isDrained = false;
    while (!isDrained)
      isDrained = await time.slice(
        this.#key,
        () => this.#slice(),
        () => !this.#isDiscarding,
      );
  }

  #slice(): Promise<Slice> {
    return new Promise((resolve) => {
      let checkedMs = 0;
      let isOver = false;
      this.#endSlice = (isDrained) => {
        if (isOver) return;
        isOver = true;
        if (isDrained) this.#isThrottled = false;
        resolve({ usedMs: this.#sliceMs, isDrained });
      };
      // Bytes that wait in the socket arrive within two event loop iterations.
      const check = () => {
        if (isOver) return;
        if (checkedMs === this.#sliceMs) this.#endSlice(true);
        checkedMs = this.#sliceMs;
        setImmediate(() => setImmediate(check));
      };
      this.#sliceMs = 0;
      this.#isWaiting = false;
      this.#continue();
      setImmediate(() => setImmediate(check));
    });
  }

  #timed(listener: PacketListener): PacketListener {
    const afterPacket = () => {
      this.#packets += 1;
      const isDue = this.#packets % PACKETS_PER_CLOCK_READ === 0 && performance.now() >= this.#readUntil;
      if (isDue && !this.#isDiscarding) this.#wait();
    };
    return {
      onPublish: (packet) => {
        listener.onPublish(packet);
        afterPacket();
      },
      onAcknowledgement: (name, id, reasonCode) => {
        listener.onAcknowledgement(name, id, reasonCode);
        afterPacket();
      },
      onRelease: (id) => {
        listener.onRelease(id);
        afterPacket();
      },
      onOther: (packet) => {
        listener.onOther(packet);
        afterPacket();
      },
    };
  }
}
