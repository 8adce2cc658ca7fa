import { expect, test } from 'vitest';
import { runDifferential } from './differential.ts';
import { embeddedTarget } from './differential-embedded.ts';
import { mosquittoTarget } from './differential-mosquitto.ts';

test('what is explained is what brokers do: 10,000 random questions to each', async () => {
  const seed = Number(process.env.SEED ?? Date.now() % 1_000_000_000);
  const result = await runDifferential([await mosquittoTarget(), await embeddedTarget()], {
    seed,
    policies: 100,
    checksPerPolicy: 100,
  });
  expect(result.disagreements, `SEED=${seed} shows these again`).toEqual([]);
  expect(result.compared).toBeGreaterThanOrEqual(16_000);
});
