/**
 * A stream of events that is read synchronously: `take` returns the next event without a promise, and `wait` registers
 * one callback for when it is worth calling `take` again. It is an async iterator as well. A source has one reader,
 * which uses one of the two ways.
 */
export interface LiveSource<Event> extends AsyncIterableIterator<Event> {
  /**
   * The next event. `null` if there is none now, or, with `isOver`, none will follow. Throws once the error that ended
   * the stream.
   */
  take(): Event | null;
  readonly isOver: boolean;
  /**
   * Call it once after `take` returned null. `wake` is called once, in a later event loop iteration; it must not throw.
   */
  wait(wake: () => void): void;
  /** Unsubscribes: no further event is returned. */
  return(): Promise<IteratorReturnResult<undefined>>;
}

/** Options of a subscription to a live source. */
export interface SubscriberOptions {
  /** Maximum number of changes that the subscriber may be behind. Default: 1,000. Never more than the history has. */
  readonly limit?: number;
  /** Ends the stream with the signal's reason as its error, for example when the subscriber's permissions end. */
  readonly signal?: AbortSignal;
  /**
   * Sequence number of the last event of an earlier subscription. Changes after it are sent again if the history has
   * them.
   */
  readonly after?: number | null | undefined;
}

export function isLiveSource(source: object): source is LiveSource<object> {
  return 'take' in source && 'wait' in source && 'isOver' in source;
}

/** Implements `next` of a LiveSource with its other methods. */
export async function nextOf<Event>(source: LiveSource<Event>): Promise<IteratorResult<Event, undefined>> {
  for (;;) {
    const value = source.take();
    if (value !== null) return { done: false, value };
    if (source.isOver) return { done: true, value: undefined };
    await new Promise<void>((resolve) => source.wait(resolve));
  }
}

export const OVER: IteratorReturnResult<undefined> = Object.freeze({ done: true, value: undefined });
