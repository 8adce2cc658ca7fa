import type { TokenType } from '../../generated/sqlite/client.ts';
import type { ProjectRole } from '../../platform/auth/viewer.ts';
import { type InputIssue, invalid } from '../../platform/errors.ts';
import { MAX_NAME, textIssues } from '../../platform/text/texts.ts';

export interface NewToken {
  readonly projectId: string;
  readonly name: string;
  readonly role: ProjectRole;
  /** Absent: as `brokerIds` says. */
  readonly type?: TokenType | null | undefined;
  /** Only these brokers of the project; null or absent: all, also later ones. */
  readonly brokerIds?: readonly string[] | null | undefined;
  /** Null or absent: until revoked. */
  readonly validUntil?: Date | null | undefined;
}

/** Brokers that a token can be restricted to. */
const MAX_BROKERS = 1_000;

/** Errors: INVALID with every issue. */
export function checkedToken(input: NewToken): {
  readonly name: string;
  /** Null: unrestricted. */
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

/** An empty list is not taken for "all" unless the type says so: it may be what is left of a list. */
function restrictionIssues(brokerIds: readonly string[] | null, type: NewToken['type']): InputIssue[] {
  const path = 'input.brokerIds';
  const count = brokerIds?.length ?? 0;
  if (count > MAX_BROKERS) return [{ path, reason: `must name at most ${MAX_BROKERS} brokers` }];
  if (type === 'UNRESTRICTED') return count > 0 ? [{ path, reason: 'an unrestricted token is for all brokers' }] : [];
  const isRestricted = type === 'RESTRICTED' || brokerIds !== null;
  return isRestricted && count === 0 ? [{ path, reason: 'must name at least one broker' }] : [];
}

export const endIssues = (validUntil: Date | null): InputIssue[] =>
  validUntil !== null && validUntil.getTime() <= Date.now()
    ? [{ path: 'input.validUntil', reason: 'must be in the future' }]
    : [];
