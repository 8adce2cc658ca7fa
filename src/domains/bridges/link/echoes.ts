import { createHash } from 'node:crypto';

/** Milliseconds after which a message that was published is not expected to come back any more. */
const PATIENCE_MS = 30_000;
/** Bound: the oldest are forgotten, and would be taken for other clients' messages. */
const MOST = 100_000;

interface Expected {
  count: number;
  until: number;
}

/**
 * What a connection of MQTT 3.1.1 published where it is subscribed, too: the broker sends it back, as often as it was published, and says
 * not whose it was. Of several messages with the same topic and content it does not matter which one is taken for the connection's own:
 * the others are passed on. One that never comes back makes an equal one be missed in the next PATIENCE_MS at most.
 */
export class Echoes {
  /** In the order in which they were published last. */
  readonly #expected = new Map<string, Expected>();
  readonly #now: () => number;

  /** `now`: milliseconds, of any beginning. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  expect(topic: string, payload: Buffer): void {
    const key = keyOf(topic, payload);
    const expected = this.#expected.get(key) ?? { count: 0, until: 0 };
    expected.count += 1;
    expected.until = this.#now() + PATIENCE_MS;
    this.#expected.delete(key);
    this.#expected.set(key, expected);
    for (const [oldest, { until }] of this.#expected) {
      if (until > this.#now() && this.#expected.size <= MOST) break;
      this.#expected.delete(oldest);
    }
  }

  /** Whether the message, not one that the broker kept, is one of those; each counts once. */
  isEcho(topic: string, payload: Buffer): boolean {
    if (this.#expected.size === 0) return false;
    const key = keyOf(topic, payload);
    const expected = this.#expected.get(key);
    if (expected === undefined) return false;
    expected.count -= 1;
    if (expected.count === 0 || expected.until <= this.#now()) this.#expected.delete(key);
    return expected.until > this.#now();
  }

  /** The broker forgot the session, and what it would have sent. */
  clear(): void {
    this.#expected.clear();
  }
}

const keyOf = (topic: string, payload: Buffer): string =>
  `${createHash('sha1').update(payload).digest('base64')}${topic}`;
