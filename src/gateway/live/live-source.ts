/**
 * A stream of events that is read synchronously with `take` and `wait`, or as an async iterator. A source has one
 * reader, which uses one of the two ways.
 */
export interface LiveSource<Event> extends AsyncIterableIterator<Event> {
  /** `null` if there is no event now, or, with `isOver`, never again. Throws once the error that ended the stream. */
  take(): Event | null;
  readonly isOver: boolean;
  /** Call it once after `take` returned null. `wake` is called once, in a later iteration; it must not throw. */
  wait(wake: () => void): void;
  return(): Promise<IteratorReturnResult<undefined>>;
}

export interface SubscriberOptions {
  /** Maximum number of changes that the subscriber may be behind. Default: 1,000. Never more than the history has. */
  readonly limit?: number;
  /** Ends the stream with the signal's reason as its error, for example when the subscriber's permissions end. */
  readonly signal?: AbortSignal;
  /** Last sequence number of an earlier subscription. Changes after it are sent if the history has them. */
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
