import { Backoff, type BackoffTimes } from '../../../platform/scheduling/backoff.ts';
import type { Stop } from '../../../protocol/mqtt/broker-session.ts';
import type { BridgeConnectionState } from '../model/bridge-status.ts';
import type { BridgeQueue } from '../queue/bridge-queue.ts';
import type { QueueEntry } from '../queue/queue-entry.ts';
import { BadBatch, type BatchBounds, type Sink, SinkFailure } from './sink.ts';

/** Eager, because most endpoints come back within a minute; random, because several bridges may have the same one. */
const BACKOFF: BackoffTimes = {
  firstMs: 50,
  longestMs: 10_000,
  eager: { longestMs: 1_000, periodMs: 60_000 },
  jitter: 0.9,
};
/** Maximum milliseconds for a batch in progress when the delivery is closed. */
const CLOSE_MS = 1_500;
/** Maximum pause that an endpoint can request before the next attempt, in milliseconds. */
const LONGEST_RETRY_AFTER_MS = 3_600_000;

interface SinkDeliveryOptions {
  readonly sink: Sink;
  readonly queue: BridgeQueue;
  readonly batch: BatchBounds;
  readonly onState: (state: BridgeConnectionState, error: string | null) => void;
  readonly onDelivered: (delivered: number, rejected: number, reason: string | null) => void;
  /** Called for bugs, which are handled like failures of the sink. */
  readonly onFault: (error: unknown) => void;
}

/**
 * Delivers the messages of the queue to a sink, in order, one batch after the other.
 * A batch that is refused because of a message is retried with half of its messages, down to the message that causes
 * the refusal, which is set aside; then batches grow again. After a failure all messages return to the queue, which
 * stores them on disk. They are sent again in the same batch, so that an idempotency key of the batch stays valid.
 */
export class SinkDelivery {
  readonly #options: SinkDeliveryOptions;
  readonly #stopReady: Stop;
  readonly #running: Promise<void>;
  #size: number;
  #isOpen = false;
  #isClosed = false;
  readonly #backoff = new Backoff(BACKOFF);
  #lost: SinkFailure | null = null;
  #wake: () => void = () => undefined;
  #wanted = 0;

  constructor(options: SinkDeliveryOptions) {
    this.#options = options;
    this.#size = options.batch.maxMessages;
    this.#stopReady = options.queue.onReady(() => this.arrived());
    options.sink.onLost((failure) => {
      if (!this.#isOpen) return;
      this.#lost ??= failure;
      this.#wake();
    });
    this.#running = this.#run();
  }

  arrived(): void {
    if (this.#wanted > 0 && this.#options.queue.length >= this.#wanted) this.#wake();
  }

  /** Waits for a batch in progress, which would otherwise be delivered twice. */
  async close(): Promise<void> {
    const { sink } = this.#options;
    this.#isClosed = true;
    this.#stopReady();
    this.#wake();
    const timer = setTimeout(() => void sink.close(), CLOSE_MS);
    await this.#running;
    clearTimeout(timer);
    await sink.close();
  }

  async #run(): Promise<void> {
    const { sink, queue, onState } = this.#options;
    onState('CONNECTING', null);
    queue.setDelivering(false);
    while (!this.#isClosed) {
      try {
        await this.#deliverAll();
      } catch (error) {
        const failure = this.#failureOf(error);
        this.#isOpen = false;
        queue.setDelivering(false);
        queue.restore();
        await sink.close();
        if (!this.#isClosed) await this.#pause(failure);
      }
    }
    queue.setDelivering(false);
    queue.restore();
  }

  async #deliverAll(): Promise<void> {
    const { sink, queue, onState } = this.#options;
    this.#lost = null;
    await sink.open();
    if (this.#isClosed) return;
    this.#isOpen = true;
    // A sink that only deliveries can prove keeps its last state until the next one.
    let isProven = this.#backoff.failures === 0;
    if (isProven) onState('CONNECTED', null);
    queue.setDelivering(true);
    while (!this.#isClosed) {
      if (this.#lost) throw this.#lost;
      const entries = await this.#nextBatch();
      if (entries.length === 0) {
        if (!isProven && queue.length === 0) isProven = this.#proven();
        await this.#ready();
        continue;
      }
      await this.#deliver(entries);
      if (!isProven) isProven = this.#proven();
    }
  }

  #proven(): true {
    this.#backoff.reset();
    this.#options.onState('CONNECTED', null);
    return true;
  }

  async #nextBatch(): Promise<readonly QueueEntry[]> {
    const { queue, batch } = this.#options;
    const { maxMessages, maxDelayMs, maxBytes } = batch;
    // A batch that is retried is complete, however small it is.
    const waits = maxDelayMs > 0 && this.#size === maxMessages && queue.length > 0 && queue.length < maxMessages;
    if (waits && queue.bytes < maxBytes) {
      // Brokers limit unacknowledged messages; messages on disk are acknowledged.
      queue.setDelivering(false);
      await this.#until(maxMessages, maxDelayMs);
      queue.setDelivering(true);
      if (this.#isClosed || this.#lost) return [];
    }
    return queue.take(this.#size, maxBytes);
  }

  async #deliver(entries: readonly QueueEntry[]): Promise<void> {
    const { sink, queue, batch, onDelivered } = this.#options;
    const messages = entries.map(({ message }) => message);
    try {
      const { rejected, reason } = await sink.deliver(messages);
      for (const entry of entries) queue.settle(entry);
      this.#size = Math.min(batch.maxMessages, Math.max(this.#size, entries.length) * 2);
      onDelivered(entries.length - rejected, rejected, reason);
    } catch (error) {
      if (!(error instanceof BadBatch)) {
        this.#size = entries.length;
        if (error instanceof SinkFailure && error.detail.isTooMuch) this.#size = half(entries.length);
        throw error;
      }
      const [message] = messages;
      const [entry] = entries;
      if (entries.length > 1 || message === undefined || entry === undefined) {
        this.#size = half(entries.length);
        queue.restore();
        return;
      }
      const { rejected, reason } = await sink.setAside(message, error.message);
      queue.settle(entry);
      onDelivered(1 - rejected, rejected, reason);
    }
  }

  #failureOf(error: unknown): SinkFailure {
    if (error instanceof SinkFailure) return error;
    this.#options.onFault(error);
    return new SinkFailure('FAILED', 'It failed in an unexpected way', { cause: error });
  }

  async #pause(failure: SinkFailure): Promise<void> {
    this.#options.onState(failure.state, failure.message);
    const pause = this.#backoff.next();
    const { isFinal, retryAfterMs = 0 } = failure.detail;
    await this.#until(0, isFinal ? null : Math.max(pause, Math.min(retryAfterMs, LONGEST_RETRY_AFTER_MS)));
  }

  #ready(): Promise<void> {
    return this.#until(1, this.#options.queue.length > 0 ? READ_AGAIN_MS : null);
  }

  /**
   * Waits until `messages` messages are queued (0: does not wait for messages), `ms` milliseconds are over, the
   * connection is lost, or this delivery is closed.
   */
  #until(messages: number, ms: number | null): Promise<void> {
    if (this.#isClosed || (this.#isOpen && this.#lost)) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = ms === null ? undefined : setTimeout(() => this.#wake(), ms);
      this.#wanted = messages;
      this.#wake = () => {
        clearTimeout(timer);
        this.#wanted = 0;
        this.#wake = () => undefined;
        resolve();
      };
    });
  }
}

/** The queue has messages and returns none: it reads them from the database, or its disk failed. */
const READ_AGAIN_MS = 1_000;

const half = (count: number): number => Math.max(1, Math.floor(count / 2));
