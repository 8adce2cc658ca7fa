import { expect, test } from 'vitest';
import { DroppedMessages } from '../../../../src/domains/topic-tree/live/dropped-messages.ts';

/** The history of a broker: dropped messages by time. */
function sysOf(told: readonly (readonly [date: number, dropped: number])[]) {
  const history = told.map(([date, dropped]) => ({
    date,
    topics: { broker: { publish: { messages: { dropped: String(dropped) } } } },
  }));
  return { history: () => history, valueOf: () => String(told.at(-1)?.[1]) };
}

test('messages that a broker dropped are counted from the start of a recording, and from 0 after a broker restart', () => {
  const told: [number, number][] = [
    [10, 5],
    [20, 7],
    [30, 12],
  ];
  const sys = { history: () => sysOf(told).history(), valueOf: () => sysOf(told).valueOf() };
  const dropped = new DroppedMessages(sys);
  expect(dropped.since(null)).toBeNull();
  expect(dropped.since(25)).toBe(5);
  told.push([40, 20]);
  expect(dropped.since(25)).toBe(13);
  expect(dropped.since(40)).toBe(0);
  told.push([50, 3]);
  expect(dropped.since(40)).toBe(3);
  // Of the time when it began nothing is known: from the earliest number that is.
  const later = sysOf([
    [30, 12],
    [40, 20],
  ]);
  expect(new DroppedMessages(later).since(1)).toBe(8);
});

test('a number that is first reported during the recording means that at least one message was dropped', () => {
  const silent = { date: 10, topics: { broker: { uptime: '1 seconds' } } };
  const grown = (dropped: number, date: number) => sysOf([[date, dropped]]).history();
  const from = (dropped: number, date: number) =>
    new DroppedMessages({ history: () => [silent, ...grown(dropped, date)], valueOf: () => String(dropped) }).since(15);
  expect(from(700, 20)).toBe(1);
  expect(from(0, 20)).toBe(0);
  expect(new DroppedMessages({ history: () => [silent], valueOf: () => '700' }).since(15)).toBe(1);
  // Reported before the recording began.
  expect(from(700, 15)).toBe(0);
});

test('the number of a broker that does not report it is null', () => {
  const silent = new DroppedMessages({ history: () => [], valueOf: () => null });
  expect(silent.since(10)).toBeNull();
});
