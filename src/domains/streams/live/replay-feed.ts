import { Broadcast, type BroadcastEvent } from '../../../gateway/live/broadcast.ts';
import type { LiveSource, SubscriberOptions } from '../../../gateway/live/live-source.ts';
import type { StreamEntry } from '../control/stream-wire.ts';
import type { ReplayProgress } from '../model/stream-replay.ts';
import type { StreamReport } from '../model/stream-report.ts';

/** The replay of one stream as those who follow it see it. Never changed; another one takes its place. */
export interface ReplayStatus {
  readonly isConnected: boolean;
  readonly replaying: boolean;
  /** The one that runs, or the last one; null: none, or whoever serves the stream does not tell. */
  readonly replay: ReplayProgress | null;
}

export type ReplayEvent = BroadcastEvent<ReplayStatus, ReplayStatus>;

/** Changes kept for those who read slowly or come back: half a minute of a replay that is told ten times a second. */
const MAX_KEPT = 300;

/** The replays of one stream, for everybody who follows them. */
export class ReplayFeed {
  readonly #broadcast: Broadcast<ReplayStatus, ReplayStatus>;
  #status: ReplayStatus;
  /** Events so far. */
  #told = 0;
  #tells = false;

  constructor(isConnected: boolean) {
    this.#status = { isConnected, replaying: false, replay: null };
    this.#broadcast = new Broadcast(() => this.#status, { history: MAX_KEPT });
  }

  /** Whoever serves the stream tells of changes unasked, as far as is known. */
  get tellsItself(): boolean {
    return this.#tells;
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

  told({ replay }: StreamReport): void {
    this.#told += 1;
    this.#tells = true;
    const replaying = replay !== null && (replay.state === 'RUNNING' || replay.state === 'PAUSED');
    this.#change({ ...this.#status, replaying, replay });
  }

  /** Asks how it is. What was told meanwhile is newer than the answer. */
  async read(question: () => Promise<StreamEntry>): Promise<void> {
    const before = this.#told;
    const { replaying, report, nodes } = await question();
    // What is told of several nodes is asked of each.
    this.#tells = report !== null && nodes === undefined;
    if (this.#told !== before) return;
    this.#change({ ...this.#status, replaying, replay: report?.replay ?? null });
  }

  /** Ends the streams of all who watch. */
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
