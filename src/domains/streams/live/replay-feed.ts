import { Broadcast, type BroadcastEvent } from '../../../gateway/live/broadcast.ts';
import type { LiveSource, SubscriberOptions } from '../../../gateway/live/live-source.ts';
import type { StreamEntry } from '../control/stream-wire.ts';
import type { ReplayProgress } from '../model/stream-replay.ts';
import type { StreamReport } from '../model/stream-report.ts';

/** The replay of one stream as sent to subscribers. Immutable; a change creates a new object. */
interface ReplayStatus {
  readonly isConnected: boolean;
  readonly replaying: boolean;
  /** The running or last replay. `null` if there is none, or if the stream's server sends no report. */
  readonly replay: ReplayProgress | null;
}

export type ReplayEvent = BroadcastEvent<ReplayStatus, ReplayStatus>;

/** Changes retained for slow or reconnecting subscribers: half a minute of a replay with ten reports per second. */
const MAX_KEPT = 300;

/** The replays of one stream, for all subscribers. */
export class ReplayFeed {
  readonly #broadcast: Broadcast<ReplayStatus, ReplayStatus>;
  #status: ReplayStatus;
  /** Number of change events so far. */
  #numEvents = 0;
  #hasEvents = false;

  constructor(isConnected: boolean) {
    this.#status = { isConnected, replaying: false, replay: null };
    this.#broadcast = new Broadcast(() => this.#status, { history: MAX_KEPT });
  }

  /** Whether the stream's server sends change events, as far as is known. */
  get hasEvents(): boolean {
    return this.#hasEvents;
  }

  get isWatched(): boolean {
    return this.#broadcast.subscriberCount > 0;
  }

  watch(options: SubscriberOptions): LiveSource<ReplayEvent> {
    return this.#broadcast.subscribe(options);
  }

  connectionIs(isConnected: boolean): void {
    this.#change({ ...this.#status, isConnected });
  }

  reported({ replay }: StreamReport): void {
    this.#numEvents += 1;
    this.#hasEvents = true;
    const replaying = replay !== null && (replay.state === 'RUNNING' || replay.state === 'PAUSED');
    this.#change({ ...this.#status, replaying, replay });
  }

  /** Queries the state. Events received meanwhile are newer than the result and have precedence. */
  async read(question: () => Promise<StreamEntry>): Promise<void> {
    const before = this.#numEvents;
    const { replaying, report, nodes } = await question();
    // Reports of several nodes are read by polling each node.
    this.#hasEvents = report !== null && nodes === undefined;
    if (this.#numEvents !== before) return;
    this.#change({ ...this.#status, replaying, replay: report?.replay ?? null });
  }

  close(): void {
    this.#broadcast.close();
  }

  #change(status: ReplayStatus): void {
    if (isSame(status, this.#status)) return;
    this.#status = status;
    this.#broadcast.publish(status);
  }
}

const isSame = (a: ReplayStatus, b: ReplayStatus): boolean => JSON.stringify(a) === JSON.stringify(b);
