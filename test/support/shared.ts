import { AsyncLocalStorage } from 'node:async_hooks';
import { afterAll, onTestFinished as onThisTestFinished } from 'vitest';

type End = () => unknown;
const scopes = new AsyncLocalStorage<End[]>();

/** Calls `end` after the test, or after the file or the `describe` if it is registered while a shared world starts. */
export function onTestFinished(end: End): void {
  const ends = scopes.getStore();
  if (ends) ends.push(end);
  else onThisTestFinished(async () => void (await end()));
}

/** A world of several tests, which the first one starts. Call it where the tests are defined. */
export function shared<World>(start: () => Promise<World>): () => Promise<World> {
  const ends: End[] = [];
  let world: Promise<World> | null = null;
  afterAll(async () => {
    for (const end of ends.toReversed()) await end();
  });
  return () => {
    world ??= scopes.run(ends, start);
    return world;
  };
}
