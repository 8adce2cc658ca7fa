import { Broadcast } from '../../../gateway/live/broadcast.ts';
import { keyOf } from './client-key.ts';
import {
  type ClientChange,
  type ClientCounts,
  type ClientDifferencePart,
  type ClientListState,
  type ClientSnapshot,
  splitSnapshot,
} from './client-listing.ts';
import type { ConnectedClientSummary } from './inspect-data.ts';

interface ClientFeedOptions {
  /** `null`: all clients. */
  readonly matches: ((client: ConnectedClientSummary) => boolean) | null;
  /** The matching clients in their current order. */
  readonly clients: () => readonly ConnectedClientSummary[];
  readonly state: () => ClientListState;
  /** Whether snapshots have no clients, only their counts. */
  readonly countsOnly: boolean;
  /** Maximum number of clients in the stored changes. */
  readonly maxStored: number;
}

/** The matching clients of one broker, for all subscribers who selected them. */
export class ClientFeed {
  readonly broadcast: Broadcast<ClientSnapshot, ClientChange>;
  readonly #options: ClientFeedOptions;
  /** `null` until the next snapshot, which all subscribers need first. Changes until then are in the snapshot. */
  #counts: ClientCounts | null = null;

  constructor(options: ClientFeedOptions) {
    this.#options = options;
    this.broadcast = new Broadcast(() => this.#snapshot(), {
      split: splitSnapshot,
      maxWeight: options.maxStored,
      weigh: ({ changed, removed }) => changed.length + removed.length,
    });
  }

  /** Publishes the matching part. A client that no longer matches is a removed client. */
  publish(part: ClientDifferencePart): void {
    if (this.#counts === null) return;
    const { matches, state } = this.#options;
    const now = matches === null ? part.changed : part.changed.filter(matches);
    const before = matches === null ? part.before : part.before.filter(matches);
    // Without clients, only the completeness of the list of all clients has changed.
    if (matches !== null && now.length + before.length === 0) return;
    const [added, replaced] = [countsOf(now), countsOf(before)];
    this.#counts = {
      total: this.#counts.total + added.total - replaced.total,
      connected: this.#counts.connected + added.connected - replaced.connected,
    };
    const remaining = new Set(now.map(keyOf));
    const gone = before.map(keyOf).filter((key) => !remaining.has(key));
    this.broadcast.publish({ changed: now, removed: gone, counts: this.#counts, ...state() });
  }

  /** Call if changes were not published. All subscribers receive a GAP and a snapshot. */
  reset(): void {
    this.#counts = null;
    this.broadcast.reset();
  }

  #snapshot(): ClientSnapshot {
    const { clients, state, countsOnly } = this.#options;
    const list = clients();
    this.#counts ??= countsOf(list);
    return { clients: countsOnly ? [] : [...list], counts: this.#counts, ...state() };
  }
}

const countsOf = (clients: readonly ConnectedClientSummary[]): ClientCounts => ({
  total: clients.length,
  connected: clients.reduce((count, { connected }) => (connected === false ? count : count + 1), 0),
});
