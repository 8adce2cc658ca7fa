import { test } from 'vitest';
import { followOutages } from './outages.ts';

test('each loss and return of the other broker is sent to a client of the graph, ten times', async () => {
  const { untilLost, untilBack } = await followOutages(10);
  const shown = (times: readonly number[]) => times.map((ms) => `${ms.toFixed(0)} ms`).join(', ');
  console.log(`bridgeStatus over WebSocket: lost after ${shown(untilLost)}; back after ${shown(untilBack)}`);
});
