import type { Connection } from './connection.ts';
import { PacketRow } from './packet-row.ts';

/**
 * Keeps the publishes of one connection behind the SUBSCRIBEs that it sent before them. A subscription of a session that stays is
 * in effect only when it is safe, and aedes goes on with the next packet meanwhile: a client that subscribes and publishes at once
 * would miss its own message, or the answer to its request, which in Mosquitto it gets.
 */
export class SubscribeOrder {
  readonly #row: PacketRow;
  readonly #pending = new Map<object, () => void>();

  constructor(connection: Connection) {
    this.#row = new PacketRow(connection);
  }

  /** aedes has come to a SUBSCRIBE, which is known by its list of subscriptions. */
  began(subscriptions: object): void {
    this.#pending.set(
      subscriptions,
      this.#row.add(0, () => {}),
    );
  }

  /** Its subscriptions are in effect, or refused. */
  settled(subscriptions: object): void {
    const settle = this.#pending.get(subscriptions);
    this.#pending.delete(subscriptions);
    settle?.();
  }

  /** Whether a publish that comes now has to wait. */
  get isPending(): boolean {
    return !this.#row.isEmpty;
  }

  /** Calls `run` for a publish of so many bytes, behind what came before it. */
  after(bytes: number, run: () => void): void {
    this.#row.add(bytes, run)();
  }

  /** The connection has ended, and aedes goes on with none of its SUBSCRIBEs: what it published before is still taken in. */
  end(): void {
    for (const subscriptions of [...this.#pending.keys()]) this.settled(subscriptions);
  }
}
