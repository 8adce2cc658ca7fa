import { expect, test } from 'vitest';
import { isLong } from '../../../support/suite.ts';
import { runDifferential } from './differential.ts';
import { embeddedTarget } from './differential-embedded.ts';
import { mosquittoTarget } from './differential-mosquitto.ts';

const POLICIES = isLong ? 25 : 8;

test('what is explained is what brokers do: 300 random questions to each', async () => {
  const seed = Number(process.env.SEED ?? 20_260);
  const result = await runDifferential([await mosquittoTarget(), await embeddedTarget()], {
    seed,
    policies: 6,
    checksPerPolicy: 50,
  });
  expect(result.disagreements, `SEED=${seed} shows these again`).toEqual([]);
  expect(result.compared).toBeGreaterThanOrEqual(480);
  expect(result.allowed / result.compared).toBeGreaterThan(0.2);
});

test('the rule that the embedded broker reports of a refusal is the one that decided: 1,000 random questions', async () => {
  const seed = Number(process.env.SEED ?? 40_520);
  const result = await runDifferential([await embeddedTarget()], { seed, policies: POLICIES, checksPerPolicy: 60 });
  expect(result.disagreements, `SEED=${seed} shows these again`).toEqual([]);
  expect(result.compared).toBeGreaterThanOrEqual(40 * POLICIES);
  expect(result.reported).toBeGreaterThanOrEqual(8 * POLICIES);
});
