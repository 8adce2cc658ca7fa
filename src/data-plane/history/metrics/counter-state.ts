import { ByteReader, ByteWriter } from './bytes.ts';
import { MAX, MEAN, type Measured, MISSED, NUMBERS, nothingMeasured, SUM } from './measured.ts';
import { COUNTERS, FIRST_COUNTER, isCounter, METRICS, type MetricSample } from './metric.ts';

/** The counters of a broker at its last sample, so that the next one is compared with it also after a restart. */
export interface CounterState {
  readonly at: number;
  readonly uptimeSeconds: number | null;
  /** In the order of METRICS, without the values that are no counters. */
  readonly counters: readonly (number | null)[];
}

export const stateOf = ({ at, uptimeSeconds, values }: MetricSample): CounterState => ({
  at,
  uptimeSeconds,
  counters: values.slice(FIRST_COUNTER),
});

interface Change {
  readonly coveredMs: number;
  readonly measured: Measured;
}

/** A longer time without a sample was not measured, although the connection remained. */
const LONGEST_MS = 900_000;
/** Between the clocks of the broker and of this service, and the delay of messages. */
const UPTIME_SLACK_MS = 30_000;

/**
 * What a sample says about the time since the one before: the rates of its counters if the broker was followed
 * meanwhile, and otherwise what they increased by. Counters of a broker that has restarted began with zero.
 */
export function changeOf(before: CounterState | null, sample: MetricSample): Change {
  const measured = nothingMeasured();
  const elapsedMs = before === null ? 0 : elapsedSince(before, sample);
  const isRestarted = before !== null && hasRestarted(before, sample, elapsedMs);
  const isMeasured = sample.isContinued && !isRestarted && elapsedMs > 0 && elapsedMs <= LONGEST_MS;
  for (const [metric, value] of sample.values.entries()) {
    if (value === null || metric >= METRICS.length) continue;
    const first = metric * NUMBERS;
    if (!isCounter(metric)) {
      measured.fill(value, first + MEAN, first + MAX + 1);
      continue;
    }
    const previous = before?.counters[metric - FIRST_COUNTER] ?? null;
    if (previous === null) continue;
    const increase = isRestarted || value < previous ? value : value - previous;
    if (!isMeasured) {
      measured[first + MISSED] = increase;
      continue;
    }
    measured.fill((increase * 1_000) / elapsedMs, first + MEAN, first + MAX + 1);
    measured[first + SUM] = increase;
  }
  return { coveredMs: isMeasured ? elapsedMs : 0, measured };
}

/** In milliseconds, by the clock of the broker if that of this service was set back meanwhile; 0: unknown. */
function elapsedSince({ at, uptimeSeconds }: CounterState, now: MetricSample): number {
  if (now.at > at) return now.at - at;
  return Math.max(0, ((now.uptimeSeconds ?? 0) - (uptimeSeconds ?? Number.POSITIVE_INFINITY)) * 1_000);
}

function hasRestarted(before: CounterState, now: MetricSample, elapsedMs: number): boolean {
  if (before.uptimeSeconds === null || now.uptimeSeconds === null) return false;
  const expectedMs = before.uptimeSeconds * 1_000 + elapsedMs;
  return now.uptimeSeconds < before.uptimeSeconds || now.uptimeSeconds * 1_000 + UPTIME_SLACK_MS < expectedMs;
}

export function stateBytes({ at, uptimeSeconds, counters }: CounterState): Buffer {
  const writer = new ByteWriter();
  for (const value of [at, uptimeSeconds, ...counters]) writer.count(value === null ? 0 : value + 1);
  return writer.bytes();
}

export function stateFrom(bytes: Uint8Array): CounterState {
  const reader = new ByteReader(bytes);
  const next = () => {
    const value = reader.count();
    return value === 0 ? null : value - 1;
  };
  const at = next() ?? 0;
  const uptimeSeconds = next();
  return { at, uptimeSeconds, counters: Array.from({ length: COUNTERS }, () => (reader.isAtEnd ? null : next())) };
}
