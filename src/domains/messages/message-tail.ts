import { Broadcast, type BroadcastEvent } from '../../gateway/live/broadcast.ts';
import type { LiveSource, SubscriberOptions } from '../../gateway/live/live-source.ts';
import { RateLimit } from '../../platform/limits/rate-limit.ts';
import type { BrokerMessage } from '../../protocol/mqtt/broker-session.ts';

export interface TopicMessage {
  readonly topic: string;
  /** Truncated to `maxPayloadBytes` of the tail. */
  readonly payload: Buffer;
  readonly payloadBytes: number;
  readonly qos: 0 | 1 | 2;
  readonly retain: boolean;
  readonly receivedAt: number;
}

export interface TailLimits {
  /** Per second, with bursts of the same size. Further messages are counted in `leftOut`. */
  readonly maxRate: number;
  readonly maxPayloadBytes: number;
}

interface TailSnapshot {
  readonly messages: readonly TopicMessage[];
  readonly isConnected: boolean;
}

interface TailChange extends TailSnapshot {
  readonly leftOut: number;
}

export type TailEvent = BroadcastEvent<TailSnapshot, TailChange>;

/** Interval in which messages are batched into one event. */
const BATCH_MS = 50;
/** Longest delay of the number of omitted messages if no message is sent. */
const LEFT_OUT_MS = 500;
/** Bytes of topics and payloads, independent of `maxRate`. */
const MAX_BYTES_PER_SECOND = 1024 * 1024;
const MAX_BUFFERED_MESSAGES = 100;
const MAX_BUFFERED_BYTES = 256 * 1024;
/** Changes for slow and reconnecting subscribers: seconds of a busy filter, hours of a quiet one. */
const MAX_STORED_BYTES = 4 * 1024 * 1024;

/**
 * A message above `maxRate` is only counted, not copied. The messages sent plus `leftOut` are all messages that
 * arrived. The oldest messages and changes beyond the bounds above are dropped.
 */
export class MessageTail {
  readonly #maxPayloadBytes: number;
  readonly #messages: RateLimit;
  readonly #bytes = new RateLimit({ perSecond: MAX_BYTES_PER_SECOND, burst: MAX_BYTES_PER_SECOND });
  readonly #broadcast = new Broadcast<TailSnapshot, TailChange>(
    () => ({ messages: [...this.#buffer], isConnected: this.#isConnected }),
    { maxWeight: MAX_STORED_BYTES, weigh: weightOf },
  );
  readonly #buffer: TopicMessage[] = [];
  #bufferedBytes = 0;
  #batch: TopicMessage[] = [];
  #leftOut = 0;
  #timer: NodeJS.Timeout | null = null;
  #isConnected = true;

  constructor({ maxRate, maxPayloadBytes }: TailLimits) {
    this.#maxPayloadBytes = maxPayloadBytes;
    this.#messages = new RateLimit({ perSecond: maxRate, burst: maxRate });
  }

  get subscriberCount(): number {
    return this.#broadcast.subscriberCount;
  }

  watch(options: SubscriberOptions): LiveSource<TailEvent> {
    return this.#broadcast.subscribe(options);
  }

  readonly receive = ({ topic, payload, qos, retain }: BrokerMessage): void => {
    const length = Math.min(payload.length, this.#maxPayloadBytes);
    if (this.#messages.take('') > 0 || this.#bytes.take('', topic.length + length) > 0) {
      this.#leftOut += 1;
      this.#timer ??= setTimeout(this.#flush, LEFT_OUT_MS);
      return;
    }
    if (this.#batch.length === 0) {
      if (this.#timer) clearTimeout(this.#timer);
      this.#timer = setTimeout(this.#flush, BATCH_MS);
    }
    this.#batch.push({
      topic,
      // A copy: the payload is a part of the buffer of the socket, which would remain in memory with it.
      payload: Buffer.from(payload.subarray(0, length)),
      payloadBytes: payload.length,
      qos,
      retain,
      receivedAt: Date.now(),
    });
  };

  /** Messages that are published without a connection are missed. */
  connectionChanged(isConnected: boolean): void {
    if (isConnected === this.#isConnected) return;
    if (this.#timer) this.#flush();
    this.#isConnected = isConnected;
    this.#broadcast.publish({ messages: [], leftOut: 0, isConnected });
  }

  close(error?: unknown): void {
    if (this.#timer) this.#flush();
    this.#broadcast.close(error);
  }

  readonly #flush = (): void => {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
    const messages = this.#batch;
    const leftOut = this.#leftOut;
    this.#batch = [];
    this.#leftOut = 0;
    for (const message of messages) this.#store(message);
    this.#broadcast.publish({ messages, leftOut, isConnected: this.#isConnected });
  };

  #store(message: TopicMessage): void {
    this.#buffer.push(message);
    this.#bufferedBytes += weight(message);
    while (this.#buffer.length > MAX_BUFFERED_MESSAGES || this.#bufferedBytes > MAX_BUFFERED_BYTES) {
      const oldest = this.#buffer.shift();
      if (oldest) this.#bufferedBytes -= weight(oldest);
    }
  }
}

/** Approximate memory of a message or an event without topic and payload. */
const OVERHEAD = 200;

const weight = ({ topic, payload }: TopicMessage): number => OVERHEAD + topic.length + payload.length;

const weightOf = ({ messages }: TailChange): number =>
  messages.reduce((sum, message) => sum + weight(message), OVERHEAD);
