/** Anybody may scrape as often as they like; what takes questions is asked no more often than this. */
const FRESH_MS = 1_000;

/** What is read before a scrape: one reading at a time, for all who wait for it. */
export function freshly(read: () => Promise<void>): () => Promise<void> {
  let reading: Promise<void> | null = null;
  let readAt = Number.NEGATIVE_INFINITY;
  return async () => {
    if (performance.now() - readAt < FRESH_MS) return;
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
