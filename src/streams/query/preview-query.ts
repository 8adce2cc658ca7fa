import { type InputIssue, invalid } from '../../errors.ts';
import type { StreamQuery } from '../model/stream-query.ts';
import { compileQuery } from './compile-query.ts';
import { queryIssues } from './query-issues.ts';
import type { Processed } from './stream-processor.ts';

export interface PreviewOptions {
  /** When the first sample arrives, in epoch milliseconds. */
  readonly start: number;
  /** Between one sample and the next; at least 0, with a fraction if need be. */
  readonly spacingSeconds: number;
}

/** What becomes of one sample. */
export interface PreviewedSample {
  readonly outcome: Processed['outcome'];
  /** When it arrives, in epoch milliseconds. */
  readonly at: number;
  /** What would be published: the text, and the value in it; null unless it passes. */
  readonly payload: string | null;
  readonly output: unknown;
  /** Why it does not pass; null: it does. */
  readonly reason: string | null;
}

export const PREVIEW_LIMITS = {
  samples: 1_000,
  /** Characters of all samples, and of all outputs: what comes after is not told. */
  total: 4 * 1024 * 1024,
} as const;

/** What a Date can hold, in epoch milliseconds. */
const MAX_MOMENT = 8_640_000_000_000_000;

/**
 * What a query makes of samples that arrive one after the other, without a stream. A sample that is a text is a payload as it is; any
 * other value is sent as JSON. Errors: INVALID with JSON pointers to `/query`, `/samples`, `/start`, `/spacingSeconds`.
 */
export function previewQuery(
  query: unknown,
  samples: readonly unknown[],
  { start, spacingSeconds }: PreviewOptions,
): PreviewedSample[] {
  const payloads = samples.map(payloadOf);
  const issues = [...queryIssues(query), ...sampleIssues(payloads), ...clockIssues(start, spacingSeconds, samples)];
  if (issues.length > 0) throw invalid(issues);
  // It has no issues.
  const processor = compileQuery(query as StreamQuery);
  let shown = 0;
  return payloads.map((payload, index) => {
    const at = Math.round(start + index * spacingSeconds * 1_000);
    if (payload === null) return without('FAILED', at, 'the sample cannot be written as JSON');
    if (shown > PREVIEW_LIMITS.total) {
      return without('FAILED', at, `not tried: what is shown before has more than ${PREVIEW_LIMITS.total} characters`);
    }
    const processed = processor.process(Buffer.from(payload), at);
    if (processed.outcome !== 'PASS') return without(processed.outcome, at, processed.reason);
    const text = processed.text ?? payload;
    shown += text.length;
    return { outcome: 'PASS', at, payload: text, output: JSON.parse(text), reason: null };
  });
}

const without = (outcome: 'FILTERED' | 'FAILED', at: number, reason: string): PreviewedSample => ({
  outcome,
  at,
  payload: null,
  output: null,
  reason,
});

/** Null: it has no JSON, or is nested too deeply to be written. */
function payloadOf(sample: unknown): string | null {
  if (typeof sample === 'string') return sample;
  try {
    return JSON.stringify(sample) ?? null;
  } catch {
    return null;
  }
}

function sampleIssues(payloads: readonly (string | null)[]): InputIssue[] {
  const path = '/samples';
  const { samples, total } = PREVIEW_LIMITS;
  if (payloads.length > samples) return [{ path, reason: `must have at most ${samples} samples` }];
  const length = payloads.reduce((sum, payload) => sum + (payload?.length ?? 0), 0);
  return length > total ? [{ path, reason: `must have at most ${total} characters in all` }] : [];
}

function clockIssues(start: number, spacing: number, samples: readonly unknown[]): InputIssue[] {
  const isMoment = Math.abs(start) <= MAX_MOMENT;
  const end = (isMoment ? start : 0) + samples.length * spacing * 1_000;
  const issues: InputIssue[] = [];
  if (!isMoment) issues.push({ path: '/start', reason: 'must be a moment in epoch milliseconds' });
  if (!(spacing >= 0 && end <= MAX_MOMENT)) {
    issues.push({
      path: '/spacingSeconds',
      reason: 'must be at least 0, and bring no sample beyond what a date can be',
    });
  }
  return issues;
}
