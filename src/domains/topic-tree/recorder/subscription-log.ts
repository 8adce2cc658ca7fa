import { filterProblem } from '../../../protocol/mqtt/topics.ts';
import { parseLogLine } from '../../clients/inspect/log-lines.ts';

interface SubscriptionLogOptions {
  /** Client id of the connection that reads the log. Its own subscriptions show whether the broker logs them. */
  readonly clientId: string;
  readonly ownPrefix: string;
  readonly onSubscribed: (filter: string, qos: 0 | 1 | 2) => void;
  /** Called when no known client is subscribed to the filter any longer. */
  readonly onReleased: (filter: string) => void;
}

const LOG = '$SYS/broker/log/';
/** Topics to which Mosquitto logs subscriptions, and connects and disconnects of clients. */
export const LOG_FILTERS = [`${LOG}M/subscribe`, `${LOG}M/unsubscribe`, `${LOG}N`] as const;
export const SUBSCRIPTIONS_FILTER = LOG_FILTERS[0];
/** Mosquitto's log lines have at most 1,000 bytes. */
const MAX_LINE_BYTES = 2_000;
/** Bounds of the known subscriptions. Further subscriptions are reported, but expire while clients use them. */
const MAX_SUBSCRIPTIONS = 100_000;
const MAX_CHARACTERS = 4_000_000;

/**
 * Subscriptions as reported by Mosquitto's log (`log_type subscribe`, `log_dest topic`), until this connection misses
 * log lines.
 */
export class SubscriptionLog {
  readonly #options: SubscriptionLogOptions;
  readonly #filtersByClient = new Map<string, Set<string>>();
  /** Number of clients that are subscribed to a filter. */
  readonly #clientsByFilter = new Map<string, number>();
  #count = 0;
  #characters = 0;
  hasOwn = false;

  constructor(options: SubscriptionLogOptions) {
    this.#options = options;
  }

  readonly isSubscribed = (filter: string): boolean => this.#clientsByFilter.has(filter);

  /** Reads a message. Messages that are not log lines are ignored. */
  read(topic: string, payload: Uint8Array): void {
    if (!topic.startsWith(LOG) || payload.length > MAX_LINE_BYTES) return;
    const { clientId, ownPrefix, onSubscribed } = this.#options;
    const line = parseLogLine(
      topic.slice(LOG.length),
      Buffer.from(payload).toString(),
      (id) => id === clientId || this.#filtersByClient.has(id),
    );
    if (line === null || !('clientid' in line)) return;
    if (line.kind === 'SUBSCRIBED' && line.clientid === clientId) this.hasOwn = true;
    if (line.clientid.startsWith(ownPrefix)) return;
    if (line.kind === 'SUBSCRIBED') {
      const { filter, qos, clientid } = line;
      if (filter === null || filterProblem(filter) !== null) return;
      this.#add(clientid, filter);
      onSubscribed(filter, qos as 0 | 1 | 2);
    } else if (line.kind === 'UNSUBSCRIBED') {
      if (line.filter !== null) this.#remove(line.clientid, line.filter);
    } else if (line.kind === 'DISCONNECTED' || line.kind === 'EXPIRED' || (line.kind === 'CONNECTED' && line.clean)) {
      for (const filter of this.#filtersByClient.get(line.clientid) ?? []) this.#remove(line.clientid, filter);
    }
  }

  /** Called when log lines are missed. Discards all known subscriptions. */
  lost(): void {
    for (const [clientid, filters] of this.#filtersByClient)
      for (const filter of filters) this.#remove(clientid, filter);
    this.hasOwn = false;
  }

  #add(clientid: string, filter: string): void {
    const filters = this.#filtersByClient.get(clientid) ?? new Set();
    if (filters.has(filter)) return;
    const characters = clientid.length + filter.length;
    if (this.#count === MAX_SUBSCRIPTIONS || this.#characters + characters > MAX_CHARACTERS) return;
    this.#count += 1;
    this.#characters += characters;
    this.#filtersByClient.set(clientid, filters.add(filter));
    this.#clientsByFilter.set(filter, (this.#clientsByFilter.get(filter) ?? 0) + 1);
  }

  #remove(clientid: string, filter: string): void {
    const filters = this.#filtersByClient.get(clientid);
    if (!filters?.delete(filter)) return;
    if (filters.size === 0) this.#filtersByClient.delete(clientid);
    this.#count -= 1;
    this.#characters -= clientid.length + filter.length;
    const clients = (this.#clientsByFilter.get(filter) ?? 1) - 1;
    if (clients > 0) this.#clientsByFilter.set(filter, clients);
    else {
      this.#clientsByFilter.delete(filter);
      this.#options.onReleased(filter);
    }
  }
}
