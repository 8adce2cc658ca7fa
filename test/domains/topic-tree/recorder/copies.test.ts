import { expect, test } from 'vitest';
import { Copies } from '../../../../src/domains/topic-tree/recorder/copies.ts';

const counted = (messages: readonly (readonly [topic: string, payload: string, matching: number])[]): string[] => {
  const copies = new Copies();
  return messages
    .filter(([topic, payload, matching]) => !copies.isCopy(topic, Buffer.from(payload), matching))
    .map(([topic, payload]) => topic + payload);
};

test('of a broker that sends a copy for each subscription one counts', () => {
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

test('of a broker that sends each once all count, from the first that shows it on', () => {
  const sent = [
    ['a/b', '1', 2],
    ['a/b', '2', 2],
    ['a/b', '3', 2],
    ['a/b', '3', 2],
    ['a/b', '3', 2],
  ] as const;
  expect(counted(sent)).toEqual(['a/b1', 'a/b2', 'a/b3', 'a/b3', 'a/b3']);
});
