import { test } from 'vitest';

/** Services start slowly next to each other. */
const TIMEOUT_MS = 300_000;

/**
 * Defines tests that mostly wait, by their names, and runs them at the same time: the first test runs all, and each one
 * reports its own result. What they start ends after the first test. `test.concurrent` cannot replace this, because
 * `expect.poll` and `onTestFinished` of helpers would belong to the test that vitest started last.
 */
export function together(cases: Readonly<Record<string, () => Promise<unknown>>>): void {
  let running: Promise<Map<string, PromiseSettledResult<unknown>>> | null = null;
  const run = async () => {
    const results = await Promise.allSettled(Object.values(cases).map((one) => one()));
    return new Map(Object.keys(cases).map((name, index) => [name, results[index] as PromiseSettledResult<unknown>]));
  };
  for (const name of Object.keys(cases))
    test(name, { timeout: TIMEOUT_MS }, async () => {
      running ??= run();
      const result = (await running).get(name);
      if (result?.status === 'rejected') throw result.reason;
    });
}
