import type { Message, MessagesEvent } from './message-graph.ts';

/** Number of messages that are stored; older ones are dropped. */
export const STORED = 500;
/** Number of topics whose last payload is stored, for differences. */
const COMPARED = 2_000;
const RATE_MS = 5_000;

type Payload = Pick<Message, 'payload' | 'payloadBase64' | 'receivedAt'>;

export interface TailedMessage extends Message {
  readonly key: number;
  readonly filter: string;
  /** The previous payload of the topic. `null` if this is the first one. */
  readonly previous: Payload | null;
}

/** The numbers of one filter. */
export interface FilterStatus {
  readonly filter: string;
  readonly received: number;
  /** Messages that were omitted, because there were too many. */
  readonly leftOut: number;
  /** Messages per second, of the last five seconds. */
  readonly rate: number;
  /** `false`: the service is not connected to the broker. `null` until it is known. */
  readonly isConnected: boolean | null;
  readonly isLive: boolean;
  /** Why nothing is received. */
  readonly problem: string | null;
}

type Counted = FilterStatus & { readonly arrivals: { readonly at: number; readonly count: number }[] };

/** The newest messages of some filters, and the numbers of each filter. */
export class MessageTail {
  #messages: readonly TailedMessage[] = [];
  #key = 0;
  readonly #last = new Map<string, Payload>();
  readonly #filters: Map<string, Counted>;

  constructor(filters: readonly string[]) {
    const status = { received: 0, leftOut: 0, rate: 0, isConnected: null, isLive: false, problem: null };
    this.#filters = new Map(filters.map((filter) => [filter, { filter, ...status, arrivals: [] }]));
  }

  /** Newest first. The list is another one after each change. */
  get messages(): readonly TailedMessage[] {
    return this.#messages;
  }

  statuses(now: number): readonly FilterStatus[] {
    return [...this.#filters.values()].map(({ arrivals, ...status }) => {
      const recent = arrivals.filter(({ at }) => at > now - RATE_MS);
      arrivals.splice(0, arrivals.length - recent.length);
      return { ...status, rate: recent.reduce((sum, { count }) => sum + count, 0) / (RATE_MS / 1_000) };
    });
  }

  receive(filter: string, event: MessagesEvent, now: number): void {
    const count = event.messages.length;
    const before = this.#filters.get(filter);
    if (!before) return;
    // Retained and buffered messages of the first event arrived earlier, so they are no rate.
    if (event.kind === 'CHANGE') before.arrivals.push({ at: now, count: count + event.leftOut });
    this.#change(filter, {
      received: before.received + count,
      leftOut: before.leftOut + event.leftOut + (event.missed ?? 0),
      isConnected: event.isConnected ?? before.isConnected,
      isLive: event.kind !== 'GAP',
      problem: null,
    });
    const stored =
      event.kind === 'SNAPSHOT' ? this.#messages.filter((message) => message.filter !== filter) : this.#messages;
    const added = event.messages.map((message) => this.#tailed(filter, message)).reverse();
    if (added.length > 0 || stored !== this.#messages) this.#messages = [...added, ...stored].slice(0, STORED);
  }

  /** The subscription of a filter has ended. */
  fail(filter: string, problem: string | null): void {
    this.#change(filter, { isLive: false, problem });
  }

  /** The connection to the service is lost. */
  lose(): void {
    for (const filter of this.#filters.keys()) this.#change(filter, { isLive: false });
  }

  #tailed(filter: string, message: Message): TailedMessage {
    const { topic, payload, payloadBase64, receivedAt } = message;
    const previous = this.#last.get(topic) ?? null;
    this.#last.delete(topic);
    this.#last.set(topic, { payload, payloadBase64, receivedAt });
    const [oldest] = this.#last.keys();
    if (this.#last.size > COMPARED && oldest !== undefined) this.#last.delete(oldest);
    this.#key += 1;
    return { ...message, key: this.#key, filter, previous };
  }

  #change(filter: string, changed: Partial<FilterStatus>): void {
    const before = this.#filters.get(filter);
    if (before) this.#filters.set(filter, { ...before, ...changed });
  }
}
