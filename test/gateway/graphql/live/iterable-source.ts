import { LiveSource, OVER } from '../../../../src/gateway/live/live-source.ts';

/** An async iterable as a LiveSource. Reads one event per event loop iteration. */
export class IterableSource<Event extends object> extends LiveSource<Event> {
  readonly #events: AsyncIterator<Event>;
  #event: Event | null = null;
  #failure: { readonly error: unknown } | null = null;
  #isReading = false;
  #hasEnded = false;
  #wake: (() => void) | null = null;

  constructor(source: AsyncIterable<Event>) {
    super();
    this.#events = source[Symbol.asyncIterator]();
  }

  get isOver(): boolean {
    return this.#hasEnded && this.#event === null && this.#failure === null;
  }

  take(): Event | null {
    if (this.#failure !== null) {
      const { error } = this.#failure;
      this.#failure = null;
      throw error;
    }
    const event = this.#event;
    this.#event = null;
    if (event === null) this.#read();
    return event;
  }

  wait(wake: () => void): void {
    if (this.#isReading) this.#wake = wake;
    else setImmediate(wake);
  }

  /** Does not wait for the source: a generator ends only with its next event. */
  async return(): Promise<IteratorReturnResult<undefined>> {
    this.#hasEnded = true;
    this.#event = null;
    this.#failure = null;
    this.#settle();
    void this.#events.return?.().catch(() => undefined);
    return OVER;
  }

  #read(): void {
    if (this.#isReading || this.#hasEnded) return;
    this.#isReading = true;
    this.#events.next().then(
      ({ done, value }) => {
        if (done) this.#hasEnded = true;
        else if (!this.#hasEnded) this.#event = value;
        this.#settle();
      },
      (error: unknown) => {
        if (!this.#hasEnded) this.#failure = { error };
        this.#hasEnded = true;
        this.#settle();
      },
    );
  }

  #settle(): void {
    this.#isReading = false;
    const wake = this.#wake;
    this.#wake = null;
    if (wake !== null) setImmediate(wake);
  }
}
