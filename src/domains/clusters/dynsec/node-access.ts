import { runInSlices, type SlicedTask } from '../../../platform/scheduling/sliced-task.ts';
import type { AccessControlService } from '../../access-control/access-control-service.ts';
import { type AccessDiff, diffAccess } from '../../access-control/documents/access-diff.ts';
import type { AccessDocument } from '../../access-control/documents/access-document.ts';
import type { AccessPolicy } from '../../access-control/policy/access-model.ts';
import type { AccessChange } from '../../access-control/writing/access-change.ts';
import type { PolicyNow } from '../../access-control/writing/read-back.ts';

/** How the access control of a node is reached. */
export type NodeAccess = Pick<AccessControlService, 'alone'>;

/** What a node shall have. */
export interface NodeTarget {
  readonly document: AccessDocument;
  /** What is known of passwords, by account; null: it has none. */
  readonly passwords: ReadonlyMap<string, string | null>;
  /** Accounts that may have another password on the node than elsewhere. */
  readonly lacking: readonly string[];
  /** The account of this service's own connection to the node. */
  readonly gatewayUsername: string | null;
}

/** How a node comes to have it. */
export interface NodePlan {
  readonly changes: readonly AccessChange[];
  /** Accounts that may have another password from the first of the changes on. Sorted. */
  readonly lackingMeanwhile: readonly string[];
  /** Those that still may after the last one, because theirs is not known. Sorted. */
  readonly lackingAfter: readonly string[];
}

/** What a node would have to change to have the document, and nothing else. */
export async function differencesTo(
  { policy, dialect }: PolicyNow,
  document: AccessDocument,
  gatewayUsername: string | null,
): Promise<AccessDiff['changes']> {
  const options = { passwords: new Map<string, string>(), setPasswords: false, deleteOthers: true, gatewayUsername };
  return (await runInSlices(diffAccess(policy, dialect, document, options))).changes;
}

/**
 * The fewest changes: each disconnects somebody. Passwords are given to accounts that lack theirs, and to no others. An account that
 * shall have none and may have one is made anew, since a broker cannot take it back. Pure.
 */
export function* planTowards({ policy, dialect }: PolicyNow, target: NodeTarget): SlicedTask<NodePlan> {
  const { document, passwords, gatewayUsername } = target;
  const lacking = new Set(target.lacking.filter((username) => username !== gatewayUsername));
  const anew = [...lacking].filter((username) => passwords.get(username) === null && policy.clients.has(username));
  const have = without(policy, anew);
  const given = new Map<string, string>();
  for (const [username, password] of passwords) {
    const isWanted = lacking.has(username) || !have.clients.has(username);
    if (password !== null && isWanted) given.set(username, password);
  }
  const options = { deleteOthers: true, passwords: given, setPasswords: true, gatewayUsername };
  const { changes, needPassword } = yield* diffAccess(have, dialect, document, options);
  const exists = new Set(document.clients.map(({ username }) => username));
  const meanwhile = [...new Set([...lacking, ...needPassword])].filter((username) => exists.has(username)).sort();
  return {
    changes: [...anew.map((username) => ({ kind: 'DELETE_CLIENT', username }) as const), ...changes],
    lackingMeanwhile: meanwhile,
    lackingAfter: meanwhile.filter((username) => !passwords.has(username)),
  };
}

function without(policy: AccessPolicy, usernames: readonly string[]): AccessPolicy {
  if (usernames.length === 0) return policy;
  const clients = new Map(policy.clients);
  for (const username of usernames) clients.delete(username);
  return { ...policy, clients };
}
