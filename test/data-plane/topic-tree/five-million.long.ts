import { test } from 'vitest';
import { checkTooManyTopics } from './too-many-topics.ts';

test('of five million topics with a limit of one million, one million are listed and the others counted, and memory stays flat', async () => {
  const plan = { topics: 5_000_000, limit: 1_000_000, maxGrowthMb: 80 };
  const { bytesPerTopic, grownMb } = await checkTooManyTopics(plan);
  console.log(
    `a million topics: ${bytesPerTopic.toFixed(0)} bytes each; ${grownMb.toFixed(0)} MB more resident memory while four million were left out`,
  );
});
