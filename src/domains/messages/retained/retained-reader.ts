import { setTimeout as delay } from 'node:timers/promises';
import type { BrokerLink } from '../../../protocol/mqtt/broker-link.ts';
import type { BrokerMessage, Stop } from '../../../protocol/mqtt/broker-session.ts';
import type { LeasedLink } from '../../../protocol/mqtt/leased-link.ts';
import { unreachable, whenConnected } from '../../../protocol/mqtt/when-connected.ts';

export interface ReadingBounds {
  readonly messages: number;
  readonly bytes: number;
  readonly ms: number;
}

interface Reading {
  readonly link: LeasedLink;
  readonly filters: readonly string[];
  readonly qos: 0 | 2;
  readonly timeoutMs: number;
  readonly bounds: ReadingBounds;
  /** Whether the broker has the retained message END_MARKER. */
  readonly hasMarker: boolean;
  /** Must copy what it stores of the payload. */
  receive(message: BrokerMessage): void;
  /** Whether nothing more is expected. Default: never. */
  isComplete?(): boolean;
}

export interface ReadingResult {
  /** ALL: the broker has sent all messages that it did not drop. LIMITED: a bound ended the reading. */
  readonly end: 'ALL' | 'LIMITED';
  readonly messages: number;
  readonly bytes: number;
}

/** Embedded brokers and Mosquitto retain it, and send it behind the retained messages of earlier subscriptions. */
export const END_MARKER = '$SYS/broker/version';
/** Brokers without the marker have sent all messages if none arrives in this time and before the next PINGRESP. */
const QUIET_MS = 250;
/** A busy broker may send the marker late, and Mosquitto may have dropped it. */
const MARKED_ROUNDS = 4;
/** SUBSCRIBE packets without SUBACK. */
const BATCH = 100;

/**
 * Reads retained messages with subscriptions on a connection of their own, as of SUBSCRIBE. Live messages are ignored.
 *
 * Mosquitto queues at most 1,000 messages of QoS 1 and 2, and drops the others silently. It also drops messages of
 * QoS 0 while 1,000 packets wait for a slow reader.
 *
 * Errors: BROKER_UNREACHABLE (also if the connection is lost), BROKER_TIMEOUT, NOT_ALLOWED, BROKER_REJECTED.
 */
export async function readRetained(reading: Reading): Promise<ReadingResult> {
  const { link, timeoutMs } = reading;
  const { session, release } = link.acquire();
  const run = new ReadingRun(reading, session);
  let isOver = false;
  try {
    await whenConnected(session, timeoutMs);
    const end = await run.end();
    isOver = end === 'ALL';
    return { end, messages: run.messages, bytes: run.bytes };
  } finally {
    run.stop();
    release();
    // The broker would send the rest.
    if (!isOver) void link.close();
  }
}

class ReadingRun {
  messages = 0;
  bytes = 0;
  readonly #reading: Reading;
  readonly #session: BrokerLink;
  readonly #stops: Stop[] = [];
  #isStopped = false;
  #onMarker: () => void = () => undefined;
  #settle: (end: ReadingResult['end']) => void = () => undefined;

  constructor(reading: Reading, session: BrokerLink) {
    this.#reading = reading;
    this.#session = session;
  }

  end(): Promise<ReadingResult['end']> {
    return new Promise((resolve, reject) => {
      this.#settle = resolve;
      const timer = setTimeout(() => resolve('LIMITED'), this.#reading.bounds.ms);
      this.#stops.push(
        () => clearTimeout(timer),
        this.#session.onStatus((status) => reject(unreachable(status))),
      );
      this.#read().then(resolve, reject);
    });
  }

  stop(): void {
    this.#isStopped = true;
    for (const stop of this.#stops.splice(0)) stop();
  }

  async #read(): Promise<ReadingResult['end']> {
    const { filters, hasMarker } = this.#reading;
    const marked = new Promise<void>((resolve) => {
      this.#onMarker = resolve;
    });
    for (let start = 0; start < filters.length && !this.#isStopped; start += BATCH) {
      const batch = filters.slice(start, start + BATCH);
      // The marker's SUBSCRIBE directly follows the last one.
      const isLast = start + BATCH >= filters.length && hasMarker;
      const granted = batch.map((filter) => this.#subscribe(filter, this.#received));
      if (isLast) this.#subscribe(END_MARKER, this.#markerReceived).catch(() => undefined);
      await Promise.all(granted);
    }
    await Promise.race([marked, this.#quiet()]);
    return 'ALL';
  }

  async #subscribe(filter: string, listener: (message: BrokerMessage) => void): Promise<void> {
    const stop = await this.#session.subscribe(filter, listener, { qos: this.#reading.qos });
    if (this.#isStopped) stop();
    else this.#stops.push(stop);
  }

  readonly #received = (message: BrokerMessage): void => {
    if (!message.retain || this.#isStopped) return;
    const { bounds, receive, isComplete } = this.#reading;
    this.messages += 1;
    this.bytes += message.topic.length + message.payload.length;
    if (this.messages > bounds.messages || this.bytes > bounds.bytes) {
      this.#isStopped = true;
      this.#settle('LIMITED');
      return;
    }
    receive(message);
    if (isComplete?.()) this.#settle('ALL');
  };

  readonly #markerReceived = ({ retain }: BrokerMessage): void => {
    if (retain) this.#onMarker();
  };

  async #quiet(): Promise<void> {
    for (let rounds = this.#reading.hasMarker ? MARKED_ROUNDS : 1; rounds > 0 && !this.#isStopped; ) {
      const before = this.messages;
      await delay(QUIET_MS);
      if (!this.#isStopped) await this.#session.ping();
      rounds = before === this.messages ? rounds - 1 : rounds;
    }
  }
}
