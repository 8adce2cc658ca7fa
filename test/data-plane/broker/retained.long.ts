import { expect, test } from 'vitest';
import { fill, removeRetained } from './retained.ts';
import { startTappedCore } from './tapped-core.ts';

test('mosquitto_sub --remove-retained --retained-only removes 100,000 retained messages', async () => {
  const { port, store } = await startTappedCore();
  fill(
    store,
    Array.from({ length: 100_000 }, (_, i) => `all/${i % 100}/${i}`),
  );
  removeRetained(port);
  await expect.poll(() => store.retained.count, { timeout: 300_000 }).toBe(0);
});
