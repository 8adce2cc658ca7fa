import type { Metric, Registry } from 'prom-client';

type Series = readonly [labels: Readonly<Record<string, string>>, value: number];

interface ReadMetric {
  readonly name: string;
  readonly help: string;
  /** The value, or the values of all series, whose labels have the same names. Values of the same series are added. */
  readonly read: () => number | readonly Series[];
}

/** A value as prom-client writes it. It formats each object of shared labels once. */
interface Value {
  readonly sharedLabels: Series[0];
  value: number;
}

/** Registers a gauge that is read at each scrape. */
export const readGauge = (registry: Registry, metric: ReadMetric): void => register(registry, 'gauge', metric);

/** Registers a counter that is counted elsewhere, and read at each scrape. */
export const readCounter = (registry: Registry, metric: ReadMetric): void => register(registry, 'counter', metric);

/**
 * A Gauge or Counter of prom-client would look up, copy and format each series: with 1,000 brokers that blocks the
 * event loop for longer than all else of a scrape.
 */
function register(registry: Registry, type: 'gauge' | 'counter', { name, help, read }: ReadMetric): void {
  let known: ReadonlyMap<string, Value> = new Map();
  const getForPromString = async () => {
    const values = new Map<string, Value>();
    const series = read();
    for (const [labels, value] of typeof series === 'number' ? [[{}, series] as const] : series) {
      const key = Object.values(labels).join('\n');
      const same = values.get(key);
      if (same) same.value += value;
      else values.set(key, { sharedLabels: known.get(key)?.sharedLabels ?? labels, value });
    }
    known = values;
    return { name, help, type, values: [...values.values()] };
  };
  // All that a registry uses of a metric.
  registry.registerMetric({ name, getForPromString } as unknown as Metric);
}
