import type { StreamMessage } from '../../../domains/streams/model/stream-session.ts';
import { FilterTree } from '../../../protocol/mqtt/filter-tree.ts';

export interface Published {
  readonly topic: string;
  readonly payload: Uint8Array | string;
  readonly qos: 0 | 1 | 2;
  readonly retain: boolean;
}

type TapListener = (message: StreamMessage) => void;

/** Everything that is published, once; told to listeners by topic filter, of which none begins with `$`. */
export class PublishTap {
  /**
   * Told of each message as it is taken, below `$` too; null: nobody is. It must not throw, publish, or keep the payload, which may be
   * a part of what was read from a socket.
   */
  watcher: ((published: Published) => void) | null = null;
  readonly #listeners = new FilterTree<{ readonly tell: TapListener }>();
  #count = 0;
  #isPaused = false;
  /** What the pause itself holds: at most what was read of each client before its reading stopped. */
  #waiting: (() => void)[] = [];

  /** Stops when the returned function is called. */
  listen(filter: string, tell: TapListener): () => void {
    const listener = { tell };
    this.#listeners.add(filter, listener);
    this.#count += 1;
    let isListening = true;
    return () => {
      if (!isListening) return;
      isListening = false;
      this.#count -= 1;
      this.#listeners.remove(filter, listener);
    };
  }

  /** Null: nobody listens on its topic. While paused a client waits for the end of the pause, too. */
  take(published: Published, isOfClient: boolean): TappedMessage | null {
    this.watcher?.(published);
    if (this.#count === 0) return null;
    const listeners = this.#listeners.match(published.topic);
    if (listeners.length === 0) return null;
    const message = new TappedMessage(published, listeners);
    if (this.#isPaused && isOfClient) this.#waiting.push(message.hold());
    return message;
  }

  /** What the broker publishes by itself goes on: the one who paused may wait for it. */
  pause(): void {
    this.#isPaused = true;
  }

  resume(): void {
    this.#isPaused = false;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const [index, release] of waiting.entries()) {
      // A publisher that goes on may be the reason for the next pause.
      if (this.#isPaused) {
        this.#waiting = waiting.slice(index).concat(this.#waiting);
        return;
      }
      release();
    }
  }
}

/** One message on its way to those who listen; held from the beginning until they were told. */
export class TappedMessage implements StreamMessage {
  readonly topic: string;
  readonly payload: Buffer;
  readonly qos: 0 | 1 | 2;
  readonly #listeners: readonly { readonly tell: TapListener }[];
  #holds = 1;
  #waiting: (() => void)[] = [];

  constructor({ topic, payload, qos }: Published, listeners: readonly { readonly tell: TapListener }[]) {
    this.topic = topic;
    this.payload = bufferOf(payload);
    this.qos = qos;
    this.#listeners = listeners;
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

  /** Once. */
  tell(): void {
    for (const { tell } of this.#listeners) tell(this);
    this.#release();
  }

  /** Calls when nobody holds it, maybe at once. */
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

function bufferOf(payload: Uint8Array | string): Buffer {
  if (Buffer.isBuffer(payload)) return payload;
  if (typeof payload === 'string') return Buffer.from(payload);
  return Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength);
}
