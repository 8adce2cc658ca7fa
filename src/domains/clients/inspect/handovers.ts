import { TAKE_OVER_KEEPALIVE } from '../../../protocol/mqtt/take-over.ts';
import type { ClientEntry } from './client-entry.ts';
import { CLOSED_BY_CLIENT, type ConnectedLine, type DisconnectedLine } from './log-lines.ts';

/**
 * Lines of the log about connections that replaced each other under one client id, and are not what they seem.
 *
 * A session that we take over for a moment: the line of our connection names us and not the client, and that of its end is not
 * the client's. A replaced WebSocket of 2.0.x is closed when the new connection is up already, and its end is then told without
 * saying which of the two it was.
 *
 * Bound: MAX_REMEMBERED client ids of each kind, the oldest are forgotten.
 */
export class Handovers {
  /** Sessions that we take over, with the port of our connection; null: it has not come yet. */
  readonly #borrowed = new Map<string, number | null>();
  #heldCount = 0;
  /** How many ends of replaced connections are still to be told. */
  readonly #lateEnds = new Map<string, number>();

  /** Our connections to sessions of others. */
  get heldCount(): number {
    return this.#heldCount;
  }

  isBorrowed(clientid: string): boolean {
    return this.#borrowed.has(clientid);
  }

  borrow(clientid: string): void {
    this.#forget(clientid);
    if (this.#borrowed.size >= MAX_REMEMBERED) this.#forget(this.#borrowed.keys().next().value ?? '');
    this.#borrowed.set(clientid, null);
  }

  /** Does nothing once our connection has come: it is over with the line of its end. */
  giveBack(clientid: string): void {
    if (this.#borrowed.get(clientid) === null) this.#forget(clientid);
  }

  isOurs({ clientid, keepalive, clean, port }: ConnectedLine): boolean {
    const held = this.#borrowed.get(clientid);
    if (held === undefined) return false;
    if (held === null && keepalive === TAKE_OVER_KEEPALIVE && !clean) {
      this.#borrowed.set(clientid, port);
      this.#heldCount += 1;
      return true;
    }
    // The client is back, so it has ended ours.
    if (held !== null) this.#forget(clientid);
    return false;
  }

  isOurEnd({ clientid, port }: DisconnectedLine): boolean {
    const held = this.#borrowed.get(clientid);
    if (held === undefined || held === null || (port !== null && port !== held)) return false;
    this.#forget(clientid);
    return true;
  }

  replaced({ clientid, protocol }: ClientEntry): void {
    if (protocol !== 'MQTT-WS') return;
    const before = this.#lateEnds.get(clientid);
    if (before === undefined && this.#lateEnds.size >= MAX_REMEMBERED) {
      this.#lateEnds.delete(this.#lateEnds.keys().next().value ?? '');
    }
    this.#lateEnds.set(clientid, (before ?? 0) + 1);
  }

  /** The end of a connection that was replaced before. */
  isLate({ clientid, port, reason }: DisconnectedLine): boolean {
    const left = this.#lateEnds.get(clientid);
    if (left === undefined || port !== null || reason !== CLOSED_BY_CLIENT) return false;
    if (left > 1) this.#lateEnds.set(clientid, left - 1);
    else this.#lateEnds.delete(clientid);
    return true;
  }

  clear(): void {
    this.#borrowed.clear();
    this.#lateEnds.clear();
    this.#heldCount = 0;
  }

  #forget(clientid: string): void {
    if (typeof this.#borrowed.get(clientid) === 'number') this.#heldCount -= 1;
    this.#borrowed.delete(clientid);
  }
}

const MAX_REMEMBERED = 10_000;
