/** Resolves after some milliseconds, or at once when the browser is online again or the page is shown again. */
export function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    const stop = onReturn(finish);
    const timer = setTimeout(finish, milliseconds);
    function finish() {
      clearTimeout(timer);
      stop();
      resolve();
    }
  });
}

/** Calls `listener` when the browser is online again, and when the page is shown again. Returns how to stop. */
export function onReturn(listener: () => void): () => void {
  const show = () => {
    if (document.visibilityState === 'visible') listener();
  };
  addEventListener('online', listener);
  document.addEventListener('visibilitychange', show);
  return () => {
    removeEventListener('online', listener);
    document.removeEventListener('visibilitychange', show);
  };
}

/** Before a further attempt: 1 s, then twice as long each time up to `maxMs`, reduced at random by up to half. */
export const backoff = (attempts: number, maxMs: number): Promise<void> =>
  pause(Math.min(maxMs, 1_000 * 2 ** attempts) * (0.5 + Math.random() / 2));
