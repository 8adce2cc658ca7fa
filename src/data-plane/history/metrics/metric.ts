/** What the history stores of each broker. The order is that of stored rows: new ones are added at the end. */
export const METRICS = [
  'clients',
  'subscriptions',
  'retainedMessages',
  'queuedMessages',
  'queuedBytes',
  'messagesIn',
  'messagesOut',
  'messagesDropped',
  'bytesIn',
  'bytesOut',
  'refusals',
] as const;

export type Metric = (typeof METRICS)[number];

const GAUGES = 5;

/** Counters count since the start of the broker; the others are current values. */
export const isCounter = (metric: number): boolean => metric >= GAUGES;
export const COUNTERS = METRICS.length - GAUGES;
export const FIRST_COUNTER = GAUGES;

/** The values of a broker at one time. */
export interface MetricSample {
  readonly brokerId: string;
  /** Epoch milliseconds. */
  readonly at: number;
  readonly uptimeSeconds: number | null;
  /** Whether the broker was connected, and published, since the sample before. */
  readonly isContinued: boolean;
  /** In the order of METRICS, counters as the broker counts; `null`: unknown. */
  readonly values: readonly (number | null)[];
}

/** The samples of each are stored for its time, and rolled up to the next one. */
export const LEVELS = [
  { table: 'metrics_10s', stepMs: 10_000, keepMs: 8_100_000, partitionMs: 3_600_000 },
  { table: 'metrics_1m', stepMs: 60_000, keepMs: 176_400_000, partitionMs: 43_200_000 },
  { table: 'metrics_10m', stepMs: 600_000, keepMs: null, partitionMs: 86_400_000 },
] as const;

export type Level = (typeof LEVELS)[number];
