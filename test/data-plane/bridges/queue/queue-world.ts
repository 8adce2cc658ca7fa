import { onTestFinished } from 'vitest';
import type { BridgeMessage } from '../../../../src/data-plane/bridges/model/bridge-message.ts';
import { BridgeQueue, type BridgeQueueOptions } from '../../../../src/data-plane/bridges/queue/bridge-queue.ts';
import type { QueueEntry } from '../../../../src/data-plane/bridges/queue/queue-entry.ts';
import type { BrokerStorage } from '../../../../src/data-plane/bridges/queue/queue-storage.ts';
import { groupOf } from '../../../../src/data-plane/bridges/queue/queue-store.ts';
import { sqliteQueues } from '../../../../src/data-plane/bridges/queue/sqlite-queues.ts';

export const LARGE = { maxMessages: 100_000, maxBytes: 256 * 1_048_576 } as const;

interface QueueOptions extends Partial<BridgeQueueOptions> {
  readonly folder: string;
  readonly name?: string;
  readonly storage?: BrokerStorage;
}

/** The group of queues of `webhook-bridge` of the broker `plant`. */
export const GROUP = groupOf('plant', 'webhook-bridge');

/** A queue that is alone in its file. `close` closes both. */
export async function openQueue({ folder, name = 'test', storage, ...options }: QueueOptions) {
  const problems: (string | null)[] = [];
  const store = sqliteQueues(GROUP, folder, storage);
  const queue = new BridgeQueue({
    log: await store.open(name),
    bounds: LARGE,
    onProblem: (reason) => problems.push(reason),
    ...options,
  });
  const close = async (how: { readonly discard: boolean }) => {
    await queue.close(how);
    await store.close(how);
  };
  onTestFinished(() => close({ discard: false }));
  return { queue, problems, close };
}

export const message = (text: string, about: Partial<BridgeMessage> = {}): BridgeMessage => ({
  topic: 'test/topic',
  payload: Buffer.from(text),
  qos: 1,
  retain: false,
  properties: null,
  receivedAt: Date.now(),
  ...about,
});

/** Resolves when what was handed over in this turn of the event loop, and the commits of it, are done. */
export function turns(count: number): Promise<void> {
  return new Promise((resolve) => {
    const next = (left: number) => (left === 0 ? resolve() : setImmediate(() => next(left - 1)));
    next(count);
  });
}

/** Takes some messages, when they are read. */
export function taken(queue: BridgeQueue, count: number): Promise<readonly QueueEntry[]> {
  return new Promise((resolve) => {
    const look = () => {
      const some = queue.take(count, LARGE.maxBytes);
      if (some.length === 0) return;
      stop();
      resolve(some);
    };
    const stop = queue.onReady(look);
    look();
  });
}

/** Takes and settles all there is. */
export async function drained(queue: BridgeQueue): Promise<string[]> {
  const found: string[] = [];
  while (queue.length > 0) {
    const some = await taken(queue, 700);
    found.push(...some.map((entry) => entry.message.payload.toString()));
    for (const entry of some) queue.settle(entry);
  }
  return found;
}
