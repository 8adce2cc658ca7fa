import { test } from 'vitest';
import { embeddedTarget, mosquittoTarget } from './topic-targets.ts';
import { checkTruth, LONG_TTL, PAYLOAD_LIMIT } from './truth.ts';

const SETTINGS = { ttlSeconds: LONG_TTL, payloadLimit: PAYLOAD_LIMIT };
const PLAN = { seed: Number(process.env.SEED ?? Date.now() % 1_000_000), topics: 8_000, rounds: 6, seconds: 60 };

for (const [name, start] of [
  ['a Mosquitto', mosquittoTarget],
  ['the embedded broker', embeddedTarget],
] as const) {
  test(`what is told of thousands of topics of ${name} is what clients published, for a minute, SEED=${PLAN.seed}`, async () => {
    await checkTruth(await start(SETTINGS), PLAN);
  });
}
