import { type InputIssue, invalid } from '../../../platform/errors.ts';
import { topicProblem } from '../../../protocol/mqtt/topics.ts';
import { tailFilterProblem } from '../message-service.ts';
import type { DeletionRequest } from './retained-deletion.ts';

export interface DeletionInput {
  readonly filter?: string | null | undefined;
  readonly topics?: readonly string[] | null | undefined;
  readonly dryRun?: boolean | null | undefined;
}

export const MAX_DELETED_TOPICS = 1_000;

/** Errors: INVALID. */
export function checkedDeletion(input: DeletionInput): DeletionRequest {
  const issues = issuesOf(input);
  if (issues.length > 0) throw invalid(issues);
  const { filter, topics, dryRun } = input;
  return { filter: filter ?? null, topics: [...new Set(topics ?? [])], isDryRun: dryRun === true };
}

function issuesOf({ filter, topics }: DeletionInput): InputIssue[] {
  if ((filter == null) === (topics == null)) {
    return [{ path: 'input', reason: 'exactly one of filter and topics is required' }];
  }
  if (filter != null) return issueOf('input.filter', tailFilterProblem(filter) ?? dollarProblem(filter));
  const given = topics ?? [];
  if (given.length === 0 || given.length > MAX_DELETED_TOPICS) {
    return [{ path: 'input.topics', reason: `must have 1 to ${MAX_DELETED_TOPICS} entries` }];
  }
  return given.flatMap((topic, index) =>
    issueOf(`input.topics.${index}`, topicProblem(topic) ?? tailFilterProblem(topic) ?? dollarProblem(topic)),
  );
}

const issueOf = (path: string, reason: string | null): InputIssue[] => (reason === null ? [] : [{ path, reason }]);

/** The topics of the broker itself: `$SYS` belongs to it, and messages below `$CONTROL` are commands. */
const dollarProblem = (topic: string): string | null =>
  topic.startsWith('$') ? 'must not begin with $: such topics belong to the broker' : null;
