const INTERVAL_MS = 1_000;

/** Coalesces and throttles reads before a scrape: concurrent scrapes share one read. */
export function throttledRead(read: () => Promise<void>): () => Promise<void> {
  let reading: Promise<void> | null = null;
  let readAt = Number.NEGATIVE_INFINITY;
  return async () => {
    if (performance.now() - readAt < INTERVAL_MS) return;
    reading ??= read()
      .then(() => {
        readAt = performance.now();
      })
      .finally(() => {
        reading = null;
      });
    await reading;
  };
}
