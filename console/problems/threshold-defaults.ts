/** Defaults and bounds of thresholds, which the graph has only in descriptions. A test compares them. */
export const DEFAULTS = {
  bridgeQueuedMessages: { fallback: 10_000, min: 1, max: 100_000_000 },
  streamFailedPercent: { fallback: 10, min: 1, max: 100 },
  refusalsPerMinute: { fallback: 60, min: 1, max: 1_000_000 },
  clientMessagesPerSecond: { fallback: 1_000, min: 1, max: 10_000_000 },
  droppedPerMinute: { fallback: 60, min: 1, max: 100_000_000 },
  certificateDays: { fallback: 14, min: 0, max: 3_650 },
  tokenDays: { fallback: 7, min: 0, max: 3_650 },
} as const;

export type ThresholdName = keyof typeof DEFAULTS;

const isName = (key: string): key is ThresholdName => key in DEFAULTS;

export const thresholdNames = Object.keys(DEFAULTS).filter(isName);
