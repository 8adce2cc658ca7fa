import { expect, test } from 'vitest';
import { runDifferential } from './differential.ts';
import { mosquittoTarget } from './differential-mosquitto.ts';

test('what is explained is what brokers do: 10,000 random questions', async () => {
  const seed = Number(process.env.SEED ?? Date.now() % 1_000_000_000);
  const result = await runDifferential([await mosquittoTarget()], { seed, policies: 100, checksPerPolicy: 100 });
  expect(result.disagreements, `SEED=${seed} shows these again`).toEqual([]);
  expect(result.compared).toBeGreaterThanOrEqual(10_000);
});
