import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { PolledFeed, type PollSource } from '../../../src/gateway/live/polled-feed.ts';
import { ServiceError } from '../../../src/platform/errors.ts';

interface Count {
  readonly count: number;
}

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** A broker that answers polls with a count and sends events. */
class Broker implements PollSource<Count> {
  count = 0;
  pollCount = 0;
  failure: Error | null = null;
  /** Polls take as long as this promise. */
  answered: Promise<void> = Promise.resolve();
  readonly status = { state: 'CONNECTED' };
  readonly #onStatus = new Set<(status: { readonly state: string }) => void>();
  readonly #onEvent = new Set<(value: Count) => void>();

  async read(): Promise<Count> {
    this.pollCount += 1;
    const { count } = this;
    await this.answered;
    if (this.failure) throw this.failure;
    return { count };
  }

  onEvent(listener: (value: Count) => void) {
    this.#onEvent.add(listener);
    return () => this.#onEvent.delete(listener);
  }

  onStatus(listener: (status: { readonly state: string }) => void) {
    this.#onStatus.add(listener);
    return () => this.#onStatus.delete(listener);
  }

  send(count: number): void {
    for (const listener of this.#onEvent) listener({ count });
  }

  connectionIs(state: string): void {
    this.status.state = state;
    for (const listener of this.#onStatus) listener({ state });
  }
}

function openFeed() {
  const broker = new Broker();
  const onEnd = vi.fn();
  const onFault = vi.fn();
  const feed = new PolledFeed<Count>({ initial: { count: 0 }, onEnd, onFault });
  feed.attach(broker, broker);
  return { broker, feed, onEnd, onFault };
}

type Feed = ReturnType<typeof openFeed>['feed'];

/** The state that each event contains, and the stream. */
async function watch(feed: Feed) {
  const stream = await feed.watch({});
  const states: unknown[] = [];
  const take = () => {
    for (let event = stream.take(); event !== null; event = stream.take()) {
      if (event.kind === 'SNAPSHOT') states.push(event.snapshot);
      if (event.kind === 'CHANGE') states.push(event.change);
    }
    return states;
  };
  // The snapshot is that of the first read.
  take();
  return { stream, take };
}

test('the first event has the current value, and changes follow within a second', async () => {
  const { broker, feed } = openFeed();
  broker.count = 3;
  const { take } = await watch(feed);
  expect(take()).toEqual([{ count: 3, isConnected: true }]);
  broker.count = 4;
  await vi.advanceTimersByTimeAsync(1_000);
  expect(take().slice(1)).toEqual([{ count: 4, isConnected: true }]);
  await vi.advanceTimersByTimeAsync(3_000);
  expect(take()).toHaveLength(2);
  feed.close();
});

test('subscribers share polls, and nothing is polled without a subscriber', async () => {
  const { broker, feed } = openFeed();
  await vi.advanceTimersByTimeAsync(5_000);
  expect(broker.pollCount).toBe(0);
  const [one, other] = await Promise.all([watch(feed), watch(feed)]);
  expect(broker.pollCount).toBe(1);
  await vi.advanceTimersByTimeAsync(4_000);
  expect(broker.pollCount).toBe(5);
  await one.stream.return();
  await other.stream.return();
  await vi.advanceTimersByTimeAsync(5_000);
  expect(broker.pollCount).toBe(5);
  feed.close();
});

test('a broker that sends events is polled every fifth second', async () => {
  const { broker, feed } = openFeed();
  const { take } = await watch(feed);
  broker.send(7);
  expect(take().at(-1)).toEqual({ count: 7, isConnected: true });
  broker.count = 7;
  await vi.advanceTimersByTimeAsync(1_000);
  const before = broker.pollCount;
  await vi.advanceTimersByTimeAsync(20_000);
  expect(broker.pollCount - before).toBe(4);
  expect(take()).toHaveLength(2);
  feed.close();
});

test('an event during a poll is newer than the result of the poll', async () => {
  const { broker, feed } = openFeed();
  const { take } = await watch(feed);
  let answer = () => {};
  broker.answered = new Promise((resolve) => {
    answer = resolve;
  });
  broker.count = 1;
  await vi.advanceTimersByTimeAsync(1_000);
  broker.send(2);
  answer();
  await vi.advanceTimersByTimeAsync(1);
  expect(take().at(-1)).toEqual({ count: 2, isConnected: true });
  feed.close();
});

// The second response had to wait, such as for another process that takes over.
test.each([
  { responseMs: 500, nextAfterMs: 5_000 },
  { responseMs: 3_000, nextAfterMs: 10_000 },
])(
  'a broker that responds within $responseMs ms is polled again after $nextAfterMs ms',
  async ({ responseMs, nextAfterMs }) => {
    const { broker, feed } = openFeed();
    await watch(feed);
    let answer = () => {};
    broker.answered = new Promise((resolve) => {
      answer = resolve;
    });
    await vi.advanceTimersByTimeAsync(1_000);
    expect(broker.pollCount).toBe(2);
    await vi.advanceTimersByTimeAsync(responseMs);
    answer();
    await vi.advanceTimersByTimeAsync(nextAfterMs - responseMs - 1_000);
    expect(broker.pollCount).toBe(2);
    await vi.advanceTimersByTimeAsync(1_500);
    expect(broker.pollCount).toBe(3);
    feed.close();
  },
);

test('the last value remains while the broker is not connected or fails, and is polled at once on connection', async () => {
  const { broker, feed, onEnd, onFault } = openFeed();
  broker.count = 5;
  const { take } = await watch(feed);
  broker.failure = new ServiceError('BROKER_UNREACHABLE', 'The broker is not connected');
  broker.connectionIs('DISCONNECTED');
  await vi.advanceTimersByTimeAsync(2_000);
  expect(take().slice(1)).toEqual([{ count: 5, isConnected: false }]);
  expect((await watch(feed)).take()).toEqual([{ count: 5, isConnected: false }]);
  broker.failure = null;
  broker.count = 6;
  broker.connectionIs('CONNECTED');
  await vi.advanceTimersByTimeAsync(1);
  expect(take().at(-1)).toEqual({ count: 6, isConnected: true });
  expect(onEnd).not.toHaveBeenCalled();
  expect(onFault).not.toHaveBeenCalled();

  const faulty = new TypeError('a bug');
  broker.failure = faulty;
  await vi.advanceTimersByTimeAsync(1_000);
  expect(onFault).toHaveBeenCalledWith(faulty);
  feed.close();
});

test('a detached feed keeps its value and continues with another source', async () => {
  const { broker, feed } = openFeed();
  broker.count = 1;
  const { take } = await watch(feed);
  feed.detach();
  broker.send(9);
  expect(take().at(-1)).toEqual({ count: 1, isConnected: false });
  const next = new Broker();
  next.count = 2;
  feed.attach(next, next);
  await vi.advanceTimersByTimeAsync(1);
  expect(take().at(-1)).toEqual({ count: 2, isConnected: true });
  feed.close();
});

test('the feed ends with a failed first poll, a deleted object, or 10 seconds without subscribers', async () => {
  const failed = openFeed();
  failed.broker.failure = new ServiceError('BROKER_TIMEOUT', 'No response');
  await expect(failed.feed.watch({})).rejects.toMatchObject({ code: 'BROKER_TIMEOUT' });
  expect(failed.onEnd).toHaveBeenCalled();

  const deleted = openFeed();
  await watch(deleted.feed);
  deleted.broker.failure = new ServiceError('NOT_FOUND', 'No such bridge');
  await vi.advanceTimersByTimeAsync(1_000);
  expect(deleted.onEnd).toHaveBeenCalled();

  const idle = openFeed();
  const { stream } = await watch(idle.feed);
  await vi.advanceTimersByTimeAsync(20_000);
  expect(idle.onEnd).not.toHaveBeenCalled();
  await stream.return();
  await vi.advanceTimersByTimeAsync(9_000);
  expect(idle.onEnd).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(2_000);
  expect(idle.onEnd).toHaveBeenCalled();
  for (const { feed } of [failed, deleted, idle]) feed.close();
});
