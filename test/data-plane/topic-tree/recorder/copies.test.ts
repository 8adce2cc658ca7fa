import { expect, test } from 'vitest';
import { Copies } from '../../../../src/data-plane/topic-tree/recorder/copies.ts';

const counted = (messages: readonly (readonly [topic: string, payload: string, matching: number])[]): string[] => {
  const copies = new Copies();
  return messages
    .filter(([topic, payload, matching]) => !copies.isCopy(topic, Buffer.from(payload), matching))
    .map(([topic, payload]) => topic + payload);
};

test('if a broker sends a copy for each subscription, one of them is counted', () => {
  const sent = [
    ['a/b', '1', 2],
    ['a/b', '1', 2],
    ['a/b', '1', 2],
    ['a/b', '1', 2],
    ['c', '1', 1],
    ['c', '1', 1],
    ['a/b', '2', 2],
    ['a/b', '2', 2],
  ] as const;
  expect(counted(sent)).toEqual(['a/b1', 'a/b1', 'c1', 'c1', 'a/b2']);
});

test('if a broker sends each message once, all are counted as soon as this is known', () => {
  const sent = [
    ['a/b', '1', 2],
    ['a/b', '2', 2],
    ['a/b', '3', 2],
    ['a/b', '3', 2],
    ['a/b', '3', 2],
  ] as const;
  expect(counted(sent)).toEqual(['a/b1', 'a/b2', 'a/b3', 'a/b3', 'a/b3']);
});
