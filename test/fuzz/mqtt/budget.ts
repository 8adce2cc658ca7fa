export const seedOr = (usual: number): number => Number(process.env.FUZZ_SEED ?? usual);

/** The seed of the run. A run prints it, and FUZZ_SEED repeats the run. */
export const seed = seedOr(Date.now() % 1_000_000_000);

/** Duration of a run in seconds: FUZZ_SECONDS, or `usual`. */
export const secondsOr = (usual: number): number => Number(process.env.FUZZ_SECONDS ?? usual);

/** Timeout of a test in milliseconds, with time for shortening a failing sequence. */
export const timeoutOf = (seconds: number): number => (seconds + 400) * 1_000;
