import { type LiveSource, nextOf, OVER } from '../../live/live-source.ts';

/** An event of a source that may be anything. */
export class PlainEvent {
  readonly value: unknown;

  constructor(value: unknown) {
    this.value = value;
  }
}

/**
 * Any async iterable as a LiveSource. One event is read at a time, when it is asked for; a turn of the event loop lies between
 * two, since a source that always has an event would keep it from everything else.
 */
export class PlainSource implements LiveSource<PlainEvent> {
  readonly #events: AsyncIterator<unknown>;
  #event: PlainEvent | null = null;
  #failure: { readonly error: unknown } | null = null;
  #isReading = false;
  #hasEnded = false;
  #wake: (() => void) | null = null;

  constructor(source: AsyncIterable<unknown>) {
    this.#events = source[Symbol.asyncIterator]();
  }

  get isOver(): boolean {
    return this.#hasEnded && this.#event === null && this.#failure === null;
  }

  take(): PlainEvent | null {
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

  next(): Promise<IteratorResult<PlainEvent, undefined>> {
    return nextOf<PlainEvent>(this);
  }

  /** Does not wait for the source: a generator ends with its next event. */
  async return(): Promise<IteratorReturnResult<undefined>> {
    this.#hasEnded = true;
    this.#event = null;
    this.#failure = null;
    this.#settle();
    // Nobody is left to hear that leaving failed.
    void this.#events.return?.().catch(() => undefined);
    return OVER;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #read(): void {
    if (this.#isReading || this.#hasEnded) return;
    this.#isReading = true;
    this.#events.next().then(
      ({ done, value }) => {
        if (done) this.#hasEnded = true;
        else if (!this.#hasEnded) this.#event = new PlainEvent(value);
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
