import { expect, test, vi } from 'vitest';
import { Suspicion } from '../../../../src/data-plane/bridges/mqtt/suspicion.ts';
import type { QueueEntry } from '../../../../src/data-plane/bridges/queue/queue-entry.ts';
import { message } from '../queue/queue-world.ts';

const entry = (text: string): QueueEntry => ({ message: message(text) });

test('only what ends several calm connections, alone and at once, is to blame', () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  try {
    const suspicion = new Suspicion();
    const [first, other] = [entry('first'), entry('other')];
    const attempt = (sent: QueueEntry, then: () => void = () => undefined) => {
      suspicion.connected();
      expect(suspicion.most(10)).toBe(0);
      // However little the clock has moved: a timer may come a moment before its time.
      suspicion.calm();
      expect(suspicion.most(10)).toBe(1);
      suspicion.sent(sent);
      then();
      return suspicion.lost(1);
    };
    suspicion.connected();
    expect(suspicion.most(10)).toBe(10);
    expect(suspicion.lost(10)).toBeNull();
    expect([attempt(first), attempt(first), attempt(first)]).toEqual([null, null, first]);
    // The count starts again for another message, after no response, and after a slow disconnect.
    expect([attempt(other), attempt(first), attempt(first)]).toEqual([null, null, null]);
    expect(attempt(first, () => suspicion.unanswered())).toBeNull();
    expect(attempt(first, () => vi.advanceTimersByTime(60_000))).toBeNull();
    suspicion.connected();
    expect(suspicion.lost(0)).toBeNull();
    suspicion.taken();
    expect(suspicion.most(10)).toBe(10);
    expect(suspicion.lost(3)).toBeNull();
    suspicion.connected();
    expect(suspicion.most(10)).toBe(10);
  } finally {
    vi.useRealTimers();
  }
});
