import { Broadcast, type BroadcastEvent } from '../../gateway/live/broadcast.ts';
import type { LiveSource, SubscriberOptions } from '../../gateway/live/live-source.ts';
import type { BrokerMessage } from '../../protocol/mqtt/broker-session.ts';
import { TokenBucket } from './token-bucket.ts';

/** A message of a broker as a tail tells it. */
export interface TopicMessage {
  readonly topic: string;
  /** At most as many bytes as the tail tells. */
  readonly payload: Buffer;
  /** Bytes of the whole payload. */
  readonly payloadBytes: number;
  readonly qos: 0 | 1 | 2;
  readonly retain: boolean;
  /** Epoch milliseconds. */
  readonly receivedAt: number;
}

export interface TailLimits {
  /** Messages told each second; as many may come at once. */
  readonly maxRate: number;
  /** Bytes of a payload that are told. */
  readonly maxPayloadBytes: number;
}

export interface TailSnapshot {
  /** The last ones, oldest first. */
  readonly messages: readonly TopicMessage[];
  readonly isConnected: boolean;
}

export interface TailChange extends TailSnapshot {
  /** Messages that are not told, since the change before. */
  readonly leftOut: number;
}

export type TailEvent = BroadcastEvent<TailSnapshot, TailChange>;

/** Messages of so long a time ride in one event. */
const BATCH_MS = 50;
/** What is left out while nothing is told waits so long. */
const LEFT_OUT_MS = 500;
/** Bytes of topics and payloads told each second, whatever `maxRate` allows. */
const MAX_BYTES_PER_SECOND = 1024 * 1024;
const MAX_HELD_MESSAGES = 100;
const MAX_HELD_BYTES = 256 * 1024;
/** Bytes of the changes that are kept for those who read slowly or come back: seconds of a busy filter, hours of a quiet one. */
const MAX_KEPT_BYTES = 4 * 1024 * 1024;

/**
 * The messages that come for one topic filter, told with limits to any number of subscribers.
 *
 * A message above `maxRate` costs a look at the clock and a count: nothing of it is copied. Told and left out together are all
 * that came. Bounds: MAX_HELD_MESSAGES and MAX_HELD_BYTES are held for the next snapshot, and changes of MAX_KEPT_BYTES for all
 * subscribers together; the oldest are dropped.
 */
export class MessageTail {
  readonly #maxPayloadBytes: number;
  readonly #messages: TokenBucket;
  readonly #bytes: TokenBucket;
  readonly #broadcast = new Broadcast<TailSnapshot, TailChange>(
    () => ({ messages: [...this.#held], isConnected: this.#isConnected }),
    { maxWeight: MAX_KEPT_BYTES, weigh: weightOf },
  );
  readonly #held: TopicMessage[] = [];
  #heldBytes = 0;
  #batch: TopicMessage[] = [];
  #leftOut = 0;
  #timer: NodeJS.Timeout | null = null;
  #isConnected = true;

  constructor({ maxRate, maxPayloadBytes }: TailLimits) {
    const now = performance.now();
    this.#maxPayloadBytes = maxPayloadBytes;
    this.#messages = new TokenBucket(maxRate, now);
    this.#bytes = new TokenBucket(MAX_BYTES_PER_SECOND, now);
  }

  get subscriberCount(): number {
    return this.#broadcast.subscriberCount;
  }

  watch(options: SubscriberOptions): LiveSource<TailEvent> {
    return this.#broadcast.subscribe(options);
  }

  readonly receive = ({ topic, payload, qos, retain }: BrokerMessage): void => {
    const now = performance.now();
    const told = Math.min(payload.length, this.#maxPayloadBytes);
    if (!this.#messages.take(1, now) || !this.#bytes.take(topic.length + told, now)) {
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
      // A copy: the payload is a part of what came from the socket at once, which would be kept with it.
      payload: Buffer.from(payload.subarray(0, told)),
      payloadBytes: payload.length,
      qos,
      retain,
      receivedAt: Date.now(),
    });
  };

  /** Whether messages come at present; what is published meanwhile is missed. */
  connectionChanged(isConnected: boolean): void {
    if (isConnected === this.#isConnected) return;
    if (this.#timer) this.#flush();
    this.#isConnected = isConnected;
    this.#broadcast.publish({ messages: [], leftOut: 0, isConnected });
  }

  /** Ends all subscribers' streams, with the error if there is one. */
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
    for (const message of messages) this.#hold(message);
    this.#broadcast.publish({ messages, leftOut, isConnected: this.#isConnected });
  };

  #hold(message: TopicMessage): void {
    this.#held.push(message);
    this.#heldBytes += weight(message);
    while (this.#held.length > MAX_HELD_MESSAGES || this.#heldBytes > MAX_HELD_BYTES) {
      const oldest = this.#held.shift();
      if (oldest) this.#heldBytes -= weight(oldest);
    }
  }
}

/** What a message or an event takes besides its texts, about. */
const OVERHEAD = 200;

const weight = ({ topic, payload }: TopicMessage): number => OVERHEAD + topic.length + payload.length;

const weightOf = ({ messages }: TailChange): number =>
  messages.reduce((sum, message) => sum + weight(message), OVERHEAD);
