import { connectAsync, type IClientOptions } from 'mqtt';
import { expect, onTestFinished } from 'vitest';

/** Where numbers enter, or leave: a topic of a broker. */
interface Place {
  readonly url: string;
  readonly topic: string;
  /** Of the client there. Default: a clean session, and no attempt to connect again. */
  readonly client?: IClientOptions;
}

interface NumbersOptions {
  readonly from: Place;
  readonly to: Place;
  /** Between two messages. Default: 100 ms. */
  readonly periodMs?: number;
}

/** Numbered messages with QoS 1 from one place to another one, by a stream, a bridge or a broker. */
export class Numbers {
  readonly #received = new Map<number, number>();
  readonly #sent = new Map<number, number>();
  #acknowledged = 0;
  duplicates = 0;

  static async start({ from, to, periodMs = 100 }: NumbersOptions): Promise<Numbers> {
    const numbers = new Numbers();
    const [publisher, receiver] = await Promise.all([
      connectAsync(from.url, { reconnectPeriod: 0, ...from.client }),
      connectAsync(to.url, { reconnectPeriod: 0, ...to.client }),
    ]);
    for (const client of [publisher, receiver]) client.on('error', () => undefined);
    receiver.on('message', (_topic, payload) => numbers.#arrived(Number(payload)));
    await receiver.subscribeAsync(to.topic, { qos: 1 });
    const publish = async (text: string) => {
      await publisher.publishAsync(from.topic, text, { qos: 1 });
      numbers.#acknowledged += 1;
    };
    const timer = setInterval(() => numbers.#send((text) => void publish(text).catch(() => undefined)), periodMs);
    numbers.#stopSending = () => clearInterval(timer);
    onTestFinished(async () => {
      clearInterval(timer);
      await Promise.all([publisher.endAsync(true), receiver.endAsync(true)]);
    });
    return numbers;
  }

  #stopSending: () => void = () => undefined;

  /** The numbers of all messages that the first broker has acknowledged, or will. */
  get sent(): readonly number[] {
    return [...this.#sent.keys()];
  }

  /** Resolves when a message that was sent after this call has passed. Returns how long this took. */
  async pass(timeoutMs: number): Promise<number> {
    const from = performance.now();
    const first = this.#sent.size;
    const arrivedAt = () => {
      for (let number = first; number < this.#sent.size; number += 1) {
        const at = this.#received.get(number);
        if (at !== undefined) return at;
      }
      return null;
    };
    await expect.poll(arrivedAt, { timeout: timeoutMs, interval: 20 }).not.toBeNull();
    return (arrivedAt() ?? Number.NaN) - from;
  }

  /** Sends no more, and waits until the first broker has acknowledged every message, and every message has passed. */
  async complete(timeoutMs: number): Promise<void> {
    this.#stopSending();
    await expect.poll(() => this.#acknowledged, { timeout: timeoutMs }).toBe(this.#sent.size);
    const missing = () => [...this.#sent.keys()].filter((number) => !this.#received.has(number));
    await expect.poll(missing, { timeout: timeoutMs }).toEqual([]);
  }

  #send(publish: (text: string) => void): void {
    const number = this.#sent.size;
    this.#sent.set(number, performance.now());
    publish(String(number));
  }

  #arrived(number: number): void {
    if (this.#received.has(number)) this.duplicates += 1;
    else this.#received.set(number, performance.now());
  }
}
