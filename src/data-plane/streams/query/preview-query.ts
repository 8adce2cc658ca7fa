import { type InputIssue, invalid, ServiceError } from '../../../platform/errors.ts';
import type { SlicedTask } from '../../../platform/scheduling/sliced-task.ts';
import { parseExactJson } from '../../../platform/text/exact-json.ts';
import { withWrittenNumbers } from '../../../platform/text/exact-number.ts';
import { isDeeper, MAX_WRITTEN_LEVELS } from '../../../platform/text/json-depth.ts';
import type { StreamQuery } from '../model/stream-query.ts';
import { compileQuery } from './compile-query.ts';
import { queryIssues } from './query-issues.ts';
import type { Processed, StreamProcessor } from './stream-processor.ts';

export interface PreviewOptions {
  readonly start: number;
  /** Interval between samples in seconds: at least 0, fractions allowed. */
  readonly spacingSeconds: number;
  /** Of all samples. */
  readonly topic: string;
}

export interface PreviewedSample {
  readonly outcome: Processed['outcome'];
  readonly at: number;
  readonly payload: string | null;
  readonly output: unknown;
  readonly reason: string | null;
}

export const PREVIEW_LIMITS = {
  samples: 1_000,
  total: 1024 * 1024,
} as const;

/** Maximum number of characters of samples and of both forms of outputs, of all previews of one request. */
interface PreviewBudget {
  readonly limit: number;
  charactersLeft: number;
}

/** `payload` and `output`. */
const FORMS = 2;

const MAX_MOMENT = 8_640_000_000_000_000;

/**
 * Runs a query on consecutive samples without a stream, one sample per step. A string sample is the payload itself; any
 * other value is sent as JSON.
 *
 * Errors: INVALID with JSON pointers to `/query`, `/samples`, `/start`, `/spacingSeconds`; TOO_LARGE when the budget is
 * used up.
 */
export function* previewQuery(
  asked: unknown,
  samples: readonly unknown[],
  { start, spacingSeconds, topic }: PreviewOptions,
  budget: PreviewBudget,
): SlicedTask<PreviewedSample[]> {
  spend(budget, 0);
  const query = withWrittenNumbers(asked);
  const payloads = samples.map(payloadOf);
  spend(budget, lengthOf(payloads));
  const issues = [...queryIssues(query), ...sampleIssues(payloads), ...clockIssues(start, spacingSeconds, samples)];
  if (issues.length > 0) throw invalid(issues);
  const processor = compileQuery(query as StreamQuery);
  const previewed: PreviewedSample[] = [];
  for (const [index, payload] of payloads.entries()) {
    yield;
    const at = Math.round(start + index * spacingSeconds * 1_000);
    previewed.push(
      payload === null ? without('FAILED', at, NO_JSON) : preview(processor, { payload, topic }, at, budget),
    );
  }
  return previewed;
}

function preview(
  processor: StreamProcessor,
  { payload, topic }: { readonly payload: string; readonly topic: string },
  at: number,
  budget: PreviewBudget,
): PreviewedSample {
  const message = { payload: Buffer.from(payload), topic, qos: 0 } as const;
  const processed = processor.process(message, at, Math.max(budget.charactersLeft / FORMS, 0));
  // Uses up the budget: further previews of the request are refused before they do any work.
  if (processed.outcome === 'FAILED' && processed.isTooLong) spend(budget, budget.charactersLeft + 1);
  if (processed.outcome !== 'PASS') return without(processed.outcome, at, processed.reason);
  const text = processed.text ?? payload;
  spend(budget, text.length * FORMS);
  return { outcome: 'PASS', at, payload: text, output: outputOf(text), reason: null };
}

/** `null` if the output is not JSON: an empty query passes any payload. */
function outputOf(text: string): unknown {
  try {
    return parseExactJson(text);
  } catch {
    return null;
  }
}

function spend(budget: PreviewBudget, characters: number): void {
  budget.charactersLeft -= characters;
  if (budget.charactersLeft >= 0) return;
  const { limit } = budget;
  const words = `The samples and outputs of all previews of a request have more than ${limit} characters: send fewer or smaller samples`;
  throw new ServiceError('TOO_LARGE', words, { info: { limit } });
}

const NO_JSON = 'the sample cannot be written as JSON';

const without = (outcome: 'FILTERED' | 'FAILED', at: number, reason: string): PreviewedSample => ({
  outcome,
  at,
  payload: null,
  output: null,
  reason,
});

/** Returns the payload, or `null` if the sample cannot be written as JSON or is nested too deeply. */
function payloadOf(sample: unknown): string | null {
  if (typeof sample === 'string') return sample;
  if (isDeeper(sample, MAX_WRITTEN_LEVELS)) return null;
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
  return lengthOf(payloads) > total ? [{ path, reason: `must have at most ${total} characters in all` }] : [];
}

const lengthOf = (payloads: readonly (string | null)[]): number =>
  payloads.reduce((sum, payload) => sum + (payload?.length ?? 0), 0);

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
