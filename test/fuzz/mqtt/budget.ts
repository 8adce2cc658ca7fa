export const seedOr = (usual: number): number => Number(process.env.FUZZ_SEED ?? usual);

/** A run prints its seed; `FUZZ_SEED` repeats it. */
export const seed = seedOr(Date.now() % 1_000_000_000);

/** How long a run lasts, in seconds: `FUZZ_SECONDS`, or as long as it is worth in this place. */
export const secondsOr = (usual: number): number => Number(process.env.FUZZ_SECONDS ?? usual);

/** Milliseconds; a failure is shortened behind the run. */
export const timeoutOf = (seconds: number): number => (seconds + 400) * 1_000;
