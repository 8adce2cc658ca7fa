import type { Refusal } from '../../protocol/apis/refusals/refusal.ts';
import type { ControlCaller } from '../../protocol/control/plugin.ts';
import { withEarlier } from './earlier-refusals.ts';
import { NO_REFUSALS, type RefusalList, readRefusals } from './refusal-list.ts';

/** Returns the refusals of a broker that are stored of other logs than this one, the newest first. */
type EarlierRefusals = (log: string) => Promise<readonly Refusal[]>;

/**
 * The refusals of one broker: those that it reports, and earlier ones of the history. Each reading requests only what
 * changed since the previous one.
 */
export class RefusalReader {
  readonly #controls: ControlCaller;
  readonly #readEarlier: EarlierRefusals;
  #known: RefusalList = NO_REFUSALS;
  #earlier: readonly Refusal[] | null = null;
  #running: Promise<RefusalList> | null = null;
  #next: Promise<RefusalList> | null = null;

  constructor(controls: ControlCaller, readEarlier: EarlierRefusals) {
    this.#controls = controls;
    this.#readEarlier = readEarlier;
  }

  /** As the last reading: only what the broker reports. */
  get reported(): RefusalList {
    return this.#known;
  }

  /** Includes everything that was refused before the call. Concurrent calls share a request. */
  read(): Promise<RefusalList> {
    if (this.#running === null) return this.#start();
    this.#next ??= this.#running
      .catch(() => undefined)
      .then(() => {
        this.#next = null;
        return this.#start();
      });
    return this.#next;
  }

  #start(): Promise<RefusalList> {
    const running = this.#read().finally(() => {
      if (this.#running === running) this.#running = null;
    });
    this.#running = running;
    return running;
  }

  async #read(): Promise<RefusalList> {
    const { log } = this.#known;
    this.#known = await readRefusals(this.#controls, this.#known);
    if (this.#earlier === null || this.#known.log !== log) this.#earlier = await this.#readEarlier(this.#known.log);
    return withEarlier(this.#known, this.#earlier);
  }
}
