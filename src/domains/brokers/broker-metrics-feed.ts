import { Broadcast, type BroadcastEvent } from '../../gateway/live/broadcast.ts';
import type { LiveSource, SubscriberOptions } from '../../gateway/live/live-source.ts';
import type { BrokerSession, Stop } from '../../protocol/mqtt/broker-session.ts';
import { type BrokerMetrics, type BrokerNumbers, ratesBetween, readNumbers } from './broker-metrics.ts';
import type { SysBurst, SysTopics } from './sys-topics.ts';

/** A broker as those who follow its numbers see it. Never changed; another one takes its place. */
export interface BrokerMetricsState {
  readonly isConnected: boolean;
  /** The last that was told, also while the broker is away; null: nothing yet, since it has the settings that it has. */
  readonly metrics: BrokerMetrics | null;
}

export type BrokerMetricsEvent = BroadcastEvent<BrokerMetricsState, BrokerMetricsState>;

export interface BrokerMetricsFeedOptions {
  /** Samples of the history that are kept, the oldest dropped. Default 60. */
  readonly history?: number;
  /** A broker is never called silent before so many milliseconds. Default 30,000. */
  readonly silenceMs?: number;
}

/** A broker that left out so many of its turns is silent. */
const SILENT_TURNS = 3;
/** Changes kept for subscribers that come back; there is a feed for each broker, and a change is a kilobyte. */
const MAX_KEPT = 60;
/** What comes so soon after the first burst of a turn is a part of it that was late, and no time to count anything over. */
const TURN_MS = 500;

/**
 * The numbers of one broker, for everybody who follows them: read once after each burst that the broker tells, whoever looks.
 *
 * Outlives the broker's connections and their settings: `attach` begins with nothing known, since other settings may lead to
 * another broker; `detach` leaves what was told. Rates are counted between two bursts of one connection; what was retained when
 * the connection began was told nobody knows when, and is no beginning for them.
 */
export class BrokerMetricsFeed {
  readonly #historySize: number;
  readonly #silenceMs: number;
  readonly #broadcast: Broadcast<BrokerMetricsState, BrokerMetricsState>;
  #state: BrokerMetricsState = { isConnected: false, metrics: null };
  #history: BrokerMetrics[] = [];
  /** What was told in the last turn of this connection: all of it, with the time of its first burst. */
  #turn: BrokerNumbers | null = null;
  /** In the turn before. */
  #before: BrokerNumbers | null = null;
  /** In the last sample of the history. */
  #sampled: BrokerNumbers | null = null;
  #silence: NodeJS.Timeout | undefined;
  #stops: Stop[] = [];

  constructor({ history = 60, silenceMs = 30_000 }: BrokerMetricsFeedOptions = {}) {
    this.#historySize = history;
    this.#silenceMs = silenceMs;
    this.#broadcast = new Broadcast(() => this.#state, { history: MAX_KEPT });
  }

  get state(): BrokerMetricsState {
    return this.#state;
  }

  /** Oldest first; rates are averages since the sample before. */
  get history(): readonly BrokerMetrics[] {
    return this.#history;
  }

  /** Follows a broker's connection and what comes by it. */
  attach(session: Pick<BrokerSession, 'status' | 'onStatus'>, sys: Pick<SysTopics, 'onBurst' | 'valueOf'>): void {
    this.#leave();
    this.#history = [];
    this.#stops = [
      session.onStatus(({ state }) => this.#connectionIs(state === 'CONNECTED')),
      sys.onBurst((burst) => this.#told(burst, (topic) => sys.valueOf(topic))),
    ];
    this.#change({ isConnected: session.status.state === 'CONNECTED', metrics: null });
  }

  detach(): void {
    this.#leave();
    this.#connectionIs(false);
  }

  /** The state now, then each state that follows. */
  watch(options: SubscriberOptions = {}): LiveSource<BrokerMetricsEvent> {
    return this.#broadcast.subscribe(options);
  }

  /** Ends the streams of all who watch. */
  close(): void {
    this.#leave();
    this.#broadcast.close();
  }

  #told({ date, isLive, isSample }: SysBurst, told: (topic: string) => string | null): void {
    const now = readNumbers(told, date);
    if (isLive) this.#takeTurn(now);
    const rates = ratesBetween(this.#before, this.#turn ?? now);
    const metrics = { ...now, rates, isStale: !this.#state.isConnected };
    if (isSample) {
      const sample = { ...metrics, rates: ratesBetween(this.#sampled, now) };
      this.#history = [...this.#history.slice(-(this.#historySize - 1)), sample];
      this.#sampled = isLive ? now : null;
    }
    this.#listenForSilence();
    this.#change({ ...this.#state, metrics });
  }

  #takeTurn(now: BrokerNumbers): void {
    if (this.#turn !== null && now.asOf - this.#turn.asOf < TURN_MS) {
      this.#turn = { ...now, asOf: this.#turn.asOf };
    } else {
      this.#before = this.#turn;
      this.#turn = now;
    }
  }

  #listenForSilence(): void {
    clearTimeout(this.#silence);
    const usual = this.#before === null || this.#turn === null ? 0 : this.#turn.asOf - this.#before.asOf;
    this.#silence = setTimeout(() => this.#silent(), Math.max(this.#silenceMs, usual * SILENT_TURNS));
    this.#silence.unref();
  }

  #connectionIs(isConnected: boolean): void {
    if (isConnected === this.#state.isConnected) return;
    this.#forgetTurns();
    this.#change({ isConnected, metrics: this.#state.metrics && { ...this.#state.metrics, isStale: true } });
  }

  #silent(): void {
    const { isConnected, metrics } = this.#state;
    if (metrics !== null && !metrics.isStale) this.#change({ isConnected, metrics: { ...metrics, isStale: true } });
  }

  #change(state: BrokerMetricsState): void {
    this.#state = state;
    this.#broadcast.publish(state);
  }

  #leave(): void {
    clearTimeout(this.#silence);
    for (const stop of this.#stops.splice(0)) stop();
    this.#forgetTurns();
  }

  #forgetTurns(): void {
    this.#turn = null;
    this.#before = null;
    this.#sampled = null;
  }
}
