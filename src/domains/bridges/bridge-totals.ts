import type { BridgeConnectionState, BridgeConnectionStatus } from './model/bridge-status.ts';

/** What is counted of connections of bridges. */
export const COUNTED = ['received', 'delivered', 'dropped', 'rejected'] as const;
export type Counted = (typeof COUNTED)[number];

/** Of all bridges that this service runs beside one broker. */
export interface BridgeTotals {
  /** Messages, since this process first looked; it never falls, also when connections are removed. */
  readonly counted: Readonly<Record<Counted, number>>;
  /** Connections by state, those that there are now. */
  readonly states: ReadonlyMap<BridgeConnectionState, number>;
  readonly queuedMessages: number;
  readonly queuedBytes: number;
}

/** Adds up what the connections of one broker's bridges have counted, from one look at them to the next. */
export class BridgeSums {
  readonly #counted: Record<Counted, number> = { received: 0, delivered: 0, dropped: 0, rejected: 0 };
  #last: ReadonlyMap<string, BridgeConnectionStatus> = new Map();

  /** `connections`: all of the broker, by bridge and name. */
  take(connections: ReadonlyMap<string, BridgeConnectionStatus>): BridgeTotals {
    const states = new Map<BridgeConnectionState, number>();
    let queuedMessages = 0;
    let queuedBytes = 0;
    for (const [key, now] of connections) {
      const last = this.#last.get(key);
      for (const name of COUNTED) {
        // Less than before is another run, of which all is new.
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
