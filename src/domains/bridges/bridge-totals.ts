import type { BridgeConnectionState, BridgeConnectionStatus } from './model/bridge-status.ts';

/** The counters of a connection. */
export const COUNTED = ['received', 'delivered', 'dropped', 'rejected'] as const;
export type Counted = (typeof COUNTED)[number];

/** The totals of all bridges that the gateway runs for one broker. */
export interface BridgeTotals {
  /** Messages since this process first read the counters. Never decreases, also if connections are removed. */
  readonly counted: Readonly<Record<Counted, number>>;
  /** The number of current connections, by state. */
  readonly states: ReadonlyMap<BridgeConnectionState, number>;
  readonly queuedMessages: number;
  readonly queuedBytes: number;
}

/** Adds up the counters of the connections of one broker's bridges, from read to read. */
export class BridgeSums {
  readonly #counted: Record<Counted, number> = { received: 0, delivered: 0, dropped: 0, rejected: 0 };
  #last: ReadonlyMap<string, BridgeConnectionStatus> = new Map();

  /** `connections`: all connections of the broker, by bridge and name. */
  take(connections: ReadonlyMap<string, BridgeConnectionStatus>): BridgeTotals {
    const states = new Map<BridgeConnectionState, number>();
    let queuedMessages = 0;
    let queuedBytes = 0;
    for (const [key, now] of connections) {
      const last = this.#last.get(key);
      for (const name of COUNTED) {
        // A lower count belongs to a new run, whose messages all count.
        const before = last !== undefined && last[name] <= now[name] ? last[name] : 0;
        this.#counted[name] += now[name] - before;
      }
      states.set(now.state, (states.get(now.state) ?? 0) + 1);
      queuedMessages += now.queuedMessages;
      queuedBytes += now.queuedBytes;
    }
    this.#last = connections;
    return { counted: { ...this.#counted }, states, queuedMessages, queuedBytes };
  }
}
