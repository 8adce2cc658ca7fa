import type { QueueRow } from '../queue-disk.ts';

export interface QueuePlace {
  readonly brokerId: string;
  readonly bridgeId: string;
  /** See queueKey. */
  readonly key: string;
}

/**
 * The right to change a queue. It ends when another owner takes the queue over, and when its owner begins the next turn
 * because it does not know what became of a statement, which may still arrive.
 */
export interface QueueTurn {
  readonly id: number;
  readonly owner: string;
  readonly turn: number;
}

export interface QueueChange {
  readonly turn: QueueTurn;
  readonly added: readonly QueueRow[];
  /** Ranges of ids, inclusive. */
  readonly gone: readonly { readonly first: number; readonly last: number }[];
  readonly signal: AbortSignal;
}

/** Another process has the queue, or it was deleted. */
export class QueueTaken extends Error {
  override readonly name = 'QueueTaken';

  constructor() {
    super('Another process has taken over the queue, or its broker was deleted');
  }
}
