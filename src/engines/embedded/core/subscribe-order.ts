import { PacketQueue, type PausableReader } from './packet-queue.ts';

/**
 * Delays the publishes of a connection until the SUBSCRIBEs before them are in effect, which may wait for the disk.
 * Otherwise a client that subscribes and publishes immediately would miss its own message, unlike with Mosquitto.
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

  settled(subscriptions: object): void {
    const settle = this.#pending.get(subscriptions);
    this.#pending.delete(subscriptions);
    settle?.();
  }

  get isPending(): boolean {
    return !this.#queue.isEmpty;
  }

  after(bytes: number, run: () => void): void {
    this.#queue.add(bytes, run)();
  }

  /** Called when the connection is closed: aedes completes none of its SUBSCRIBEs. */
  close(): void {
    for (const subscriptions of [...this.#pending.keys()]) this.settled(subscriptions);
  }
}
