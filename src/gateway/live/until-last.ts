import { LiveSource, type OVER } from './live-source.ts';

/** A source that ends after its first event for which `isLast` is true. */
export class UntilLast<Event> extends LiveSource<Event> {
  readonly #source: LiveSource<Event>;
  readonly #isLast: (event: Event) => boolean;
  #isOver = false;

  constructor(source: LiveSource<Event>, isLast: (event: Event) => boolean) {
    super();
    this.#source = source;
    this.#isLast = isLast;
  }

  get isOver(): boolean {
    return this.#isOver || this.#source.isOver;
  }

  take(): Event | null {
    if (this.#isOver) return null;
    const event = this.#source.take();
    if (event !== null && this.#isLast(event)) void this.return();
    return event;
  }

  wait(wake: () => void): void {
    this.#source.wait(wake);
  }

  return(): Promise<typeof OVER> {
    this.#isOver = true;
    return this.#source.return();
  }
}
