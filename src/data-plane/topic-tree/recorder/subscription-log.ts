import { type LogLine, TAKEN_OVER } from '../../../protocol/mosquitto-log/log-line.ts';
import { LOG_TOPIC, LogReader, VERSION_TOPIC } from '../../../protocol/mosquitto-log/log-reader.ts';
import { filterProblem } from '../../../protocol/mqtt/topics.ts';

interface SubscriptionLogOptions {
  /** Client id of the connection that reads the log. Its own subscriptions show whether the broker logs them. */
  readonly clientId: string;
  readonly ownPrefix: string;
  readonly onSubscribed: (filter: string, qos: 0 | 1 | 2) => void;
  /** Called when no known client is subscribed to the filter any longer. */
  readonly onReleased: (filter: string) => void;
}

/** Topics to which Mosquitto logs subscriptions, and connects and disconnects of clients; and its version. */
export const LOG_FILTERS = [
  `${LOG_TOPIC}M/subscribe`,
  `${LOG_TOPIC}M/unsubscribe`,
  `${LOG_TOPIC}N`,
  VERSION_TOPIC,
] as const;
export const SUBSCRIPTIONS_FILTER = LOG_FILTERS[0];
/** Bounds of the known subscriptions. Further subscriptions are reported, but expire while clients use them. */
const MAX_SUBSCRIPTIONS = 100_000;
const MAX_CHARACTERS = 4_000_000;

/**
 * Subscriptions as reported by Mosquitto's log (`log_type subscribe`, `log_dest topic`), until this connection misses
 * log lines.
 */
export class SubscriptionLog {
  readonly #options: SubscriptionLogOptions;
  readonly #reader = new LogReader();
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
    if (topic === VERSION_TOPIC) this.#reader.version = Buffer.from(payload).toString();
    if (!topic.startsWith(LOG_TOPIC)) return;
    const { clientId, ownPrefix, onSubscribed } = this.#options;
    const isKnown = (id: string) => id === clientId || this.#filtersByClient.has(id);
    const line = this.#reader.read(topic.slice(LOG_TOPIC.length), payload, isKnown);
    if (!('clientid' in line)) return;
    if (line.kind === 'SUBSCRIBED' && line.clientid === clientId) this.hasOwn = true;
    if (line.clientid.startsWith(ownPrefix)) return;
    if (line.kind === 'SUBSCRIBED') {
      const { filter, qos, clientid } = line;
      if (filter === null || filterProblem(filter) !== null) return;
      this.#add(clientid, filter);
      onSubscribed(filter, qos as 0 | 1 | 2);
    } else if (line.kind === 'UNSUBSCRIBED') {
      if (line.filter !== null) this.#remove(line.clientid, line.filter);
    } else if (endsSubscriptions(line)) {
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

/**
 * After an uncertain end the client may still be connected: its filters remain until its next clean session. So do they
 * after a session takeover, which the line of the new connection follows.
 */
function endsSubscriptions(line: LogLine): boolean {
  if (line.kind === 'DISCONNECTED') {
    return (line.ends === 'ADMITTED' || line.ends === 'SESSION') && line.reason !== TAKEN_OVER;
  }
  return line.kind === 'EXPIRED' || (line.kind === 'CONNECTED' && line.clean);
}
