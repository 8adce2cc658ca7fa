import { Broadcast } from '../../../gateway/live/broadcast.ts';
import { keyOf } from '../../../protocol/apis/clients/client-key.ts';
import type { ConnectedClientSummary } from '../../../protocol/apis/clients/inspect-data.ts';
import type { Fits } from './client-filter.ts';
import {
  type ClientChange,
  type ClientCounts,
  type ClientDifferencePart,
  type ClientListState,
  type ClientSnapshot,
  splitSnapshot,
  withUndecided,
} from './client-listing.ts';

interface ClientFeedOptions {
  /** `null`: all clients. */
  readonly matches: Fits | null;
  /** The matching clients in their current order. */
  readonly clients: () => readonly ConnectedClientSummary[];
  /** Number of clients that may match. */
  readonly undecided: () => number;
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
  #undecided = 0;
  /** Whether the list was complete at the last event. */
  #complete = false;

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
    const { matches } = this.#options;
    const now = matches === null ? part.changed : part.changed.filter((client) => matches(client) === true);
    const before = matches === null ? part.before : part.before.filter((client) => matches(client) === true);
    this.#undecided += undecidedIn(part.changed, matches) - undecidedIn(part.before, matches);
    const state = this.#state();
    if (now.length + before.length === 0 && state.complete === this.#complete) return;
    this.#complete = state.complete;
    const [added, replaced] = [countsOf(now), countsOf(before)];
    this.#counts = {
      total: this.#counts.total + added.total - replaced.total,
      connected: this.#counts.connected + added.connected - replaced.connected,
    };
    const remaining = new Set(now.map(keyOf));
    const gone = before.map(keyOf).filter((key) => !remaining.has(key));
    this.broadcast.publish({ changed: now, removed: gone, counts: this.#counts, ...state });
  }

  /** Call if changes were not published. All subscribers receive a GAP and a snapshot. */
  reset(): void {
    this.#counts = null;
    this.broadcast.reset();
  }

  #snapshot(): ClientSnapshot {
    const { clients, undecided, countsOnly } = this.#options;
    const list = clients();
    if (this.#counts === null) this.#undecided = undecided();
    this.#counts ??= countsOf(list);
    const state = this.#state();
    this.#complete = state.complete;
    return { clients: countsOnly ? [] : [...list], counts: this.#counts, ...state };
  }

  #state(): ClientListState {
    return withUndecided(this.#options.state(), this.#undecided);
  }
}

const undecidedIn = (clients: readonly ConnectedClientSummary[], matches: Fits | null): number =>
  matches === null ? 0 : clients.reduce((count, client) => (matches(client) === null ? count + 1 : count), 0);

const countsOf = (clients: readonly ConnectedClientSummary[]): ClientCounts => ({
  total: clients.length,
  connected: clients.reduce((count, { connected }) => (connected === false ? count : count + 1), 0),
});
