import type { ControlCaller } from '../../protocol/control/plugin.ts';
import { NO_REFUSALS, type RefusalList, readRefusals } from './refusal-list.ts';

/** The refusals of one broker. Each reading requests only what changed since the previous one. */
export class RefusalReader {
  readonly #controls: ControlCaller;
  #known: RefusalList = NO_REFUSALS;
  #running: Promise<RefusalList> | null = null;
  #next: Promise<RefusalList> | null = null;

  constructor(controls: ControlCaller) {
    this.#controls = controls;
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
    this.#known = await readRefusals(this.#controls, this.#known);
    return this.#known;
  }
}
