/** A stream of events for one reader, which uses either `take` and `wait`, or the async iterator. */
export abstract class LiveSource<Event> implements AsyncIterableIterator<Event> {
  /** `null` if there is no event now, or, with `isOver`, never again. Throws once the error that ended the stream. */
  abstract take(): Event | null;
  abstract get isOver(): boolean;
  /** Call it once after `take` returned null. `wake` is called once, in a later event loop turn; it must not throw. */
  abstract wait(wake: () => void): void;
  abstract return(): Promise<IteratorReturnResult<undefined>>;

  async next(): Promise<IteratorResult<Event>> {
    for (;;) {
      const value = this.take();
      if (value !== null) return { done: false, value };
      if (this.isOver) return OVER;
      await new Promise<void>((resolve) => this.wait(resolve));
    }
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}

export interface SubscriberOptions {
  /** Maximum number of changes that the subscriber may be behind. Default: 1,000. Never more than the history has. */
  readonly limit?: number;
  /** Ends the stream with the signal's reason as its error, for example when the subscriber's permissions end. */
  readonly signal?: AbortSignal;
  /** Last sequence number of an earlier subscription. Changes after it are sent if the history has them. */
  readonly after?: number | null | undefined;
}

export const OVER: IteratorReturnResult<undefined> = Object.freeze({ done: true, value: undefined });
