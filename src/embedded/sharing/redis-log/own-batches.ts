import { Fifo } from '../../../mqtt/fifo.ts';
import type { LogEntry } from '../shared-log.ts';
import { type BatchHead, encodeBatch, type WrittenEntry, writeEntry } from './batch-codec.ts';

/** Batches that Redis has not answered; what is appended meanwhile goes out together. */
const MOST_UNDER_WAY = 8;

/**
 * What this run of a node appends: all of one turn of the event loop is a batch, and each is kept until it was read back, so that it
 * can be sent again when Redis did not get it, or lost it.
 *
 * Bound: `pendingBytes`, that of those who append.
 */
export class OwnBatches {
  readonly #run: Omit<BatchHead, 'number'>;
  readonly #batchBytes: number;
  readonly #send: (batch: OwnBatch) => void;
  readonly #waiting = new Fifo<OwnBatch>();
  /** By number, in order. */
  readonly #sent = new Map<number, OwnBatch>();
  #open: OpenBatch | null = null;
  #number = 0;
  #underWay = 0;
  #pendingBytes = 0;
  #mayGo = false;
  #flush: NodeJS.Immediate | null = null;
  #ended: Error | null = null;

  /** `send` says `answered` when Redis has the batch. */
  constructor(run: Omit<BatchHead, 'number'>, batchBytes: number, send: (batch: OwnBatch) => void) {
    this.#run = run;
    this.#batchBytes = batchBytes;
    this.#send = send;
  }

  get pendingBytes(): number {
    return this.#pendingBytes;
  }

  get isSuspended(): boolean {
    return !this.#mayGo;
  }

  /** Resolves when the entry's batch is `done`. */
  append(entry: LogEntry): Promise<void> {
    if (this.#ended) return Promise.reject(this.#ended);
    let written: WrittenEntry;
    try {
      written = writeEntry(entry);
    } catch (error) {
      return Promise.reject(error);
    }
    this.#pendingBytes += written.bytes;
    if (this.#open && this.#open.bytes + written.bytes > this.#batchBytes) this.#close();
    this.#open ??= new OpenBatch();
    this.#open.add(written);
    if (this.#mayGo && this.#flush === null) this.#flush = setImmediate(() => this.#go());
    return this.#open.promise;
  }

  /** Redis can be asked; it has all batches up to this number. The others go out again. */
  resume(number: number): void {
    this.#mayGo = true;
    this.#underWay = 0;
    for (const batch of this.#sent.values()) if (batch.number > number) this.#out(batch);
    this.#go();
  }

  /** Nothing goes out before `resume`. */
  suspend(): void {
    this.#mayGo = false;
  }

  /** Redis has one more. */
  answered(): void {
    this.#underWay -= 1;
    this.#go();
  }

  /** One that was read back. Undefined: it was never sent. */
  sent(number: number): OwnBatch | undefined {
    return this.#sent.get(number);
  }

  /** Those who appended it go on. */
  done(batch: OwnBatch): void {
    if (!this.#sent.delete(batch.number)) return;
    this.#pendingBytes -= batch.bytes;
    batch.done();
  }

  /** All that wait are rejected, and whoever appends from now on. */
  end(error: Error): void {
    if (this.#ended) return;
    this.#ended = error;
    this.suspend();
    if (this.#flush) clearImmediate(this.#flush);
    this.#close();
    for (const batch of this.#sent.values()) batch.fail(error);
    for (let batch = this.#waiting.shift(); batch; batch = this.#waiting.shift()) batch.fail(error);
    this.#sent.clear();
    this.#pendingBytes = 0;
  }

  #go(): void {
    if (this.#flush) clearImmediate(this.#flush);
    this.#flush = null;
    while (this.#mayGo && this.#underWay < MOST_UNDER_WAY) {
      if (this.#waiting.size === 0) this.#close();
      const batch = this.#waiting.shift();
      if (!batch) return;
      this.#sent.set(batch.number, batch);
      this.#out(batch);
    }
  }

  #out(batch: OwnBatch): void {
    this.#underWay += 1;
    this.#send(batch);
  }

  #close(): void {
    if (!this.#open) return;
    this.#number += 1;
    this.#waiting.push(new OwnBatch(this.#open, { ...this.#run, number: this.#number }));
    this.#open = null;
  }
}

class OpenBatch {
  readonly entries: WrittenEntry[] = [];
  bytes = 0;
  done: () => void = () => undefined;
  fail: (error: Error) => void = () => undefined;
  readonly promise = new Promise<void>((resolve, reject) => {
    this.done = resolve;
    this.fail = reject;
  });

  constructor() {
    // Not everybody waits; that the node ends is told anyway.
    this.promise.catch(() => undefined);
  }

  add(written: WrittenEntry): void {
    this.entries.push(written);
    this.bytes += written.bytes;
  }
}

export class OwnBatch {
  readonly number: number;
  readonly encoded: Buffer;
  readonly bytes: number;
  readonly entries: readonly WrittenEntry[];
  readonly done: () => void;
  readonly fail: (error: Error) => void;

  constructor({ entries, bytes, done, fail }: OpenBatch, head: BatchHead) {
    this.number = head.number;
    this.encoded = encodeBatch(head, entries);
    this.bytes = bytes;
    this.entries = entries;
    this.done = done;
    this.fail = fail;
  }
}
