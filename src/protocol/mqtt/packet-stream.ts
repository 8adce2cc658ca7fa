import type { Duplex } from 'node:stream';
import type { ConnectOptions } from './connect-options.ts';
import type { Intake } from './intake.ts';
import { openStream } from './open-stream.ts';
import { LinkLimitExceeded, largestOf } from './packet-limits.ts';
import { MalformedPacket } from './packet-properties.ts';
import { type PacketListener, PacketReader, type PacketReaderOptions } from './packet-reader.ts';
import { type ReadingTime, SLICE_MS, type Slice } from './reading-time.ts';
import type { PacketHolder } from './unfinished-packets.ts';

export interface PacketStreamOptions extends PacketReaderOptions {
  readonly intake: Intake;
  /** After each chunk. */
  readonly onRead?: () => void;
}

/** The clock is looked at after so many packets (a power of two). */
const PACKETS_PER_LOOK = 32;

/**
 * A connection to a broker whose bytes are read as packets, within the bounds of `intake`. What cannot be read, or is more than is
 * allowed, destroys the stream with the error.
 *
 * Errors of the constructor: a certificate or key that OpenSSL cannot read is thrown.
 */
export class PacketStream implements PacketHolder {
  readonly stream: Duplex;
  readonly #options: PacketStreamOptions;
  readonly #reader: PacketReader;
  /** Of the link: it stays the same over connections. */
  readonly #key: string;
  #isPaused = false;
  /** For its time to read. */
  #isWaiting = false;
  #isDiscarding = false;
  #isThrottled = false;
  /** Of a WebSocket frame that has not come whole. */
  #frameBytes = 0;
  #packets = 0;
  #readUntil = Number.POSITIVE_INFINITY;
  /** Time used in this slice. */
  #sliceMs = 0;
  #endSlice: (isDry: boolean) => void = () => undefined;

  constructor(connection: ConnectOptions, options: PacketStreamOptions, listener: PacketListener) {
    this.#options = options;
    this.#key = connection.clientId ?? '';
    this.#reader = new PacketReader(options, options.intake.time === null ? listener : this.#timed(listener));
    this.stream = openStream(connection, largestOf(options.limits), (bytes) => {
      this.#frameBytes = bytes;
      if (!this.#isDiscarding) this.#noteUnfinished();
    });
    this.stream.once('close', () => this.discard());
  }

  start(): void {
    this.stream.on('data', (chunk: Buffer) => this.#read(chunk));
    // The stream of a WebSocket is not over with its end.
    this.stream.once('end', () => this.stream.destroy());
  }

  /** Nothing more is reported or taken from the broker until `resume`. */
  pause(): void {
    this.#isPaused = true;
    this.#stop();
  }

  /** Goes on with the end of what runs now. */
  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    // Who resumes is in the middle of something, and wants no message there.
    queueMicrotask(() => this.#goOn());
  }

  /** What comes is thrown away, so that the end of the connection is seen. */
  discard(): void {
    if (this.#isDiscarding) return;
    this.#isPaused = false;
    this.#isDiscarding = true;
    this.#options.intake.unfinished.set(this, 0);
    // A packet may be the reason for it: nothing is reported after that one.
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

  #goOn(): void {
    if (this.#isPaused || this.#isWaiting || this.#isDiscarding) return;
    this.#read(null);
    if (!this.#isPaused && !this.#isWaiting && !this.#isDiscarding) this.stream.resume();
  }

  /** Null: goes on with what the reader has. */
  #read(chunk: Buffer | null): void {
    if (this.#isDiscarding) return;
    const { time } = this.#options.intake;
    if (time === null) {
      this.#attempt(chunk);
      return;
    }
    const leftMs = this.#isThrottled ? SLICE_MS - this.#sliceMs : time.leftMs;
    if (leftMs <= 0) {
      this.#wait();
      // The reader is paused, and stores it.
      if (chunk !== null) this.#reader.read(chunk);
      if (!this.#isThrottled) this.#readNextTurn(time);
      return;
    }
    const begun = performance.now();
    this.#readUntil = begun + leftMs;
    this.#attempt(chunk);
    const usedMs = performance.now() - begun;
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
    } else if (this.#isWaiting) this.#readNextTurn(time);
  }

  #readNextTurn(time: ReadingTime): void {
    time.nextTurn(() => {
      this.#isWaiting = false;
      this.#goOn();
    });
  }

  #attempt(chunk: Buffer | null): void {
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
    this.#options.intake.unfinished.set(this, this.#reader.unfinishedBytes + this.#frameBytes);
  }

  #wait(): void {
    this.#isWaiting = true;
    this.#stop();
  }

  async #readInSlices(time: ReadingTime): Promise<void> {
    this.#isThrottled = true;
    let isDry = false;
    while (!isDry)
      isDry = await time.slice(
        this.#key,
        () => this.#slice(),
        () => !this.#isDiscarding,
      );
  }

  #slice(): Promise<Slice> {
    return new Promise((resolve) => {
      let seenMs = 0;
      let isOver = false;
      this.#endSlice = (isDry) => {
        if (isOver) return;
        isOver = true;
        if (isDry) this.#isThrottled = false;
        resolve({ usedMs: this.#sliceMs, isDry });
      };
      // Bytes that wait in the socket come in the turn after the next one at the latest.
      const look = () => {
        if (isOver) return;
        if (seenMs === this.#sliceMs) this.#endSlice(true);
        seenMs = this.#sliceMs;
        setImmediate(() => setImmediate(look));
      };
      this.#sliceMs = 0;
      this.#isWaiting = false;
      this.#goOn();
      setImmediate(() => setImmediate(look));
    });
  }

  #timed(listener: PacketListener): PacketListener {
    const passed = () => {
      this.#packets += 1;
      const isDue = this.#packets % PACKETS_PER_LOOK === 0 && performance.now() >= this.#readUntil;
      if (isDue && !this.#isDiscarding) this.#wait();
    };
    return {
      onPublish: (packet) => {
        listener.onPublish(packet);
        passed();
      },
      onAnswer: (name, id, reasonCode) => {
        listener.onAnswer(name, id, reasonCode);
        passed();
      },
      onRelease: (id) => {
        listener.onRelease(id);
        passed();
      },
      onOther: (packet) => {
        listener.onOther(packet);
        passed();
      },
    };
  }
}
