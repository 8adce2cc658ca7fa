import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { MessageTail, type TailEvent } from '../../../src/domains/messages/message-tail.ts';

// The clock of the limits stands still.
beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }));
afterEach(() => void vi.useRealTimers());

const receive = (tail: MessageTail, topic: string, payload: string | Buffer = topic) =>
  tail.receive({ topic, payload: Buffer.from(payload), qos: 0, retain: false });

const tailOf = (maxRate: number, maxPayloadBytes = 100) => new MessageTail({ maxRate, maxPayloadBytes });

const messagesOf = (event: TailEvent) =>
  event.kind === 'SNAPSHOT' ? event.snapshot.messages : event.kind === 'CHANGE' ? event.change.messages : [];
const topicsOf = (event: TailEvent) => messagesOf(event).map(({ topic }) => topic);

async function next(events: AsyncIterator<TailEvent>): Promise<TailEvent> {
  const { value, done } = await events.next();
  if (done) throw new Error('The tail ended');
  return value;
}

test('messages in quick succession share an event, and omitted ones are counted in it', async () => {
  const tail = tailOf(3);
  const events = tail.watch({});
  expect(await next(events)).toMatchObject({ kind: 'SNAPSHOT', snapshot: { messages: [], isConnected: true } });
  for (let number = 0; number < 10; number += 1) receive(tail, `t${number}`);
  const event = await next(events);
  expect(topicsOf(event)).toEqual(['t0', 't1', 't2']);
  expect(event).toMatchObject({ kind: 'CHANGE', change: { leftOut: 7 } });
});

test('the number of omitted messages is sent within a second even without further messages', async () => {
  const tail = tailOf(1);
  const events = tail.watch({});
  await next(events);
  receive(tail, 'told');
  expect(topicsOf(await next(events))).toEqual(['told']);
  vi.useFakeTimers();
  receive(tail, 'left out');
  await vi.advanceTimersByTimeAsync(1_000);
  expect(await next(events)).toMatchObject({ kind: 'CHANGE', change: { messages: [], leftOut: 1 } });
});

test('at most a megabyte of topics and payloads is sent per second, further messages are omitted', async () => {
  const tail = tailOf(1_000, 65_536);
  const events = tail.watch({});
  await next(events);
  for (let number = 0; number < 100; number += 1) receive(tail, 'large', Buffer.alloc(65_536));
  const event = await next(events);
  const told = messagesOf(event).length;
  // A second's worth at once, and what the copying took.
  expect(told).toBeGreaterThanOrEqual(15);
  expect(told).toBeLessThan(50);
  expect(event).toMatchObject({ change: { leftOut: 100 - told } });
});

test('only the sent part of a payload is copied', async () => {
  const tail = tailOf(10, 3);
  const events = tail.watch({});
  await next(events);
  const socketData = Buffer.from('abcdef');
  tail.receive({ topic: 't', payload: socketData, qos: 0, retain: true });
  socketData.fill(0);
  const [message] = messagesOf(await next(events));
  expect(message).toMatchObject({ payloadBytes: 6, retain: true });
  expect(message?.payload.toString()).toBe('abc');
});

test('a new subscriber receives the last hundred messages of a bounded size', async () => {
  const tail = tailOf(1_000, 65_536);
  const first = tail.watch({});
  await next(first);
  for (let number = 0; number < 150; number += 1) receive(tail, `t${number}`);
  await next(first);
  const snapshot = topicsOf(await next(tail.watch({})));
  expect(snapshot).toEqual(Array.from({ length: 100 }, (_, index) => `t${index + 50}`));

  for (let number = 0; number < 10; number += 1) receive(tail, `large${number}`, Buffer.alloc(60_000));
  await next(first);
  expect(topicsOf(await next(tail.watch({})))).toEqual(['large6', 'large7', 'large8', 'large9']);
});

test('a subscriber that reconnects continues, and one with an unknown number starts again', async () => {
  const tail = tailOf(100);
  const first = tail.watch({});
  await next(first);
  receive(tail, 'a');
  const { sequence } = await next(first);
  await first.return?.();
  const other = tail.watch({});
  await next(other);
  receive(tail, 'b');
  await next(other);

  const again = tail.watch({ after: sequence });
  expect(await next(again)).toMatchObject({ kind: 'RESUMED', sequence });
  expect(topicsOf(await next(again))).toEqual(['b']);
  expect(topicsOf(await next(tail.watch({ after: 1 })))).toEqual(['a', 'b']);
});

test('a slow subscriber receives one GAP, and continues from the last messages', async () => {
  const tail = tailOf(1_000);
  const quick = tail.watch({});
  const slow = tail.watch({ limit: 2 });
  await next(quick);
  await next(slow);
  for (const topic of ['a', 'b', 'c', 'd']) {
    receive(tail, topic);
    await next(quick);
  }
  expect(await next(slow)).toMatchObject({ kind: 'GAP', missed: 4 });
  const snapshot = await next(slow);
  expect(snapshot.kind).toBe('SNAPSHOT');
  expect(topicsOf(snapshot)).toEqual(['a', 'b', 'c', 'd']);
  receive(tail, 'e');
  expect(topicsOf(await next(slow))).toEqual(['e']);
});

test('the loss of the connection and its return are sent in order', async () => {
  const tail = tailOf(100);
  const events = tail.watch({});
  await next(events);
  receive(tail, 'before');
  tail.connectionChanged(false);
  tail.connectionChanged(false);
  tail.connectionChanged(true);
  receive(tail, 'after');
  const told = [await next(events), await next(events), await next(events), await next(events)];
  expect(told.map((event) => [topicsOf(event), event.kind === 'CHANGE' && event.change.isConnected])).toEqual([
    [['before'], true],
    [[], false],
    [[], true],
    [['after'], true],
  ]);
});

test('the end is sent after the remaining messages, with its reason', async () => {
  const tail = tailOf(1);
  const events = tail.watch({});
  await next(events);
  receive(tail, 'a');
  receive(tail, 'b');
  tail.close(new Error('no more'));
  expect(await next(events)).toMatchObject({ change: { leftOut: 1 } });
  await expect(events.next()).rejects.toThrow('no more');
  expect(tail.subscriberCount).toBe(0);
});
