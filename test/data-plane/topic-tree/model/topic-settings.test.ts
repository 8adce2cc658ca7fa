import { expect, test } from 'vitest';
import { idleMs } from '../../../../src/data-plane/topic-tree/model/topic-settings.ts';

test('a recording without requests continues for ten minutes, two TTLs if that is longer, and at most an hour', () => {
  const minutes = (ttlSeconds: number) => idleMs({ ttlSeconds }) / 60_000;
  expect([minutes(1), minutes(300), minutes(600), minutes(86_400)]).toEqual([10, 10, 20, 60]);
});
