import { PacketQueue, type PausableReader } from './packet-queue.ts';

/**
 * Delays the publishes of one connection until the SUBSCRIBEs before them are in effect. A subscription of a persistent
 * session is in effect when it is on disk, and aedes handles the next packet meanwhile. Without the delay, a client
 * that subscribes and publishes immediately would miss its own message, or the response to its request. Mosquitto
 * delivers it.
 */
export class SubscribeOrder {
  readonly #queue: PacketQueue;
  readonly #pending = new Map<object, () => void>();

  constructor(reader: PausableReader) {
    this.#queue = new PacketQueue(reader);
  }

  /** aedes handles a SUBSCRIBE now, which is identified by its list of subscriptions. */
  began(subscriptions: object): void {
    this.#pending.set(
      subscriptions,
      this.#queue.add(0, () => {}),
    );
  }

  /** The subscriptions are in effect, or refused. */
  settled(subscriptions: object): void {
    const settle = this.#pending.get(subscriptions);
    this.#pending.delete(subscriptions);
    settle?.();
  }

  /** Whether a publish that arrives now has to wait. */
  get isPending(): boolean {
    return !this.#queue.isEmpty;
  }

  /** Calls `run` for a publish of `bytes` bytes after the packets before it. */
  after(bytes: number, run: () => void): void {
    this.#queue.add(bytes, run)();
  }

  /**
   * Called when the connection is closed: aedes completes none of its SUBSCRIBEs. The publishes behind them are still
   * accepted.
   */
  close(): void {
    for (const subscriptions of [...this.#pending.keys()]) this.settled(subscriptions);
  }
}
