import { Broadcast, type BroadcastEvent } from '../../gateway/live/broadcast.ts';
import type { LiveSource, SubscriberOptions } from '../../gateway/live/live-source.ts';
import type { BrokerSession, Stop } from '../../protocol/mqtt/broker-session.ts';
import { type BrokerMetrics, type BrokerNumbers, ratesBetween, readNumbers } from './broker-metrics.ts';
import type { SysBurst, SysTopics } from './sys-topics.ts';

interface BrokerMetricsState {
  readonly isConnected: boolean;
  /** The last metrics, also after the connection is lost; `null` if there are none since the settings changed. */
  readonly metrics: BrokerMetrics | null;
  /** Which topics below $SYS this service may not read; `null` if the broker refused none. */
  readonly reason: string | null;
}

export type BrokerMetricsEvent = BroadcastEvent<BrokerMetricsState, BrokerMetricsState>;

/** The numbers of a burst, at most one in nine seconds. */
export interface BrokerSample {
  readonly numbers: BrokerNumbers;
  /** Whether the broker was connected, and published at its usual intervals, since the sample before. */
  readonly isContinued: boolean;
}

export interface BrokerMetricsFeedOptions {
  readonly onSample?: (sample: BrokerSample) => void;
  /** Minimum time without values until metrics are stale, in milliseconds. Default: 30,000. */
  readonly silenceMs?: number;
}

type SysSource = Pick<SysTopics, 'onBurst' | 'valueOf' | 'onProblem' | 'problem'>;

/** Metrics are stale if the broker skips this many of its usual intervals. */
const MISSED_INTERVALS = 3;
/** Changes stored for subscribers that reconnect, of two minutes. A change has 1 kB. */
const MAX_STORED_CHANGES = 12;
/** Values that arrive this soon after a burst belong to it, in milliseconds. */
const BURST_MS = 500;

/**
 * The metrics of one broker for all watchers, computed once after each burst of values.
 *
 * Outlives the connections: `attach` starts without metrics, because changed settings may lead to another broker;
 * `detach` leaves the last ones. Rates are computed between two bursts of one connection. Retained values do not count,
 * because their age is unknown.
 */
export class BrokerMetricsFeed {
  readonly #options: Required<BrokerMetricsFeedOptions>;
  /** Exists since the first watcher: most brokers have none, and the stored changes would be most of a feed. */
  #broadcast: Broadcast<BrokerMetricsState, BrokerMetricsState> | null = null;
  #state: BrokerMetricsState = { isConnected: false, metrics: null, reason: null };
  /** All numbers after the last burst of this connection, with the time of its beginning. */
  #last: BrokerNumbers | null = null;
  #previous: BrokerNumbers | null = null;
  #isSampled = false;
  #silence: NodeJS.Timeout | undefined;
  #stops: Stop[] = [];

  constructor({ onSample = () => undefined, silenceMs = 30_000 }: BrokerMetricsFeedOptions = {}) {
    this.#options = { onSample, silenceMs };
  }

  get state(): BrokerMetricsState {
    return this.#state;
  }

  attach(session: Pick<BrokerSession, 'status' | 'onStatus'>, sys: SysSource): void {
    this.#stop();
    this.#stops = [
      session.onStatus(({ state }) => this.#connectionChanged(state === 'CONNECTED')),
      sys.onBurst((burst) => this.#burst(burst, (topic) => sys.valueOf(topic))),
      sys.onProblem(() => this.#change({ ...this.#state, reason: sys.problem })),
    ];
    this.#change({ isConnected: session.status.state === 'CONNECTED', metrics: null, reason: sys.problem });
  }

  detach(): void {
    this.#stop();
    this.#connectionChanged(false);
  }

  watch(options: SubscriberOptions = {}): LiveSource<BrokerMetricsEvent> {
    this.#broadcast ??= new Broadcast(() => this.#state, { history: MAX_STORED_CHANGES });
    return this.#broadcast.subscribe(options);
  }

  close(): void {
    this.#stop();
    this.#broadcast?.close();
  }

  #burst({ date, isLive, isSample }: SysBurst, textOf: (topic: string) => string | null): void {
    const now = readNumbers(textOf, date);
    if (isLive) this.#addBurst(now);
    const rates = ratesBetween(this.#previous, this.#last ?? now);
    const metrics = { ...now, rates, isStale: !this.#state.isConnected };
    if (isSample) {
      if (isLive) this.#options.onSample({ numbers: now, isContinued: this.#isSampled });
      this.#isSampled = isLive;
    }
    this.#restartSilenceTimer();
    this.#change({ ...this.#state, metrics });
  }

  #addBurst(now: BrokerNumbers): void {
    // The clock may be set back. The time between the two is not known then.
    const isSetBack = this.#last !== null && now.asOf < this.#last.asOf;
    if (this.#last !== null && !isSetBack && now.asOf - this.#last.asOf < BURST_MS) {
      this.#last = { ...now, asOf: this.#last.asOf };
    } else {
      this.#previous = isSetBack ? null : this.#last;
      this.#last = now;
    }
  }

  #restartSilenceTimer(): void {
    clearTimeout(this.#silence);
    const interval = this.#previous === null || this.#last === null ? 0 : this.#last.asOf - this.#previous.asOf;
    this.#silence = setTimeout(() => this.#markStale(), Math.max(this.#options.silenceMs, interval * MISSED_INTERVALS));
    this.#silence.unref();
  }

  #connectionChanged(isConnected: boolean): void {
    if (isConnected === this.#state.isConnected) return;
    this.#clearBursts();
    const { metrics, reason } = this.#state;
    this.#change({ isConnected, metrics: metrics && { ...metrics, isStale: true }, reason });
  }

  #markStale(): void {
    this.#isSampled = false;
    const { metrics } = this.#state;
    if (metrics !== null && !metrics.isStale) this.#change({ ...this.#state, metrics: { ...metrics, isStale: true } });
  }

  #change(state: BrokerMetricsState): void {
    this.#state = state;
    this.#broadcast?.publish(state);
  }

  #stop(): void {
    clearTimeout(this.#silence);
    for (const stop of this.#stops.splice(0)) stop();
    this.#clearBursts();
  }

  #clearBursts(): void {
    this.#last = null;
    this.#previous = null;
    this.#isSampled = false;
  }
}
