import type { IdRange } from '../../log/log-message.ts';
import type { Entry } from './queue-entry.ts';

/** Maximum number and age (ms) of settled messages that are still stored. They are delivered again after a kill. */
const LEFT_MESSAGES = 1_000;
const LEFT_MS = 200;

/** The stored messages of a queue that are settled: those to delete, then those whose deletion has started. */
export class SettledMessages {
  /** Messages before this id are deleted. */
  #from: number;
  #upTo = 0;
  #alone: number[] = [];
  #settled: Entry[] = [];
  #deleting: Entry[] = [];
  #isDue = false;
  #isStopped = false;
  #timer: NodeJS.Timeout | undefined;
  readonly #onDue: () => void;

  /** `onDue`: messages are to be deleted with the next write. */
  constructor(from: number, onDue: () => void) {
    this.#from = from;
    this.#onDue = onDue;
  }

  get isDue(): boolean {
    return this.#isDue;
  }

  get isDeleting(): boolean {
    return this.#deleting.length > 0;
  }

  /** All messages up to this one are settled. */
  upTo(entry: Entry): void {
    this.#upTo = entry.id;
    this.#settled.push(entry);
    if (this.#isStopped) return;
    if (this.#settled.length >= LEFT_MESSAGES) this.#deleteSoon();
    else this.#timer ??= setTimeout(() => this.#deleteSoon(), LEFT_MS);
  }

  /** This message is settled, others before it are not. */
  alone(entry: Entry): void {
    this.#alone.push(entry.id);
    this.#settled.push(entry);
  }

  /** All that are settled are to be deleted. */
  setDue(): void {
    this.#isDue = this.#settled.length > 0;
  }

  /** The deletion of the returned messages starts. */
  take(): readonly IdRange[] {
    if (this.#settled.length === 0) return [];
    const ranges = this.#alone.map((id) => ({ from: id, to: id }));
    if (this.#upTo >= this.#from) ranges.push({ from: this.#from, to: this.#upTo });
    this.#from = Math.max(this.#from, this.#upTo + 1);
    this.#deleting.push(...this.#settled);
    this.#settled = [];
    this.#alone = [];
    this.#isDue = false;
    return ranges;
  }

  /** Removes the messages whose deletion had started: it is done. */
  deleted(): readonly Entry[] {
    return this.#deleting.splice(0);
  }

  /** What was stored is lost. */
  lose(): void {
    this.#settled = [];
    this.#alone = [];
    this.#deleting = [];
  }

  /** `onDue` is not called any more. */
  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  #deleteSoon(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.setDue();
    if (this.#isDue) this.#onDue();
  }
}
