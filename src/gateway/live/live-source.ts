/**
 * A stream of events that is asked synchronously: what there is now is had without a promise, and one call tells when it is worth
 * asking again. Whoever would rather wait reads it as an async iterator; one reader only, one way at a time.
 */
export interface LiveSource<Event> extends AsyncIterableIterator<Event> {
  /** The next event. Null: none now, or, with `isOver`, never again. Throws once what the stream ended with, if it was an error. */
  take(): Event | null;
  readonly isOver: boolean;
  /** To be called once after `take` gave null. `wake` is called once, in another turn of the event loop; it must not throw. */
  wait(wake: () => void): void;
  /** Leaves: nothing comes any more. */
  return(): Promise<IteratorReturnResult<undefined>>;
}

export function isLiveSource(source: object): source is LiveSource<object> {
  return 'take' in source && 'wait' in source && 'isOver' in source;
}

/** `next` of a LiveSource, by its other methods. */
export async function nextOf<Event>(source: LiveSource<Event>): Promise<IteratorResult<Event, undefined>> {
  for (;;) {
    const value = source.take();
    if (value !== null) return { done: false, value };
    if (source.isOver) return { done: true, value: undefined };
    await new Promise<void>((resolve) => source.wait(resolve));
  }
}

export const OVER: IteratorReturnResult<undefined> = Object.freeze({ done: true, value: undefined });
