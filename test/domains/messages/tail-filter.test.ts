import { expect, test } from 'vitest';
import { tailFilterProblem } from '../../../src/domains/messages/message-service.ts';

test('every filter for messages that a broker accepts is accepted', () => {
  const deep = Array(200).fill('a').join('/');
  for (const filter of ['a', '#', '+', '+/+', '/', 'a//b', 'a/+/#', '$SYS/#', 'a b/ü/💡', 'a/$share/b', deep]) {
    expect(tailFilterProblem(filter)).toBeNull();
  }
});

test.each([
  ['', 'empty'],
  ['a#', 'last level'],
  ['#/a', 'last level'],
  ['a+/b', 'whole level'],
  ['a\0', 'NUL'],
  ['a\n', 'control characters'],
  ['a\ud800', 'control characters'],
  ['a\uffff', 'control characters'],
  ['a'.repeat(65_536), '65535 bytes'],
  [Array(201).fill('a').join('/'), '200 levels'],
  ['$share/group/a', 'shared subscription'],
  ['$share', 'shared subscription'],
  ['$queue/a', 'shared subscription'],
  ['$CONTROL/#', '$CONTROL'],
  ['$CONTROL', '$CONTROL'],
])('%j is refused', (filter, reason) => {
  expect(tailFilterProblem(filter)).toContain(reason);
});
