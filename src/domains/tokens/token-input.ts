import type { ProjectToken, TokenType } from '../../generated/sqlite/client.ts';
import type { ProjectRole } from '../../platform/auth/viewer.ts';
import { type InputIssue, invalid } from '../../platform/errors.ts';
import { MAX_NAME, textIssues } from '../../platform/text/texts.ts';

export interface NewToken {
  readonly projectId: string;
  readonly name: string;
  readonly role: ProjectRole;
  readonly type?: TokenType | null | undefined;
  readonly brokerIds?: readonly string[] | null | undefined;
  readonly validUntil?: Date | null | undefined;
}

const MAX_BROKERS = 1_000;

export function checkedToken(input: NewToken): {
  readonly name: string;
  readonly brokerIds: readonly string[] | null;
  readonly validUntil: Date | null;
} {
  const name = input.name.trim();
  const brokerIds = input.brokerIds == null ? null : [...new Set(input.brokerIds)];
  const validUntil = input.validUntil ?? null;
  const issues = [
    ...textIssues('input.name', name, { min: 1, max: MAX_NAME }),
    ...restrictionIssues(brokerIds, input.type),
    ...endIssues(validUntil),
  ];
  if (issues.length > 0) throw invalid(issues);
  return { name, validUntil, brokerIds: input.type === 'UNRESTRICTED' ? null : brokerIds };
}

/** An empty list means all brokers only with UNRESTRICTED: a filter of the client may have emptied the list. */
function restrictionIssues(brokerIds: readonly string[] | null, type: NewToken['type']): InputIssue[] {
  const path = 'input.brokerIds';
  const count = brokerIds?.length ?? 0;
  if (count > MAX_BROKERS) return [{ path, reason: `must contain at most ${MAX_BROKERS} brokers` }];
  if (type === 'UNRESTRICTED') return count > 0 ? [{ path, reason: 'must be empty for an unrestricted token' }] : [];
  const isRestricted = type === 'RESTRICTED' || brokerIds !== null;
  return isRestricted && count === 0 ? [{ path, reason: 'must contain at least one broker' }] : [];
}

const endIssues = (validUntil: Date | null): InputIssue[] =>
  validUntil !== null && validUntil.getTime() <= Date.now()
    ? [{ path: 'input.validUntil', reason: 'must be in the future' }]
    : [];

export interface Rotation {
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
