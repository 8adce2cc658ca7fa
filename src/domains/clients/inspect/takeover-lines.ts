import {
  CLOSED_BY_CLIENT,
  type ConnectedLine,
  type DisconnectedLine,
} from '../../../protocol/mosquitto-log/log-line.ts';
import { TAKE_OVER_KEEPALIVE } from '../../../protocol/mqtt/take-over.ts';
import type { ClientEntry } from './client-entry.ts';

/**
 * Recognizes log lines about session takeovers that are not about the client that they name.
 *
 * While this service takes over a session, the connect and disconnect lines are about its own connection. Mosquitto
 * 2.0.x closes a replaced WebSocket after the new connection is up. The log line of this disconnect does not say which
 * of the two connections ended.
 *
 * Bound: MAX_CLIENT_IDS client ids of each kind; the oldest are dropped.
 */
export class TakeoverLines {
  /** Sessions that this service takes over, with the port of its connection; `null` before the connection is logged. */
  readonly #taken = new Map<string, number | null>();
  #ownCount = 0;
  readonly #lateEnds = new Map<string, number>();
  /** Whether the broker logs the end of a replaced WebSocket after the new connection. */
  logsLateEnds = true;

  get ownCount(): number {
    return this.#ownCount;
  }

  isTaken(clientid: string): boolean {
    return this.#taken.has(clientid);
  }

  begin(clientid: string): void {
    this.#forget(clientid);
    if (this.#taken.size >= MAX_CLIENT_IDS) this.#forget(this.#taken.keys().next().value ?? '');
    this.#taken.set(clientid, null);
  }

  /** Ends a takeover that did not connect. A takeover that connected ends with its disconnect line. */
  cancel(clientid: string): void {
    if (this.#taken.get(clientid) === null) this.#forget(clientid);
  }

  isOwnConnect({ clientid, keepalive, clean, port }: ConnectedLine): boolean {
    const ownPort = this.#taken.get(clientid);
    if (ownPort === undefined) return false;
    if (ownPort === null && keepalive === TAKE_OVER_KEEPALIVE && !clean) {
      this.#taken.set(clientid, port);
      this.#ownCount += 1;
      return true;
    }
    // The client has reconnected, which ended the connection of this service.
    if (ownPort !== null) this.#forget(clientid);
    return false;
  }

  isOwnDisconnect({ clientid, port }: DisconnectedLine): boolean {
    const ownPort = this.#taken.get(clientid);
    if (ownPort === undefined || ownPort === null || (port !== null && port !== ownPort)) return false;
    this.#forget(clientid);
    return true;
  }

  replaced({ clientid, protocol }: ClientEntry): void {
    if (protocol !== 'MQTT-WS' || !this.logsLateEnds) return;
    const count = this.#lateEnds.get(clientid);
    if (count === undefined && this.#lateEnds.size >= MAX_CLIENT_IDS) {
      this.#lateEnds.delete(this.#lateEnds.keys().next().value ?? '');
    }
    this.#lateEnds.set(clientid, (count ?? 0) + 1);
  }

  /** Whether the line is the end of a connection that was replaced before. */
  isLateDisconnect({ clientid, port, reason }: DisconnectedLine): boolean {
    const count = this.#lateEnds.get(clientid);
    if (count === undefined || port !== null || reason !== CLOSED_BY_CLIENT) return false;
    if (count > 1) this.#lateEnds.set(clientid, count - 1);
    else this.#lateEnds.delete(clientid);
    return true;
  }

  clear(): void {
    this.#taken.clear();
    this.#lateEnds.clear();
    this.#ownCount = 0;
  }

  #forget(clientid: string): void {
    if (typeof this.#taken.get(clientid) === 'number') this.#ownCount -= 1;
    this.#taken.delete(clientid);
  }
}

const MAX_CLIENT_IDS = 10_000;
