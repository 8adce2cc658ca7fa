import { ServiceError } from '../../../platform/errors.ts';
import type { Stop } from '../../../protocol/mqtt/broker-session.ts';
import { filterMatches } from '../../../protocol/mqtt/filter-match.ts';
import type { ArrivedMessage, MqttBridgeSession } from './mqtt-bridge-session.ts';

/** Pauses before a filter that the broker refused is subscribed again, and one without a response, in milliseconds. */
const REFUSED_MS = 30_000;
const UNANSWERED_MS = 5_000;

export interface SourceFilter {
  readonly filter: string;
  readonly qos: 0 | 1 | 2;
  readonly retained: boolean;
}

interface SourceSubscriptionsOptions<Source extends SourceFilter> {
  readonly session: MqttBridgeSession;
  readonly onMessage: (message: ArrivedMessage, source: Source) => void;
  readonly onChange: () => void;
}

interface Entry<Source> {
  readonly source: Source;
  stop: Stop | null;
  isInProgress: boolean;
  refusal: string | null;
}

/** Keeps filters of a bridge subscribed at one broker. Filters that are refused or time out are retried. */
export class SourceSubscriptions<Source extends SourceFilter> {
  readonly #options: SourceSubscriptionsOptions<Source>;
  #entries: readonly Entry<Source>[] = [];
  #retry: NodeJS.Timeout | null = null;
  #isClosed = false;

  constructor(options: SourceSubscriptionsOptions<Source>) {
    this.#options = options;
  }

  get refusal(): { readonly filter: string; readonly reason: string } | null {
    for (const { source, refusal } of this.#entries)
      if (refusal !== null) return { filter: source.filter, reason: refusal };
    return null;
  }

  /** Whether each filter was granted. Filters of a resumed session count as granted. */
  get isComplete(): boolean {
    return this.#entries.every(({ stop }) => stop !== null);
  }

  matching(topic: string): Source | undefined {
    const [first] = this.#entries;
    if (this.#entries.length === 1) return first?.source;
    return this.#entries.find(({ source, refusal }) => refusal === null && filterMatches(source.filter, topic))?.source;
  }

  /** Replaces the filters. Unchanged subscriptions continue without a gap. */
  want(sources: readonly Source[]): void {
    const before = this.#entries;
    const byKey = new Map(before.map((entry) => [keyOf(entry.source), entry]));
    this.#entries = sources.map(
      (source) => byKey.get(keyOf(source)) ?? { source, stop: null, isInProgress: false, refusal: null },
    );
    this.subscribe();
    const wanted = new Set(this.#entries);
    for (const entry of before) if (!wanted.has(entry)) entry.stop?.();
  }

  /** The connection was made: subscribes all filters immediately, before messages of an earlier session are read. */
  subscribe(): void {
    if (this.#isClosed || this.#options.session.status.state !== 'CONNECTED') return;
    for (const entry of this.#entries) if (entry.stop === null && !entry.isInProgress) void this.#subscribe(entry);
  }

  /** Delivers no further messages. The filters remain in the session. */
  close(): void {
    this.#isClosed = true;
    if (this.#retry) clearTimeout(this.#retry);
  }

  async #subscribe(entry: Entry<Source>): Promise<void> {
    const { session, onMessage, onChange } = this.#options;
    const { source } = entry;
    const { qos, retained } = source;
    entry.isInProgress = true;
    try {
      const stop = await session.subscribe(source.filter, (message) => onMessage(message, source), {
        qos,
        retained,
        onRefused: (error) => this.#failed(entry, error),
      });
      if (this.#entries.includes(entry)) entry.stop = stop;
      else stop();
      const wasRefused = entry.refusal !== null;
      entry.refusal = null;
      if (wasRefused || this.isComplete) onChange();
    } catch (error) {
      this.#failed(entry, error);
    } finally {
      entry.isInProgress = false;
    }
  }

  /** Also called when the broker granted the filter, and refused it after a reconnect. */
  #failed(entry: Entry<Source>, error: unknown): void {
    if (this.#isClosed || !this.#entries.includes(entry)) return;
    entry.stop?.();
    entry.stop = null;
    const isRefused = error instanceof ServiceError && !UNANSWERED.has(error.code);
    if (isRefused) {
      entry.refusal = error.message;
      this.#options.onChange();
    }
    this.#retry ??= setTimeout(
      () => {
        this.#retry = null;
        this.subscribe();
      },
      isRefused ? REFUSED_MS : UNANSWERED_MS,
    );
  }
}

const UNANSWERED = new Set(['BROKER_UNREACHABLE', 'BROKER_TIMEOUT']);

const keyOf = ({ filter, qos, retained }: SourceFilter): string => `${qos}${retained}${filter}`;
