import { expect, test } from 'vitest';
import { MessageTail, type TailEvent } from '../../../src/domains/messages/message-tail.ts';
import { TokenBucket } from '../../../src/domains/messages/token-bucket.ts';

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

test('a bucket lets through what was agreed, and after silence as much at once', () => {
  const bucket = new TokenBucket(10, 0);
  const taken = (now: number) => Array.from({ length: 100 }, () => bucket.take(1, now)).filter(Boolean).length;
  expect(taken(0)).toBe(10);
  expect(taken(99)).toBe(0);
  expect(taken(500)).toBe(5);
  expect(taken(60_000)).toBe(10);
});

test('messages of a short time ride in one event, and what is left out is counted with them', async () => {
  const tail = tailOf(3);
  const events = tail.watch({});
  expect(await next(events)).toMatchObject({ kind: 'SNAPSHOT', snapshot: { messages: [], isConnected: true } });
  for (let number = 0; number < 10; number += 1) receive(tail, `t${number}`);
  const event = await next(events);
  expect(topicsOf(event)).toEqual(['t0', 't1', 't2']);
  expect(event).toMatchObject({ kind: 'CHANGE', change: { leftOut: 7 } });
});

test('what is left out is told within a second although nothing else comes', async () => {
  const tail = tailOf(1);
  const events = tail.watch({});
  await next(events);
  receive(tail, 'told');
  expect(topicsOf(await next(events))).toEqual(['told']);
  const began = performance.now();
  receive(tail, 'left out');
  expect(await next(events)).toMatchObject({ kind: 'CHANGE', change: { messages: [], leftOut: 1 } });
  expect(performance.now() - began).toBeLessThan(1_000);
});

test('topics and payloads of a megabyte a second are told at most, the rest is left out', async () => {
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

test('a payload is copied as far as it is told', async () => {
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

test('a new subscriber gets the last hundred messages, of a bounded size', async () => {
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

test('who comes back goes on where it was, and who names an unknown number begins anew', async () => {
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

test('who reads too slowly is told so once, and goes on from the last messages', async () => {
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

test('the loss of the connection and its return are told in their place', async () => {
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

test('the end comes after what is not told yet, with its reason', async () => {
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
