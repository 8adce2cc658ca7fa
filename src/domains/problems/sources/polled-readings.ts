import { SlicedCalls } from '../../../platform/scheduling/sliced-task.ts';
import { within } from '../../../platform/scheduling/within.ts';
import type { BrokerRecord } from '../../brokers/broker-cache.ts';
import { isDue } from '../model/problem-kinds.ts';

interface PolledReadingsOptions<Value> {
  /** How often a broker is read, in milliseconds; up to MAX_EVERY_MS if there are very many. */
  readonly everyMs: number;
  readonly read: (broker: BrokerRecord) => Promise<Value>;
}

const MAX_READ_MS = 5_000;
/** A reading takes about 0.3 ms of processor time: 50 in a second, 1.5 %. */
const MS_PER_BROKER = 20;
/** So that a fact is found within half a minute, also of more brokers than 1,000. */
const MAX_EVERY_MS = 20_000;
/** Values live so many intervals. */
const LIVES = 4;

/** Values of brokers that are read from time to time. A failed read leaves the last value until it is too old. */
export class PolledReadings<Value> {
  readonly #options: PolledReadingsOptions<Value>;
  readonly #values = new Map<string, { readonly at: number; readonly value: Value }>();
  readonly #startedAt = new Map<string, number>();
  readonly #running = new Set<string>();
  readonly #calls = new SlicedCalls();
  #everyMs: number;

  constructor(options: PolledReadingsOptions<Value>) {
    this.#options = options;
    this.#everyMs = options.everyMs;
  }

  /** Starts to read those of the brokers that are due. Evicts all others. */
  refresh(brokers: readonly BrokerRecord[]): void {
    const ids = new Set(brokers.map(({ id }) => id));
    for (const known of [this.#values, this.#startedAt]) {
      for (const id of known.keys()) if (!ids.has(id)) known.delete(id);
    }
    this.#everyMs = Math.max(this.#options.everyMs, Math.min(MAX_EVERY_MS, brokers.length * MS_PER_BROKER));
    const now = performance.now();
    const isWanted = ({ id }: BrokerRecord) =>
      !this.#running.has(id) && isDue(this.#everyMs, this.#startedAt.get(id) ?? Number.NEGATIVE_INFINITY, now);
    for (const broker of brokers.filter(isWanted)) {
      this.#startedAt.set(broker.id, now);
      this.#running.add(broker.id);
      // Thousands of readings that start at once would block the event loop.
      this.#calls.add(() => void this.#read(broker));
    }
  }

  /** For how long growth counts that a reading finds: at least `leastMs`, and until the next reading. */
  windowMs(leastMs: number): number {
    return Math.max(leastMs, this.#everyMs + MAX_READ_MS);
  }

  /** `null` if it is not known, or too old. */
  of(brokerId: string): Value | null {
    const known = this.#values.get(brokerId);
    if (known === undefined) return null;
    return performance.now() - known.at > LIVES * this.#everyMs + MAX_READ_MS ? null : known.value;
  }

  async #read(broker: BrokerRecord): Promise<void> {
    const { id } = broker;
    const late = () => new Error('The broker took too long');
    try {
      const value = await within(MAX_READ_MS, this.#options.read(broker), late);
      if (this.#startedAt.has(id)) this.#values.set(id, { at: performance.now(), value });
    } catch {
      // The broker is away, or does not respond: another source says so.
    } finally {
      this.#running.delete(id);
    }
  }
}
