import { ServiceError } from '../../../platform/errors.ts';
import type { Stop } from '../../../protocol/mqtt/broker-session.ts';
import { filterMatches } from '../../../protocol/mqtt/filter-match.ts';
import type { ArrivedMessage, BridgeSession } from '../link/bridge-session.ts';
import type { SinkTopic } from './sink.ts';

/** Pauses before a subscription without a response, and one that was refused, is retried, in milliseconds. */
const RETRY_MS = 5_000;
const REFUSED_RETRY_MS = 30_000;

interface SinkSubscriptionsOptions {
  readonly session: BridgeSession;
  readonly onMessage: (message: ArrivedMessage) => void;
  /** Called when `problem` or `isSettled` may have changed. */
  readonly onChange: () => void;
}

interface Entry extends SinkTopic {
  stop: Stop | null;
  isAsked: boolean;
  refusal: string | null;
}

/**
 * The filters that one connection of a bridge subscribes to. A message that matches several filters is delivered once,
 * if the broker sends it once or with subscription identifiers (with MQTT 3.1.1 it may arrive for each filter).
 */
export class SinkSubscriptions {
  readonly #options: SinkSubscriptionsOptions;
  #entries: readonly Entry[] = [];
  #retry: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(options: SinkSubscriptionsOptions) {
    this.#options = options;
  }

  /** Why the broker refuses a filter; `null` if it refuses none, or has not responded yet. */
  get problem(): string | null {
    return this.#entries.find(({ refusal }) => refusal !== null)?.refusal ?? null;
  }

  /** Whether the broker has responded for each filter. */
  get isSettled(): boolean {
    return this.#entries.every(({ stop, refusal }) => stop !== null || refusal !== null);
  }

  /** Existing subscriptions continue without a gap. */
  want(topics: readonly SinkTopic[]): void {
    const before = this.#entries;
    this.#entries = topics.map(
      ({ filter, qos }) =>
        before.find((entry) => entry.filter === filter && entry.qos === qos) ?? {
          filter,
          qos,
          stop: null,
          isAsked: false,
          refusal: null,
        },
    );
    this.ask();
    for (const entry of before) if (!this.#entries.includes(entry)) entry.stop?.();
  }

  /** The connection was made: subscribes all filters immediately, before messages of the broker are read. */
  ask(): void {
    if (this.#isClosed || this.#options.session.status.state !== 'CONNECTED') return;
    clearTimeout(this.#retry);
    for (const entry of this.#entries) if (entry.stop === null && !entry.isAsked) void this.#subscribe(entry);
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#retry);
  }

  async #subscribe(entry: Entry): Promise<void> {
    const { session } = this.#options;
    entry.isAsked = true;
    try {
      const stop = await session.subscribe(entry.filter, (message) => this.#take(entry, message), {
        qos: entry.qos,
        retained: true,
        onRefused: (error) => this.#refused(entry, error),
      });
      entry.isAsked = false;
      if (this.#entries.includes(entry)) entry.stop = stop;
      else stop();
      entry.refusal = null;
      this.#options.onChange();
    } catch (error) {
      entry.isAsked = false;
      this.#refused(entry, error);
    }
  }

  #refused(entry: Entry, error: unknown): void {
    if (this.#isClosed || !this.#entries.includes(entry)) return;
    entry.stop?.();
    entry.stop = null;
    const isRefusal = error instanceof ServiceError && !UNANSWERED.has(error.code);
    if (isRefusal) {
      entry.refusal = `The broker refuses the subscription to "${entry.filter}": ${error.message}`;
      this.#options.onChange();
    }
    clearTimeout(this.#retry);
    this.#retry = setTimeout(() => this.ask(), isRefusal ? REFUSED_RETRY_MS : RETRY_MS);
  }

  #take(entry: Entry, message: ArrivedMessage): void {
    const owner =
      this.#entries.length === 1
        ? this.#entries[0]
        : this.#entries.find(({ filter, refusal }) => refusal === null && filterMatches(filter, message.topic));
    if (entry === owner) this.#options.onMessage(message);
    else message.taken();
  }
}

const UNANSWERED = new Set(['BROKER_UNREACHABLE', 'BROKER_TIMEOUT']);
