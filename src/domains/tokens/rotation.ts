import type { ProjectToken } from '../../generated/sqlite/client.ts';
import { invalid } from '../../platform/errors.ts';
import { endIssues } from './new-token.ts';

export interface Rotation {
  /** How long the previous secret remains valid, in seconds. Default: one hour. */
  readonly overlapSeconds?: number | null | undefined;
  readonly validUntil?: Date | null | undefined;
}

export const DEFAULT_OVERLAP_SECONDS = 3_600;
export const MAX_OVERLAP_SECONDS = 30 * 86_400;

/** The new ends of the token and of its current secret, `null` if that expires immediately. Errors: INVALID. */
export function checkedRotation(
  before: Pick<ProjectToken, 'validUntil'>,
  { overlapSeconds, validUntil = before.validUntil }: Rotation,
): { readonly validUntil: Date | null; readonly previousValidUntil: Date | null } {
  const seconds = overlapSeconds ?? DEFAULT_OVERLAP_SECONDS;
  const issues = endIssues(validUntil);
  if (!(seconds >= 0 && seconds <= MAX_OVERLAP_SECONDS)) {
    issues.push({ path: 'input.overlapSeconds', reason: `must be 0 to ${MAX_OVERLAP_SECONDS}` });
  }
  if (issues.length > 0) throw invalid(issues);
  return { validUntil, previousValidUntil: seconds === 0 ? null : new Date(Date.now() + seconds * 1_000) };
}
