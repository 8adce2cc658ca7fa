import type { SlicedTask } from '../../../platform/scheduling/sliced-task.ts';
import { type AccessDocument, documentOf, policyOf } from '../../access-control/documents/access-document.ts';
import type { AccessChange } from '../../access-control/writing/access-change.ts';
import type { CommandReport, WriteReport } from '../../access-control/writing/access-report.ts';
import type { DynsecWrite } from '../../access-control/writing/dynsec-writes.ts';
import { PolicyDraft } from '../../access-control/writing/policy-draft.ts';

/**
 * What a cluster has after a write: what is told to have been done on the node that it was done on first. Not what that node has: that
 * may be more, where somebody else wrote at the same time or an answer was lost.
 */
export function* documentAfter(document: AccessDocument, { changes }: WriteReport): SlicedTask<AccessDocument> {
  const draft = new PolicyDraft(yield* policyOf(document));
  for (const { commands } of changes) {
    for (const { command, fields, state } of commands) {
      // As they were planned, but for passwords, of which a policy knows nothing.
      if (state === 'APPLIED') draft.run({ command, fields } as DynsecWrite);
    }
    yield;
  }
  return yield* documentOf(draft);
}

export interface PasswordEffects {
  /** Of accounts whose password is another one now; null: it has none. */
  readonly set: ReadonlyMap<string, string | null>;
  /** Of those it is not known whether it is. */
  readonly doubtful: readonly string[];
}

export function passwordsAfter(changes: readonly AccessChange[], report: WriteReport): PasswordEffects {
  const set = new Map<string, string | null>();
  const doubtful = new Set<string>();
  for (const [index, change] of changes.entries()) {
    for (const command of report.changes[index]?.commands ?? []) {
      const username = concerned(command);
      if (username === null) continue;
      if (command.state === 'UNKNOWN') doubtful.add(username);
      if (command.state !== 'APPLIED') continue;
      doubtful.delete(username);
      if (command.command === 'deleteClient') set.delete(username);
      else set.set(username, passwordIn(change) ?? null);
    }
  }
  return { set, doubtful: [...doubtful] };
}

/** Accounts whose password may be another one while a write is under way. */
export const concernedBy = (changes: readonly AccessChange[]): string[] => [
  ...new Set(
    changes.flatMap((change) =>
      change.kind === 'DELETE_CLIENT' || passwordIn(change) !== undefined
        ? [(change as { username: string }).username]
        : [],
    ),
  ),
];

/** The account whose password a command sets or does away with; null: it leaves them as they are. */
function concerned({ command, fields }: CommandReport): string | null {
  const isConcerned = command === 'createClient' || command === 'deleteClient' || 'password' in fields;
  return isConcerned && typeof fields.username === 'string' ? fields.username : null;
}

const passwordIn = (change: AccessChange): string | undefined =>
  change.kind === 'PUT_CLIENT' ? change.fields.password : undefined;
