import { test } from 'vitest';
import { showOutage } from './outage.ts';

const DOWN_MS = 30_000;

test('a server that is down for 30 s under load loses nothing', async () => {
  await showOutage({ during: () => new Promise((resolve) => setTimeout(resolve, DOWN_MS)) });
});
