import type { ProjectToken } from '../../generated/sqlite/client.ts';
import { invalid } from '../../platform/errors.ts';
import { endIssues } from './new-token.ts';

export interface Rotation {
  /** How long the secret before remains good, in seconds. Default: an hour. */
  readonly overlapSeconds?: number | null | undefined;
  /** A new end of the token; absent: as it was; null: until revoked. */
  readonly validUntil?: Date | null | undefined;
}

export const DEFAULT_OVERLAP_SECONDS = 3_600;
/** Whoever needs longer needs two tokens. */
export const MAX_OVERLAP_SECONDS = 30 * 86_400;

/** When the token ends, and the secret that it has now; null: the latter at once. Errors: INVALID. */
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
