import { FilterTree } from '../../../protocol/mqtt/filter-tree.ts';
import { asBuffer } from '../../log/log-message.ts';
import type { StreamMessage } from '../../streams/model/stream-session.ts';

export interface Published {
  readonly topic: string;
  readonly payload: Uint8Array | string;
  readonly qos: 0 | 1 | 2;
  readonly retain: boolean;
}

type TapListener = (message: StreamMessage) => void;

/** Passes each message once to the listeners with a matching filter. Filters that begin with `$` are not supported. */
export class PublishTap {
  /** Called for each accepted message. It must not throw, publish, or store the payload. */
  watcher: ((published: Published) => void) | null = null;
  readonly #subscriptions = new FilterTree<TapListener>();
  #count = 0;
  #isPaused = false;
  /** Releases held messages: at most those that were read of each client before its reading stopped. */
  #paused: (() => void)[] = [];

  listen(filter: string, listener: TapListener): () => void {
    // A function of its own, because a listener may have the same filter twice.
    const subscription: TapListener = (message) => listener(message);
    this.#subscriptions.add(filter, subscription);
    this.#count += 1;
    let isListening = true;
    return () => {
      if (!isListening) return;
      isListening = false;
      this.#count -= 1;
      this.#subscriptions.remove(filter, subscription);
    };
  }

  /** `null` if no listener matches the topic. Messages of clients are held while the tap is paused. */
  take(published: Published, isOfClient: boolean): TappedMessage | null {
    this.watcher?.(published);
    if (this.#count === 0) return null;
    const subscriptions = this.#subscriptions.match(published.topic);
    if (subscriptions.length === 0) return null;
    const message = new TappedMessage(published, subscriptions);
    if (this.#isPaused && isOfClient) this.#paused.push(message.hold());
    return message;
  }

  /** Does not hold messages of the broker itself, because the caller may wait for them. */
  pause(): void {
    this.#isPaused = true;
  }

  resume(): void {
    this.#isPaused = false;
    const paused = this.#paused;
    this.#paused = [];
    for (const [index, release] of paused.entries()) {
      // A publisher that continues may cause the next pause.
      if (this.#isPaused) {
        this.#paused = paused.slice(index).concat(this.#paused);
        return;
      }
      release();
    }
  }
}

class TappedMessage implements StreamMessage {
  readonly topic: string;
  readonly payload: Buffer;
  readonly qos: 0 | 1 | 2;
  readonly #subscriptions: readonly TapListener[];
  #holds = 1;
  #waiting: (() => void)[] = [];

  constructor({ topic, payload, qos }: Published, subscriptions: readonly TapListener[]) {
    this.topic = topic;
    this.payload = asBuffer(payload);
    this.qos = qos;
    this.#subscriptions = subscriptions;
  }

  readonly hold = (): (() => void) => {
    this.#holds += 1;
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.#release();
    };
  };

  notify(): void {
    for (const notify of this.#subscriptions) notify(this);
    this.#release();
  }

  whenFree(callback: () => void): void {
    if (this.#holds === 0) callback();
    else this.#waiting.push(callback);
  }

  #release(): void {
    this.#holds -= 1;
    if (this.#holds > 0) return;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const callback of waiting) callback();
  }
}
