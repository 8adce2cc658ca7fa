import type { CloudBrokerState } from '../../generated/sqlite/client.ts';
import { messageOf } from '../../platform/errors.ts';
import { Backoff, type BackoffTimes } from '../../platform/scheduling/backoff.ts';
import type { RunningBroker, RunningState } from '../../protocol/hosting/broker-engine.ts';

/** CLOSED: the service shuts down, and starts the broker again at its next start. */
export type Wanted = 'ACTIVE' | 'INACTIVE' | 'CLOSED' | 'REMOVED';

interface CloudBrokerRunOptions {
  readonly wanted: () => Wanted;
  /** Rejects if the engine cannot run. `onState` is called for each later change; FAILED has its reason. */
  readonly start: (onState: OnState) => Promise<RunningBroker>;
  /** Stores what the run shows at the moment of the call, after the previous states. Never rejects. */
  readonly note: () => Promise<void>;
  /** Whether the row already shows that this process does not run the broker. */
  readonly isStopNoted: () => boolean;
  readonly onFailure: (error: unknown) => void;
}

export type OnState = (state: RunningState, error?: string) => void;

const BACKOFF: BackoffTimes = { firstMs: 1_000, longestMs: 60_000 };

/**
 * Brings one broker to its desired state, which may change at any time; the running step is completed first. ERROR: the
 * engine cannot run; the start is retried with growing pauses.
 */
export class CloudBrokerRun {
  readonly #options: CloudBrokerRunOptions;
  running: RunningBroker | null = null;
  /** When this process last started the engine; `null` if it has not. */
  startedAt: Date | null = null;
  /** When this process stopped the engine; `null` if it has not since the last start. */
  stoppedAt: Date | null = null;
  /** The last noted state; `null` if none was noted. */
  state: CloudBrokerState | null = null;
  /** Why the broker does not run although it should. `null` if there is no reason. */
  problem: string | null = null;
  #isFollowing = false;
  #isDirty = false;
  #isStale = false;
  readonly #backoff = new Backoff(BACKOFF);
  #retry: NodeJS.Timeout | undefined;
  #settled: Promise<void> = Promise.resolve();

  constructor(options: CloudBrokerRunOptions) {
    this.#options = options;
  }

  /** Called when the desired state may have changed. Resolves when it is reached, or cannot be reached for now. */
  wake(): Promise<void> {
    this.#isDirty = true;
    clearTimeout(this.#retry);
    if (!this.#isFollowing) {
      this.#isFollowing = true;
      this.#settled = this.#follow();
    }
    return this.#settled;
  }

  /** Called when the listeners have changed: the broker starts again with them. */
  renew(): Promise<void> {
    this.#isStale = true;
    return this.wake();
  }

  async #follow(): Promise<void> {
    while (this.#isDirty) {
      this.#isDirty = false;
      if (this.#isStale && this.running !== null && this.#options.wanted() === 'ACTIVE') await this.#end(this.running);
      this.#isStale = false;
      if (this.#options.wanted() !== 'ACTIVE') await this.#stop();
      else if (this.running === null) await this.#start();
    }
    this.#isFollowing = false;
    if (this.running !== null || this.problem === null) return;
    this.#retry = setTimeout(() => void this.wake(), this.#backoff.next());
  }

  async #start(): Promise<void> {
    const { start, onFailure } = this.#options;
    // During retries, the state stays ERROR until the engine runs.
    if (this.problem === null) await this.#note('PROVISIONING');
    try {
      this.running = await start((state, error) => this.#stateChanged(state, error));
      this.startedAt = new Date();
      this.stoppedAt = null;
      this.problem = null;
      this.#backoff.reset();
      await this.#note('ACTIVE');
    } catch (error) {
      onFailure(error);
      this.problem = messageOf(error);
      await this.#note('ERROR');
    }
  }

  async #end(running: RunningBroker): Promise<void> {
    this.running = null;
    this.problem = null;
    await running.close().catch(this.#options.onFailure);
  }

  async #stop(): Promise<void> {
    const { wanted, isStopNoted } = this.#options;
    const { running } = this;
    this.running = null;
    this.problem = null;
    if (running !== null) {
      if (wanted() !== 'REMOVED') await this.#note('SHUTTING_DOWN');
      await this.#end(running);
      this.stoppedAt = new Date();
    }
    const isNoted = running === null && isStopNoted();
    if (!isNoted && wanted() !== 'REMOVED') await this.#note('INACTIVE');
  }

  #stateChanged(state: RunningState, error?: string): void {
    // During the first start and during a stop, their own results determine the state.
    if (this.running === null) return;
    if (state === 'FAILED' || error !== undefined) {
      this.problem = error ?? 'It ended';
      void this.#note('ERROR');
    } else if (state === 'RUNNING') {
      this.problem = null;
      void this.#note('ACTIVE');
    } else if (state === 'STARTING' && this.problem === null) {
      void this.#note('UPDATING');
    }
  }

  #note(state: CloudBrokerState): Promise<void> {
    this.state = state;
    return this.#options.note();
  }
}
