import type { Registry } from 'prom-client';
import { readCounter, readGauge } from '../../platform/read-metrics.ts';
import { SlicedCalls } from '../../platform/scheduling/sliced-task.ts';
import { throttledRead } from '../../platform/scheduling/throttled-read.ts';
import { settledWithin } from '../../platform/scheduling/within.ts';
import type { BrokerRecord } from './broker-cache.ts';

/** The metrics of one kind of part of a broker, such as its streams: help texts by name. */
export interface PartMetrics<Count extends string, Size extends string> {
  readonly prefix: string;
  /** Numbers of messages, which only grow while a part runs. */
  readonly counts: Readonly<Record<Count, string>>;
  readonly sizes: Readonly<Record<Size, string>>;
  readonly parts: { readonly name: string; readonly help: string };
}

interface Reading<Count extends string, Size extends string> {
  /** Identifies the part and, if known, its run: another run counts from 0. */
  readonly key: string;
  readonly state: string;
  readonly counts: Readonly<Record<Count, number>>;
  readonly sizes: Readonly<Record<Size, number>>;
}

interface BrokerTotals<Count extends string, Size extends string> {
  /** Messages since this process first read each part. Never decreases, also if parts are removed. */
  readonly counts: Readonly<Record<Count, number>>;
  readonly states: ReadonlyMap<string, number>;
  readonly sizes: Readonly<Record<Size, number>>;
}

export type TotalsByBroker<Count extends string, Size extends string> = ReadonlyMap<string, BrokerTotals<Count, Size>>;

/** Longest wait for the readings of all brokers together. */
const MAX_READ_MS = 500;

/** Adds up the counts of the parts of brokers, from reading to reading. */
export class TotalsOfBrokers<Count extends string, Size extends string> {
  readonly #metrics: PartMetrics<Count, Size>;
  /** Ids of brokers whose reading has not ended. */
  readonly #reading = new Set<string>();
  readonly #known = new Map<string, { sums: BrokerSums<Count, Size>; last: BrokerTotals<Count, Size> }>();
  readonly #calls = new SlicedCalls();

  constructor(metrics: PartMetrics<Count, Size>) {
    this.#metrics = metrics;
  }

  /**
   * A broker that cannot be read, or not within MAX_READ_MS, has its last totals. Brokers that never had parts are left
   * out.
   */
  async read(
    brokers: readonly BrokerRecord[],
    readParts: (broker: BrokerRecord) => Promise<readonly Reading<Count, Size>[]>,
  ): Promise<TotalsByBroker<Count, Size>> {
    const read = async (broker: BrokerRecord) => {
      const readings = await readParts(broker).finally(() => this.#reading.delete(broker.id));
      const sums = this.#known.get(broker.id)?.sums ?? new BrokerSums(this.#metrics);
      const last = sums.take(readings);
      if (readings.length > 0 || this.#known.has(broker.id)) this.#known.set(broker.id, { sums, last });
    };
    const begin = (broker: BrokerRecord) => {
      this.#reading.add(broker.id);
      return new Promise<void>((ended) => this.#calls.add(() => void read(broker).then(ended, () => ended())));
    };
    await settledWithin(MAX_READ_MS, brokers.filter(({ id }) => !this.#reading.has(id)).map(begin));
    return new Map(
      brokers.flatMap(({ id }) => {
        const known = this.#known.get(id);
        return known === undefined ? [] : [[id, known.last] as const];
      }),
    );
  }

  remove(brokerId: string): void {
    this.#known.delete(brokerId);
  }
}

export class BrokerSums<Count extends string, Size extends string> {
  readonly #counts: Record<Count, number>;
  readonly #sizeNames: readonly Size[];
  #last: ReadonlyMap<string, Reading<Count, Size>> = new Map();

  constructor({ counts, sizes }: PartMetrics<Count, Size>) {
    this.#counts = Object.fromEntries(namesOf(counts).map((name) => [name, 0])) as Record<Count, number>;
    this.#sizeNames = namesOf(sizes);
  }

  take(readings: readonly Reading<Count, Size>[]): BrokerTotals<Count, Size> {
    const states = new Map<string, number>();
    for (const { key, counts, state } of readings) {
      const last = this.#last.get(key)?.counts;
      for (const name of namesOf(this.#counts)) {
        // A lower count belongs to a new run, whose messages all count.
        const before = last !== undefined && last[name] <= counts[name] ? last[name] : 0;
        this.#counts[name] += counts[name] - before;
      }
      states.set(state, (states.get(state) ?? 0) + 1);
    }
    this.#last = new Map(readings.map((reading) => [reading.key, reading]));
    const sums = this.#sizeNames.map((name) => [name, readings.reduce((sum, { sizes }) => sum + sizes[name], 0)]);
    return { counts: { ...this.#counts }, states, sizes: Object.fromEntries(sums) as Record<Size, number> };
  }
}

/**
 * Registers the metrics of the parts that this process runs, added up per broker: a series per part would be too many
 * for large installations. Returns a function to await before each scrape.
 */
export function registerTotals<Count extends string, Size extends string>(
  { prefix, counts, sizes, parts }: PartMetrics<Count, Size>,
  source: () => Promise<TotalsByBroker<Count, Size>>,
  registry: Registry,
): () => Promise<void> {
  const metricName = (name: string) => `brokergraph_${prefix}_${name.replace(/[A-Z]/g, (x) => `_${x.toLowerCase()}`)}`;
  let totals: TotalsByBroker<Count, Size> = new Map();
  const read = (numberIn: (total: BrokerTotals<Count, Size>) => number) => () =>
    Array.from(totals, ([broker, total]) => [{ broker }, numberIn(total)] as const);
  for (const name of namesOf(counts)) {
    const metric = { name: `${metricName(`messages_${name}`)}_total`, help: counts[name] };
    readCounter(registry, { ...metric, read: read((total) => total.counts[name]) });
  }
  for (const name of namesOf(sizes))
    readGauge(registry, { name: metricName(name), help: sizes[name], read: read((total) => total.sizes[name]) });
  readGauge(registry, {
    ...parts,
    read: () =>
      Array.from(totals, ([broker, { states }]) =>
        Array.from(states, ([state, count]) => [{ broker, state: state.toLowerCase() }, count] as const),
      ).flat(),
  });
  return throttledRead(async () => {
    totals = await source();
  });
}

const namesOf = <Name extends string>(record: Readonly<Record<Name, unknown>>) => Object.keys(record) as Name[];
