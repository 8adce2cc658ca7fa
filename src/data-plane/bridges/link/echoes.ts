import { createHash } from 'node:crypto';

const EXPECTED_MS = 30_000;
/** Maximum number of expected messages. Beyond it, the oldest are evicted, and count as messages of other clients. */
const MAX_EXPECTED = 100_000;

interface Expected {
  count: number;
  until: number;
}

/**
 * Messages that a connection of MQTT 3.1.1 published to topics that it also subscribes. The broker sends them back,
 * without their publisher. Among several messages with the same topic and payload, it does not matter which one counts
 * as the connection's own, since the others are forwarded. A message that is never sent back causes an equal one to be
 * missed within EXPECTED_MS.
 */
export class Echoes {
  readonly #expected = new Map<string, Expected>();

  expect(topic: string, payload: Buffer): void {
    const key = keyOf(topic, payload);
    const expected = this.#expected.get(key) ?? { count: 0, until: 0 };
    expected.count += 1;
    expected.until = performance.now() + EXPECTED_MS;
    this.#expected.delete(key);
    this.#expected.set(key, expected);
    for (const [oldest, { until }] of this.#expected) {
      if (until > performance.now() && this.#expected.size <= MAX_EXPECTED) break;
      this.#expected.delete(oldest);
    }
  }

  /** Whether the message, which is not retained, is an expected one; each counts once. */
  isEcho(topic: string, payload: Buffer): boolean {
    if (this.#expected.size === 0) return false;
    const key = keyOf(topic, payload);
    const expected = this.#expected.get(key);
    if (expected === undefined) return false;
    expected.count -= 1;
    if (expected.count === 0 || expected.until <= performance.now()) this.#expected.delete(key);
    return expected.until > performance.now();
  }

  clear(): void {
    this.#expected.clear();
  }
}

const keyOf = (topic: string, payload: Buffer): string =>
  `${createHash('sha1').update(payload).digest('base64')}${topic}`;
