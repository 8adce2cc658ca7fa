import type { Viewer } from '../auth/viewer.ts';
import { requireSignedIn } from '../auth/viewer.ts';
import type { RequestContext } from '../context.ts';

/**
 * A subscription's source that lives as long as its rights: `check` throws what the caller would get, is asked again
 * whenever the caller's rights change, and its error then ends the stream.
 */
export async function guarded<T>(
  { viewer, services }: RequestContext,
  check: (viewer: Viewer | null) => void,
  open: (signal: AbortSignal) => AsyncIterableIterator<T> | Promise<AsyncIterableIterator<T>>,
): Promise<AsyncIterableIterator<T>> {
  const guard = services.auth.guard(requireSignedIn(viewer), check);
  const source = await Promise.resolve(open(guard.signal)).catch((error: unknown) => {
    guard.stop();
    throw error;
  });
  const iterator: AsyncIterableIterator<T> = {
    next: async () => {
      try {
        const result = await source.next();
        if (result.done) guard.stop();
        return result;
      } catch (error) {
        guard.stop();
        throw error;
      }
    },
    return: async (value) => {
      guard.stop();
      await source.return?.(value);
      return { done: true, value: undefined };
    },
    [Symbol.asyncIterator]: () => iterator,
  };
  return iterator;
}
