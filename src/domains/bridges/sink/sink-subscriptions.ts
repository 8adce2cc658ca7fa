import { ServiceError } from '../../../platform/errors.ts';
import type { Stop } from '../../../protocol/mqtt/broker-session.ts';
import { filterMatches } from '../../../protocol/mqtt/filter-match.ts';
import type { ArrivedMessage, BridgeSession } from '../link/bridge-session.ts';
import type { SinkTopic } from './sink.ts';

/** Milliseconds until the broker is asked again that gave no answer though it is connected, and until one that refused. */
const RETRY_MS = 5_000;
const REFUSED_RETRY_MS = 30_000;

export interface SinkSubscriptionsOptions {
  readonly session: BridgeSession;
  readonly onMessage: (message: ArrivedMessage) => void;
  /** `problem` or `isSettled` may have changed. */
  readonly onChange: () => void;
}

interface Entry extends SinkTopic {
  stop: Stop | null;
  isAsked: boolean;
  refusal: string | null;
}

/**
 * The filters that one connection of a bridge is subscribed to. A message that several of them match is told once where the broker
 * says which filter it sends it for, or sends it once (with MQTT 3.1.1 it may come for each).
 */
export class SinkSubscriptions {
  readonly #options: SinkSubscriptionsOptions;
  #entries: readonly Entry[] = [];
  #retry: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(options: SinkSubscriptionsOptions) {
    this.#options = options;
  }

  /** Why the broker sends nothing for some filter; null: it does for all, or is not asked yet. */
  get problem(): string | null {
    return this.#entries.find(({ refusal }) => refusal !== null)?.refusal ?? null;
  }

  /** The broker has answered for each filter. */
  get isSettled(): boolean {
    return this.#entries.every(({ stop, refusal }) => stop !== null || refusal !== null);
  }

  /** What is subscribed to already stays without a gap. */
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

  /** The connection was made: all are asked for in one go, before the broker's messages are read. */
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
