import type { TokenType } from '../../generated/sqlite/client.ts';
import type { ProjectRole } from '../../platform/auth/viewer.ts';
import { type InputIssue, invalid } from '../../platform/errors.ts';
import { MAX_NAME, textIssues } from '../../platform/text/texts.ts';

export interface NewToken {
  readonly projectId: string;
  readonly name: string;
  readonly role: ProjectRole;
  readonly type?: TokenType | null | undefined;
  /** Visible brokers of the project. Default: all brokers, also later ones. */
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

export const endIssues = (validUntil: Date | null): InputIssue[] =>
  validUntil !== null && validUntil.getTime() <= Date.now()
    ? [{ path: 'input.validUntil', reason: 'must be in the future' }]
    : [];
