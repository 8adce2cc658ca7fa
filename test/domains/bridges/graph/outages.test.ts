import { test } from 'vitest';
import { followOutages } from './outages.ts';

test('loss and return of the other broker are sent to a client of the graph, in order', async () => {
  await followOutages(1);
});
