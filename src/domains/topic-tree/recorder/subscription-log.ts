import { filterProblem } from '../../../protocol/mqtt/topics.ts';
import { parseLogLine } from '../../clients/inspect/log-lines.ts';

export interface SubscriptionLogOptions {
  /** Of the connection that reads the log: its own subscriptions show whether the broker tells of any. */
  readonly clientId: string;
  /** Client ids that begin so are ours, and what they subscribe to is nothing that somebody wants to see. */
  readonly ownPrefix: string;
  readonly onSubscribed: (filter: string, qos: 0 | 1 | 2) => void;
  /** Nobody holds it any more, as far as is known. */
  readonly onReleased: (filter: string) => void;
}

const LOG = '$SYS/broker/log/';
/** Where Mosquitto tells of subscriptions, and of clients that come and go. */
export const LOG_FILTERS = [`${LOG}M/subscribe`, `${LOG}M/unsubscribe`, `${LOG}N`] as const;
export const SUBSCRIPTIONS_FILTER = LOG_FILTERS[0];
/** No line of Mosquitto is longer than a thousand bytes. */
const LONGEST_BYTES = 2_000;
/** Filters that clients are known to hold, and characters of their names: beyond these they are told of, and expire while they are held. */
const MOST_HELD = 100_000;
const MOST_CHARACTERS = 4_000_000;

/**
 * Subscriptions as Mosquitto's log tells of them (`log_type subscribe`, told on topics with `log_dest topic`). Who holds a filter is
 * known from its subscription on, until it ends it, disconnects, or this connection misses lines.
 */
export class SubscriptionLog {
  readonly #options: SubscriptionLogOptions;
  /** By client id. */
  readonly #held = new Map<string, Set<string>>();
  /** Clients that hold a filter. */
  readonly #holders = new Map<string, number>();
  #count = 0;
  #characters = 0;
  #hasOwn = false;

  constructor(options: SubscriptionLogOptions) {
    this.#options = options;
  }

  /** The broker has told of a subscription of this connection. */
  get hasOwn(): boolean {
    return this.#hasOwn;
  }

  readonly isHeld = (filter: string): boolean => this.#holders.has(filter);

  /** Of a message; others than lines of the log are ignored. */
  read(topic: string, payload: Uint8Array): void {
    if (!topic.startsWith(LOG) || payload.length > LONGEST_BYTES) return;
    const { clientId, ownPrefix, onSubscribed } = this.#options;
    const line = parseLogLine(
      topic.slice(LOG.length),
      Buffer.from(payload).toString(),
      (id) => id === clientId || this.#held.has(id),
    );
    if (line === null || !('clientid' in line)) return;
    if (line.kind === 'SUBSCRIBED' && line.clientid === clientId) this.#hasOwn = true;
    if (line.clientid.startsWith(ownPrefix)) return;
    if (line.kind === 'SUBSCRIBED') {
      const { filter, qos, clientid } = line;
      if (filter === null || filterProblem(filter) !== null) return;
      this.#hold(clientid, filter);
      onSubscribed(filter, qos as 0 | 1 | 2);
    } else if (line.kind === 'UNSUBSCRIBED') {
      if (line.filter !== null) this.#release(line.clientid, line.filter);
    } else if (line.kind === 'DISCONNECTED' || line.kind === 'EXPIRED' || (line.kind === 'CONNECTED' && line.clean)) {
      for (const filter of this.#held.get(line.clientid) ?? []) this.#release(line.clientid, filter);
    }
  }

  /** Lines are missed from now on: what is held is not known any more. */
  lost(): void {
    for (const [clientid, filters] of this.#held) for (const filter of filters) this.#release(clientid, filter);
    this.#hasOwn = false;
  }

  #hold(clientid: string, filter: string): void {
    const filters = this.#held.get(clientid) ?? new Set();
    if (filters.has(filter)) return;
    const characters = clientid.length + filter.length;
    if (this.#count === MOST_HELD || this.#characters + characters > MOST_CHARACTERS) return;
    this.#count += 1;
    this.#characters += characters;
    this.#held.set(clientid, filters.add(filter));
    this.#holders.set(filter, (this.#holders.get(filter) ?? 0) + 1);
  }

  #release(clientid: string, filter: string): void {
    const filters = this.#held.get(clientid);
    if (!filters?.delete(filter)) return;
    if (filters.size === 0) this.#held.delete(clientid);
    this.#count -= 1;
    this.#characters -= clientid.length + filter.length;
    const holders = (this.#holders.get(filter) ?? 1) - 1;
    if (holders > 0) this.#holders.set(filter, holders);
    else {
      this.#holders.delete(filter);
      this.#options.onReleased(filter);
    }
  }
}
