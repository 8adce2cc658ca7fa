import { expect, onTestFinished, test, vi } from 'vitest';
import type { BridgeLoop } from '../../../../src/data-plane/bridges/model/bridge-status.ts';
import { ReturnedMessages } from '../../../../src/data-plane/bridges/mqtt/returned-messages.ts';

function watching(stops: boolean) {
  vi.useFakeTimers({ toFake: ['performance', 'setInterval', 'clearInterval', 'Date'] });
  const loops: BridgeLoop[] = [];
  const returned = new ReturnedMessages({ stops, onLoop: (loop) => loops.push(loop), onChange: () => {} });
  onTestFinished(() => {
    returned.close();
    vi.useRealTimers();
  });
  /** How many of the messages are forwarded; one each `ms`. */
  const pass = (count: number, ms: number, messageOf: (index: number) => readonly [topic: string, text: string]) => {
    let forwarded = 0;
    for (let index = 0; index < count; index += 1) {
      const [topic, text] = messageOf(index);
      if (returned.arrived(topic, Buffer.from(text))) forwarded += 1;
      vi.advanceTimersByTime(ms);
    }
    return forwarded;
  };
  return { returned, loops, pass };
}

test('a message that comes back again and again is a loop, also if each round adds a prefix', () => {
  const { returned, loops, pass } = watching(false);
  expect(pass(50, 5, () => ['a/b', 'x'])).toBe(50);
  expect(returned.loop).toBeNull();
  expect(pass(50, 5, () => ['a/b', 'x'])).toBe(50);
  expect(loops).toMatchObject([{ topic: 'a/b', isStopped: false }]);
  expect(returned.count).toBe(50);
  // Nothing comes back any more.
  vi.advanceTimersByTime(20_000);
  expect(returned.loop).toBeNull();
  expect(pass(60, 5, (index) => [`${'p/'.repeat(index)}c`, 'y'])).toBe(60);
  expect(loops[1]).toMatchObject({ topic: `${'p/'.repeat(50)}c` });
});

test('other messages are none: other payloads, other topics, the same from time to time', () => {
  const { returned, pass } = watching(true);
  expect(pass(5_000, 1, (index) => ['a/b', String(index)])).toBe(5_000);
  expect(pass(5_000, 1, (index) => [`device-${index}/status`, 'online'])).toBe(5_000);
  expect(pass(100, 1_000, () => ['a/b', 'same'])).toBe(100);
  expect(pass(100, 11_000, () => ['a/b', 'same'])).toBe(100);
  expect([returned.loop, returned.count]).toEqual([null, 0]);
});

test('a loop is stopped, and the next messages of its topic are forwarded once', () => {
  const { returned, pass } = watching(true);
  expect(pass(1_000, 1, () => ['a/b', 'x'])).toBe(50);
  expect(pass(100, 1, () => ['a/b', 'next'])).toBe(1);
  expect(pass(100, 1, () => ['other', 'next'])).toBe(50);
  expect(returned.loop).toMatchObject({ topic: 'a/b', isStopped: true });
  // A value that a device repeats is still forwarded, and is free ten minutes later.
  vi.advanceTimersByTime(10_000);
  expect(pass(2, 1_000, () => ['a/b', 'x'])).toBe(1);
  vi.advanceTimersByTime(610_000);
  expect(pass(20, 1_000, () => ['a/b', 'x'])).toBe(20);
});

test('memory is bounded', () => {
  const { returned, pass } = watching(true);
  expect(pass(30_000, 0, (index) => [`t/${index}`, 'x'])).toBe(30_000);
  expect(pass(49, 0, () => ['t/0', 'x'])).toBe(49);
  expect(returned.count).toBe(0);
});
