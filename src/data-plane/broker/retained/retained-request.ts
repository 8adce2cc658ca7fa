import type { ReadingLimits, RetainedSnapshot } from '../store/retained-snapshot.ts';
import type { RetainedStore } from '../store/retained-store.ts';
import type { Subscription } from '../store/subscription.ts';
import type { RetainedMessage } from './retained-sender.ts';

/** Filters that are compared together. What their comparison needs takes several times the memory of the filters. */
const PART = 1_000;

interface Part {
  readonly snapshot: RetainedSnapshot;
  /** By topic filter. */
  readonly subscriptions: ReadonlyMap<string, Subscription>;
}

/** The retained messages of the subscriptions of one SUBSCRIBE, as of the call of the constructor. */
export class RetainedRequest {
  /** Whether SUBACK was sent. */
  isReady = false;
  readonly #store: RetainedStore;
  readonly #sequence: number;
  readonly #subscriptions: readonly Subscription[];
  #next = 0;
  #part: Part | null = null;

  /** `subscriptions`: with different filters. */
  constructor(store: RetainedStore, subscriptions: readonly Subscription[]) {
    this.#store = store;
    this.#sequence = store.sequence;
    this.#subscriptions = subscriptions;
  }

  /** Its memory, as a number of filters. */
  get weight(): number {
    return this.#subscriptions.length + 1;
  }

  /** Reads the next messages. `isBlocked`: `limits.take` has refused the message behind them. */
  read(limits: ReadingLimits): { messages: RetainedMessage[]; isDone: boolean; isBlocked: boolean } {
    this.#part ??= this.#nextPart();
    const { snapshot, subscriptions } = this.#part;
    const { matches, isDone, isBlocked } = snapshot.read(limits);
    const messages = matches.flatMap(({ packet, filter }) => {
      const subscription = subscriptions.get(filter);
      return subscription ? { packet, subscription } : [];
    });
    if (isDone) this.#part = null;
    return { messages, isDone: isDone && this.#next >= this.#subscriptions.length, isBlocked };
  }

  #nextPart(): Part {
    const part = this.#subscriptions.slice(this.#next, this.#next + PART);
    this.#next += PART;
    const subscriptions = new Map(part.map((subscription) => [subscription.topic, subscription]));
    return { snapshot: this.#store.snapshot([...subscriptions.keys()], this.#sequence), subscriptions };
  }
}
