import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { BridgeMessage } from '../../../../src/data-plane/bridges/model/bridge-message.ts';
import { BridgeQueue, type BridgeQueueOptions } from '../../../../src/data-plane/bridges/queue/bridge-queue.ts';
import { FileDisk } from '../../../../src/data-plane/bridges/queue/file-disk.ts';
import { queuePath } from '../../../../src/data-plane/bridges/queue/queue-file.ts';
import type { BrokerStorage } from '../../../../src/data-plane/bridges/queue/queue-storage.ts';

export function queueFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'brokergraph-queue-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export const LARGE = { maxMessages: 100_000, maxBytes: 256 * 1_048_576 } as const;

interface QueueOptions extends Partial<BridgeQueueOptions> {
  readonly folder: string;
  readonly name?: string;
  readonly storage?: BrokerStorage;
}

export function openQueue({ folder, name = 'test', storage, ...options }: QueueOptions) {
  const problems: (string | null)[] = [];
  const queue = new BridgeQueue({
    disk: new FileDisk(queuePath(folder, name), storage),
    bounds: LARGE,
    onProblem: (reason) => problems.push(reason),
    ...options,
  });
  onTestFinished(() => queue.close({ discard: true }));
  return { queue, problems };
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
