import { test } from 'vitest';
import { checkTooManyTopics } from './too-many-topics.ts';

test('of 50,000 topics with a limit of 10,000, 10,000 are listed and the others counted, until the listed ones expire', async () => {
  // Files before this one left garbage in the process: that memory stays flat is for the long form to say.
  await checkTooManyTopics({ topics: 50_000, limit: 10_000, maxGrowthMb: 300 });
});
