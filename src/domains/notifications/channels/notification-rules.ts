import type { InputIssue } from '../../../platform/errors.ts';
import type { ProblemRecord } from '../../problems/storage/problem-cache.ts';

export const NOTIFIED_CHANGES = ['OPENED', 'CLOSED', 'BOTH'] as const;

/** Which changes of problems a channel sends, and when. */
export interface NotificationRules {
  /** Empty: all. */
  readonly kinds: readonly string[];
  /** Empty: all. */
  readonly severities: readonly string[];
  /** Empty: all brokers, and problems without a broker. */
  readonly brokerIds: readonly string[];
  readonly changes: (typeof NOTIFIED_CHANGES)[number];
  /** Problems that close earlier are not notified. 0 to MAX_MINIMUM_SECONDS. */
  readonly minimumSeconds: number;
  /** 0: each change is a message of its own. */
  readonly digestMinutes: number;
}

const MAX_MINIMUM_SECONDS = 86_400;
const MAX_DIGEST_MINUTES = 1_440;
const MAX_RULE_BROKERS = 100;

export const DEFAULT_RULES: NotificationRules = {
  kinds: [],
  severities: [],
  brokerIds: [],
  changes: 'BOTH',
  minimumSeconds: 0,
  digestMinutes: 0,
};

/** Whether the rules select the problem, apart from how long it lasts. */
export function selects({ kinds, severities, brokerIds }: NotificationRules, problem: ProblemRecord): boolean {
  const has = (list: readonly string[], value: string | null) =>
    list.length === 0 || (value !== null && list.includes(value));
  return has(kinds, problem.kind) && has(severities, problem.severity) && has(brokerIds, problem.brokerId);
}

export function ruleIssues({ brokerIds, minimumSeconds, digestMinutes }: NotificationRules): InputIssue[] {
  const issues: InputIssue[] = [];
  const bounded = (name: string, value: number, most: number) => {
    if (value < 0 || value > most) issues.push({ path: `input.rules.${name}`, reason: `must be 0 to ${most}` });
  };
  bounded('minimumSeconds', minimumSeconds, MAX_MINIMUM_SECONDS);
  bounded('digestMinutes', digestMinutes, MAX_DIGEST_MINUTES);
  if (brokerIds.length > MAX_RULE_BROKERS) {
    issues.push({ path: 'input.rules.brokerIds', reason: `must have at most ${MAX_RULE_BROKERS} brokers` });
  }
  return issues;
}
