import type { SlicedTask } from '../../../platform/scheduling/sliced-task.ts';
import { type AccessDocument, documentOf, policyOf } from '../../access-control/documents/access-document.ts';
import type { AccessChange } from '../../access-control/writing/access-change.ts';
import type { CommandReport, WriteReport } from '../../access-control/writing/access-report.ts';
import type { DynsecWrite } from '../../access-control/writing/dynsec-writes.ts';
import { PolicyDraft } from '../../access-control/writing/policy-draft.ts';

/**
 * Returns the document with the commands that the first node confirmed. The node itself may have more, if another
 * client wrote at the same time or a response was lost.
 */
export function* documentAfter(
  document: AccessDocument,
  { changes }: Pick<WriteReport, 'changes'>,
): SlicedTask<AccessDocument> {
  const draft = new PolicyDraft(yield* policyOf(document));
  for (const { commands } of changes) {
    for (const { command, fields, state } of commands) {
      // The commands as planned, without passwords, which are not part of a policy.
      if (state === 'APPLIED') draft.run({ command, fields } as DynsecWrite);
    }
    yield;
  }
  return yield* documentOf(draft);
}

export interface PasswordEffects {
  readonly set: ReadonlyMap<string, string | null>;
  /** Accounts whose password may have changed, because the response was lost. */
  readonly unconfirmed: readonly string[];
}

export function passwordsAfter(
  changes: readonly AccessChange[],
  report: Pick<WriteReport, 'changes'>,
): PasswordEffects {
  const set = new Map<string, string | null>();
  const unconfirmed = new Set<string>();
  for (const [index, change] of changes.entries()) {
    for (const command of report.changes[index]?.commands ?? []) {
      const username = concerned(command);
      if (username === null) continue;
      if (command.state === 'UNKNOWN') unconfirmed.add(username);
      if (command.state !== 'APPLIED') continue;
      unconfirmed.delete(username);
      if (command.command === 'deleteClient') set.delete(username);
      else set.set(username, passwordIn(change) ?? null);
    }
  }
  return { set, unconfirmed: [...unconfirmed] };
}

export const accountsChangedBy = (changes: readonly AccessChange[]): string[] => [
  ...new Set(
    changes.flatMap((change) =>
      change.kind === 'DELETE_CLIENT' || passwordIn(change) !== undefined
        ? [(change as { username: string }).username]
        : [],
    ),
  ),
];

/** The account whose password a command sets or deletes. `null` if the command changes no password. */
function concerned({ command, fields }: CommandReport): string | null {
  const isConcerned = command === 'createClient' || command === 'deleteClient' || 'password' in fields;
  return isConcerned && typeof fields.username === 'string' ? fields.username : null;
}

const passwordIn = (change: AccessChange): string | undefined =>
  change.kind === 'PUT_CLIENT' ? change.fields.password : undefined;
