import type { RunningBroker, RunningState } from '../brokers/broker-engine.ts';
import type { CloudBrokerState } from '../generated/sqlite/client.ts';

/** CLOSED: the service ends, and starts it again when it is back. */
export type Wanted = 'ACTIVE' | 'INACTIVE' | 'CLOSED' | 'REMOVED';

export interface CloudBrokerRunOptions {
  /** What shall become of it, by what is known now. */
  readonly wanted: () => Wanted;
  /** What it shall be started with, as a text: where it runs with something else, it is started anew. */
  readonly settings: () => string;
  /**
   * Starts the engine; rejects where it cannot run, and soon after `signal`. `onState`: each change of it from then on, and FAILED with its
   * reason; before, STARTING with why it takes so long.
   */
  readonly start: (onState: OnState, signal: AbortSignal) => Promise<RunningBroker>;
  /** Notes a state, after those before it. Never rejects. */
  readonly note: (state: CloudBrokerState, running: RunningBroker | null) => Promise<void>;
  readonly stored: () => CloudBrokerState | null;
  readonly onFailure: (error: unknown) => void;
}

export type OnState = (state: RunningState, error?: string) => void;

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;

/**
 * One broker that this service runs, brought to what is wanted of it, one step after the other: PROVISIONING -> ACTIVE; ERROR while its
 * engine cannot run, which is tried again and again, with growing pauses; UPDATING while it takes other settings; SHUTTING_DOWN ->
 * INACTIVE. What is wanted may change at any time: the step under way comes to its end, and counts no more.
 */
export class CloudBrokerRun {
  readonly #options: CloudBrokerRunOptions;
  #running: RunningBroker | null = null;
  /** What it was started with. */
  #settings = '';
  #problem: string | null = null;
  #starting: AbortController | null = null;
  #isFollowing = false;
  #isDirty = false;
  #pauseMs = FIRST_PAUSE_MS;
  #retry: NodeJS.Timeout | undefined;
  #settled: Promise<void> = Promise.resolve();

  constructor(options: CloudBrokerRunOptions) {
    this.#options = options;
  }

  get running(): RunningBroker | null {
    return this.#running;
  }

  /** Why it does not run although it shall. */
  get problem(): string | null {
    return this.#problem;
  }

  /** Something else may be wanted. Resolves when it is so, or cannot be for now. */
  wake(): Promise<void> {
    this.#isDirty = true;
    clearTimeout(this.#retry);
    const { wanted, settings } = this.#options;
    if (wanted() !== 'ACTIVE' || settings() !== this.#settings) this.#starting?.abort();
    if (!this.#isFollowing) {
      this.#isFollowing = true;
      this.#settled = this.#follow();
    }
    return this.#settled;
  }

  async #follow(): Promise<void> {
    while (this.#isDirty) {
      this.#isDirty = false;
      const { wanted, settings } = this.#options;
      if (wanted() !== 'ACTIVE') await this.#stop();
      else if (this.#running === null) await this.#startFirst();
      else if (settings() !== this.#settings) await this.#restart(this.#running);
    }
    this.#isFollowing = false;
    if (this.#running !== null || this.#problem === null) return;
    this.#retry = setTimeout(() => void this.wake(), this.#pauseMs);
    this.#pauseMs = Math.min(this.#pauseMs * 2, LONGEST_PAUSE_MS);
  }

  async #startFirst(): Promise<void> {
    // Tried again it stays in ERROR until it runs.
    if (this.#problem === null) await this.#options.note('PROVISIONING', null);
    await this.#start();
  }

  async #restart(running: RunningBroker): Promise<void> {
    this.#running = null;
    this.#problem = null;
    await this.#options.note('UPDATING', null);
    await this.#end(running);
    await this.#start();
  }

  async #start(): Promise<void> {
    const { start, settings, note, onFailure } = this.#options;
    this.#settings = settings();
    const starting = new AbortController();
    this.#starting = starting;
    try {
      this.#running = await start((state, error) => this.#stateChanged(state, error), starting.signal);
      this.#problem = null;
      this.#pauseMs = FIRST_PAUSE_MS;
      await note('ACTIVE', this.#running);
    } catch (error) {
      if (starting.signal.aborted) return;
      onFailure(error);
      this.#problem = error instanceof Error ? error.message : String(error);
      await note('ERROR', null);
    } finally {
      this.#starting = null;
    }
  }

  async #stop(): Promise<void> {
    const { wanted, note, stored } = this.#options;
    const running = this.#running;
    this.#running = null;
    this.#problem = null;
    if (running !== null) {
      if (wanted() !== 'REMOVED') await note('SHUTTING_DOWN', null);
      await this.#end(running);
    }
    const isNoted = running === null && stored() === 'INACTIVE';
    if (!isNoted && wanted() !== 'REMOVED') await note('INACTIVE', running);
  }

  async #end(running: RunningBroker): Promise<void> {
    try {
      await running.close();
    } catch (error) {
      this.#options.onFailure(error);
    }
  }

  #stateChanged(state: RunningState, error?: string): void {
    const { note } = this.#options;
    // While it starts the first time, its start tells how that ends; while it is stopped, that does.
    if (this.#running === null && (this.#starting === null || state !== 'STARTING' || error === undefined)) return;
    if (state === 'FAILED' || error !== undefined) {
      this.#problem = error ?? 'It ended';
      void note('ERROR', null);
    } else if (state === 'RUNNING') {
      this.#problem = null;
      void note('ACTIVE', null);
    } else if (state === 'STARTING' && this.#problem === null) {
      void note('UPDATING', null);
    }
  }
}
