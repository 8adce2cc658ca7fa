import { Counter, Gauge, type Registry } from 'prom-client';
import { freshly } from '../../platform/scraped.ts';
import { COUNTED, type Counted, type StreamTotals } from './stream-totals.ts';

/** Totals by broker id. */
export type StreamMetricSource = () => Promise<ReadonlyMap<string, StreamTotals>>;

const HELP: Readonly<Record<Counted, string>> = {
  received: 'Messages that came in',
  published: 'Messages published on targets, and taken by the broker',
  stored: 'Messages stored',
  filtered: 'Messages left out by queries',
  failed: 'Messages that were no JSON, had no number where one is needed, or were refused by the broker',
  notStored: 'Messages not stored, because the disk use was at its bound or the disk failed',
  replayed: 'Messages published by replays',
};

/**
 * Metrics of the streams that this process runs, summed per broker. A series per stream would be too many for large
 * installations; the graph reports single streams.
 */
export class StreamMetrics {
  readonly #source: StreamMetricSource;
  readonly #counters: readonly (readonly [Counted, Counter<'broker'>])[];
  readonly #streams: Gauge<'broker' | 'state'>;
  readonly #storedBytes: Gauge<'broker'>;
  /** To be called before each scrape. */
  readonly read = freshly(() => this.#readNow());

  constructor(source: StreamMetricSource, registry: Registry) {
    const registers = [registry];
    this.#source = source;
    this.#counters = COUNTED.map((name) => {
      const snake = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
      const options = {
        name: `brokergraph_stream_messages_${snake}_total`,
        labelNames: ['broker'] as const,
        registers,
      };
      return [
        name,
        new Counter({ ...options, help: `${HELP[name]}, by all streams of a broker that run here` }),
      ] as const;
    });
    this.#streams = new Gauge({
      name: 'brokergraph_streams',
      help: 'Streams of a broker that run here, by their state',
      labelNames: ['broker', 'state'],
      registers,
    });
    this.#storedBytes = new Gauge({
      name: 'brokergraph_stream_stored_bytes',
      help: 'What stored messages of the streams of a broker take on disk',
      labelNames: ['broker'],
      registers,
    });
  }

  async #readNow(): Promise<void> {
    const totals = await this.#source();
    this.#streams.reset();
    this.#storedBytes.reset();
    for (const [name, counter] of this.#counters) {
      counter.reset();
      for (const [broker, { counted }] of totals) counter.inc({ broker }, counted[name]);
    }
    for (const [broker, { states, storedBytes }] of totals) {
      for (const [state, count] of states) this.#streams.set({ broker, state: state.toLowerCase() }, count);
      this.#storedBytes.set({ broker }, storedBytes);
    }
  }
}
