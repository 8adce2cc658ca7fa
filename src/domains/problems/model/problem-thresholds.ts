import { invalid } from '../../../platform/errors.ts';

interface Threshold {
  readonly fallback: number;
  readonly min: number;
  readonly max: number;
  readonly meaning: string;
}

const thresholds = <Name extends string>(table: Readonly<Record<Name, Threshold>>) => table;

/** Above these values a fact is a problem. A project may change them. docs/problems.md has this table. */
export const THRESHOLDS = thresholds({
  bridgeQueuedMessages: {
    fallback: 10_000,
    min: 1,
    max: 100_000_000,
    meaning: 'BRIDGE_QUEUE_FILLING: number of messages in the queue of a connection of a bridge.',
  },
  streamFailedPercent: {
    fallback: 10,
    min: 1,
    max: 100,
    meaning:
      'STREAM_FAILING: share of the messages of a stream that fail, in percent, of the last 10 seconds. If fewer than 3 fail in that time, all messages must fail.',
  },
  refusalsPerMinute: {
    fallback: 60,
    min: 1,
    max: 1_000_000,
    meaning: 'REFUSALS_RISING: number of refusals of a broker in a minute, as in the last 10 seconds.',
  },
  clientMessagesPerSecond: {
    fallback: 1_000,
    min: 1,
    max: 10_000_000,
    meaning: 'CLIENT_FLOODING: number of messages that one client sends in a second.',
  },
  droppedPerMinute: {
    fallback: 60,
    min: 1,
    max: 100_000_000,
    meaning: 'QUEUES_DROPPING: number of messages that a broker drops in a minute.',
  },
  certificateDays: {
    fallback: 14,
    min: 0,
    max: 3_650,
    meaning: 'CERTIFICATE_EXPIRING: days before the certificate expires.',
  },
  tokenDays: { fallback: 7, min: 0, max: 3_650, meaning: 'TOKEN_EXPIRING: days before the token expires.' },
});

export type ThresholdName = keyof typeof THRESHOLDS;
export type Thresholds = Readonly<Record<ThresholdName, number>>;
type ThresholdChange = { readonly [Name in ThresholdName]?: number | null | undefined };

export const thresholdNames = Object.keys(THRESHOLDS) as readonly ThresholdName[];

const DEFAULTS = Object.fromEntries(thresholdNames.map((name) => [name, THRESHOLDS[name].fallback])) as Thresholds;

/** Thresholds from the column of a project. Values that do not fit are ignored. */
export function thresholdsOf(text: string | null): Thresholds {
  return text === null ? DEFAULTS : { ...DEFAULTS, ...changesIn(text) };
}

/** The new text of the column. Null sets a default again. Errors: INVALID. */
export function changedThresholds(text: string | null, change: ThresholdChange): string | null {
  const known: Record<string, number> = text === null ? {} : changesIn(text);
  const issues = thresholdNames.flatMap((name) => {
    const value = change[name];
    const { min, max } = THRESHOLDS[name];
    if (value === null) delete known[name];
    if (value == null) return [];
    known[name] = value;
    return value < min || value > max ? [{ path: `input.${name}`, reason: `must be ${min} to ${max}` }] : [];
  });
  if (issues.length > 0) throw invalid(issues);
  return Object.keys(known).length === 0 ? null : JSON.stringify(known);
}

function changesIn(text: string): Record<string, number> {
  const values: unknown = JSON.parse(text);
  if (typeof values !== 'object' || values === null) return {};
  return Object.fromEntries(
    Object.entries(values).filter((entry): entry is [string, number] => {
      const [name, value] = entry;
      return Object.hasOwn(THRESHOLDS, name) && typeof value === 'number';
    }),
  );
}
