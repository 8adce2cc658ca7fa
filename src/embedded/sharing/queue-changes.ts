import type { SharedQueueChanges } from '../store/message-queues.ts';
import type { QueueEntry, Session } from '../store/session.ts';
import { type NodeEntries, OwnEntry } from './node-entries.ts';

type Changes = { -readonly [Name in keyof NodeEntries['queues']]: NodeEntries['queues'][Name][number][] };

/**
 * What becomes of queued messages at this node, collected for one turn of the event loop: there are one or two of these for each message of
 * QoS 1 that a session gets, and nobody waits for them.
 */
export class QueueChanges implements SharedQueueChanges {
  readonly #numberOf: (clientId: string) => number;
  readonly #append: (entry: OwnEntry<'queues'>) => void;
  #changes: Changes | null = null;

  /** `numberOf` the connection that a client has here; 0: none. */
  constructor(numberOf: (clientId: string) => number, append: (entry: OwnEntry<'queues'>) => void) {
    this.#numberOf = numberOf;
    this.#append = append;
  }

  sent({ id }: Session, { position }: QueueEntry, packetId: number): boolean {
    const number = this.#numberOf(id);
    if (number === 0) return false;
    this.#collected().sent.push([id, number, position, packetId]);
    return true;
  }

  released({ id }: Session, { position }: QueueEntry): void {
    this.#collected().released.push([id, position]);
  }

  settled({ id }: Session, { position }: QueueEntry): void {
    this.#collected().settled.push([id, position]);
  }

  /** What was collected goes out now. */
  flush(): void {
    const changes = this.#changes;
    if (!changes) return;
    this.#changes = null;
    this.#append(new OwnEntry('queues', changes));
  }

  #collected(): Changes {
    if (!this.#changes) {
      this.#changes = { sent: [], released: [], settled: [] };
      setImmediate(() => this.flush());
    }
    return this.#changes;
  }
}
