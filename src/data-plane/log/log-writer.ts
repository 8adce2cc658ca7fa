import { setImmediate as nextIteration } from 'node:timers/promises';
import { Backoff } from '../../platform/scheduling/backoff.ts';
import type { DiskLog, LogBatch, LogDisk, WaitingMessage } from './log-disk.ts';
import type { IdRange } from './log-message.ts';

export interface WritingLog extends DiskLog {
  /** Its messages are no longer to be written. */
  readonly isClosed: boolean;
  readonly hasWaiting: boolean;
  /** Removes the oldest messages, at most so many and so many bytes, but at least one if there is any. */
  takeWaiting(messages: number, bytes: number): readonly WaitingMessage[];
  /** Removes the ranges of the messages that are to be deleted. */
  takeSettled(): readonly IdRange[];
  /** The disk does not store what was taken now, for this reason. */
  waits(reason: string): void;
  /** What of a batch that waited is still to be written. */
  again(batch: BatchContent): BatchContent;
  /** The messages are stored, and what was settled is deleted; or with the reason why not. */
  written(messages: readonly WaitingMessage[], problem: string | null): void;
}

export interface BatchContent {
  readonly messages: readonly WaitingMessage[];
  readonly settled: readonly IdRange[];
}

interface Batch extends LogBatch, BatchContent {
  readonly log: WritingLog;
  readonly settled: readonly IdRange[];
}

interface LogWriterOptions {
  readonly disk: LogDisk;
  /** Called when `problem` has changed. */
  readonly onProblem: (problem: string | null) => void;
}

const BACKOFF = { firstMs: 100, longestMs: 5_000 };
/** How long messages are refused without a try after a disk has refused some. */
const REFUSE_MS = 5_000;

/**
 * Writes the messages of all logs of a disk, one commit after the other. Messages that arrive meanwhile join the next
 * one. Deletions take turns with writes, so that what is counted in memory and on disk stays equal.
 *
 * Where a disk has failed, messages are refused with the reason; while a database does not respond, they wait. A
 * message that it refuses for its content is reported and left out.
 */
export class LogWriter {
  readonly #disk: LogDisk;
  readonly #onProblem: LogWriterOptions['onProblem'];
  readonly #logs = new Set<WritingLog>();
  #tasks: (() => Promise<void>)[] = [];
  #running: Promise<void> | null = null;
  readonly #backoff = new Backoff(BACKOFF);
  #refusesUntil = Number.NEGATIVE_INFINITY;
  #cancelPause: (() => void) | null = null;
  #isClosed = false;
  #problem: string | null = null;

  constructor({ disk, onProblem }: LogWriterOptions) {
    this.#disk = disk;
    this.#onProblem = onProblem;
  }

  /** Why messages wait or are refused. `null` if they are written. */
  get problem(): string | null {
    // Nothing was written since the next try was due, so that it is not known whether the disk still fails.
    const isOver = this.#disk.now() > this.#refusesUntil + REFUSE_MS;
    return isOver && this.#refusesUntil > Number.NEGATIVE_INFINITY ? null : this.#problem;
  }

  add(log: WritingLog): void {
    this.#logs.add(log);
    this.#start();
  }

  remove(log: WritingLog): void {
    this.#logs.delete(log);
  }

  /** Runs `work` between two writes. After `close`, it may never resolve. Errors: those of `work`. */
  alone<T>(work: () => T | Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#tasks.push(async () => {
        try {
          resolve(await work());
        } catch (error) {
          reject(error);
        }
      });
      this.#start();
    });
  }

  /** Messages that are not written by then are never reported as done. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancelPause?.();
    await this.#running;
  }

  #start(): void {
    if (!this.#isClosed) this.#running ??= this.#run();
  }

  async #run(): Promise<void> {
    do {
      // What arrives in one iteration of the event loop is committed together.
      await nextIteration();
      await this.#tasks.shift()?.();
      await this.#writeUntilDone(this.#nextBatches());
    } while ((this.#logs.size > 0 || this.#tasks.length > 0) && !this.#isClosed);
    this.#running = null;
  }

  /** The logs take turns: one that has more waiting goes behind the others. */
  #nextBatches(): Batch[] {
    const batches: Batch[] = [];
    let { messages: messagesLeft, bytes: bytesLeft } = this.#disk.maxBatch;
    for (const log of [...this.#logs]) {
      if (messagesLeft <= 0 || bytesLeft <= 0) break;
      const messages = log.takeWaiting(messagesLeft, bytesLeft);
      const settled = log.takeSettled();
      this.#logs.delete(log);
      if (log.hasWaiting) this.#logs.add(log);
      if (messages.length + settled.length === 0) continue;
      batches.push({ log, messages, settled });
      messagesLeft -= messages.length;
      bytesLeft -= messages.reduce((sum, { bytes }) => sum + bytes, 0);
    }
    return batches;
  }

  async #writeUntilDone(given: readonly Batch[]): Promise<void> {
    for (let all = given; ; ) {
      const batches = all.filter(({ log }) => !log.isClosed);
      if (this.#isClosed || batches.length === 0) return;
      if (this.#disk.now() < this.#refusesUntil) return written(batches, this.#problem);
      try {
        await this.#disk.write(batches);
      } catch (error) {
        if (this.#isClosed) return;
        const { verdict, reason } = this.#disk.judge(error);
        if (verdict === 'SPLIT') return this.#writeApart(batches, reason);
        if (verdict === 'FAIL') return this.#refuse(batches, reason);
        if (verdict === 'WAIT') {
          await this.#wait(batches, reason);
          all = batches.map((batch) => ({ log: batch.log, ...batch.log.again(batch) }));
        }
        continue;
      }
      this.#backoff.reset();
      this.#refusesUntil = Number.NEGATIVE_INFINITY;
      this.#set(null);
      return written(batches, null);
    }
  }

  /** One of the messages is refused: writes smaller and smaller batches until it is alone. */
  async #writeApart(batches: readonly Batch[], reason: string): Promise<void> {
    const [only, ...others] = batches;
    const apart = only === undefined || others.length > 0 ? batches : divided(only);
    if (apart.length > 0) for (const batch of apart) await this.#writeUntilDone([batch]);
    else only?.log.written(only.messages, `The database refuses the message: ${reason}`);
  }

  #refuse(batches: readonly Batch[], reason: string): void {
    this.#refusesUntil = this.#disk.now() + REFUSE_MS;
    this.#set(reason);
    written(batches, reason);
  }

  async #wait(batches: readonly Batch[], reason: string): Promise<void> {
    this.#set(reason);
    for (const { log } of batches) log.waits(reason);
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, this.#backoff.next());
      this.#cancelPause = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.#cancelPause = null;
  }

  #set(problem: string | null): void {
    if (problem === this.#problem) return;
    this.#problem = problem;
    this.#onProblem(problem);
  }
}

/** Deletions and messages apart, then the halves of the messages. Nothing if the batch cannot be divided. */
function divided({ log, messages, settled }: Batch): Batch[] {
  const part = (of: Batch['messages']): Batch => ({ log, messages: of, settled: [] });
  if (settled.length > 0 && messages.length > 0) return [{ log, messages: [], settled }, part(messages)];
  const middle = messages.length >> 1;
  return middle === 0 ? [] : [part(messages.slice(0, middle)), part(messages.slice(middle))];
}

/** Messages of a log that another process has taken over are never reported as done. */
function written(batches: readonly Batch[], problem: string | null): void {
  for (const { log, messages } of batches) {
    if (log.owner.isTaken) log.takeWaiting(0, 0);
    else log.written(messages, problem);
  }
}
