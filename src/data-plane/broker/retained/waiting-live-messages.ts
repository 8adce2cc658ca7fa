import type { ClientCopy } from '../delivery/sent-messages.ts';

/** Memory of one message without its topic and payload. */
const MESSAGE_BYTES = 512;

/** Live messages of a client that is getting retained messages of new subscriptions, which are sent first. */
export class WaitingLiveMessages {
  /** Number of requests for retained messages that are not complete. */
  requests = 0;
  /** Whether the queue of the session also has messages that wait. */
  hasQueued = false;
  /** Called once when the client has acknowledged a message. */
  onSettled: (() => void) | null = null;
  bytes = 0;
  isOver = false;
  #copies: ClientCopy[] = [];
  #next = 0;
  readonly #count: (bytes: number) => void;

  /** `count` is called with the bytes that are added, and with negative ones. */
  constructor(count: (bytes: number) => void) {
    this.#count = count;
  }

  add(copy: ClientCopy): void {
    this.#copies.push(copy);
    this.#grow(bytesOf(copy));
  }

  shift(): ClientCopy | undefined {
    const copy = this.#copies[this.#next];
    if (!copy) return undefined;
    this.#next += 1;
    this.#grow(-bytesOf(copy));
    // New messages may come for as long as the earlier ones are sent.
    if (this.#next * 2 > this.#copies.length) {
      this.#copies = this.#copies.slice(this.#next);
      this.#next = 0;
    }
    return copy;
  }

  /** Called when the connection has ended. */
  close(): void {
    this.isOver = true;
    this.#copies = [];
    this.#next = 0;
    this.#grow(-this.bytes);
    this.settled();
  }

  settled(): void {
    const { onSettled } = this;
    this.onSettled = null;
    onSettled?.();
  }

  #grow(bytes: number): void {
    this.bytes += bytes;
    this.#count(bytes);
  }
}

const bytesOf = ({ message }: ClientCopy): number => MESSAGE_BYTES + message.topic.length + message.payload.length;
