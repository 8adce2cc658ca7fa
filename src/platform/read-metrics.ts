import { Counter, Gauge, type Registry } from 'prom-client';

type Series = readonly [labels: Readonly<Record<string, string>>, value: number];

interface ReadMetric {
  readonly name: string;
  readonly help: string;
  readonly labelNames?: readonly string[];
  /** The value, or the values of all series. Values of the same series are added. */
  readonly read: () => number | readonly Series[];
}

/** Registers a gauge that is read at each scrape. */
export const readGauge = (registry: Registry, metric: ReadMetric): void => void new Gauge(readBy(registry, metric));

/** Registers a counter that is counted elsewhere, and read at each scrape. */
export const readCounter = (registry: Registry, metric: ReadMetric): void => void new Counter(readBy(registry, metric));

const readBy = (registry: Registry, { read, ...metric }: ReadMetric) => ({
  ...metric,
  registers: [registry],
  collect(this: { reset(): void; inc(labels: Series[0], value: number): void }) {
    const values = read();
    this.reset();
    for (const [labels, value] of typeof values === 'number' ? [[{}, values] as const] : values)
      this.inc(labels, value);
  },
});
