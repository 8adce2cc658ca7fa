import { test } from 'vitest';
import { followOutages } from './outages.ts';

test('loss and return of the other broker are told to a client of the graph, one after the other', async () => {
  await followOutages(1);
});
