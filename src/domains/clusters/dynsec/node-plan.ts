import { runInSlices, type SlicedTask } from '../../../platform/scheduling/sliced-task.ts';
import type { AccessPolicy } from '../../../protocol/apis/access-control/access-model.ts';
import { isKeptByNewOnly, type VersionRule } from '../../../protocol/apis/access-control/version-rules.ts';
import type { AccessControlService } from '../../access-control/access-control-service.ts';
import { type AccessDiff, diffAccess } from '../../access-control/documents/access-diff.ts';
import type { AccessDocument } from '../../access-control/documents/access-document.ts';
import type { AccessChange } from '../../access-control/writing/access-change.ts';
import type { PolicyNow } from '../../access-control/writing/read-back.ts';
import type { NodeDifference } from '../model/cluster.ts';

export type NodeAccess = Pick<AccessControlService, 'ofBroker'>;

interface NodeTarget {
  readonly document: AccessDocument;
  readonly passwords: ReadonlyMap<string, string | null>;
  /** Accounts that may have another password on the node than on other nodes. */
  readonly lacking: readonly string[];
  readonly gatewayUsername: string | null;
}

export interface NodePlan {
  readonly changes: readonly AccessChange[];
  /** Accounts that may have another password while the changes are applied. Sorted. */
  readonly lackingMeanwhile: readonly string[];
  /** Accounts that may have another password after the changes, because their password is not stored. Sorted. */
  readonly lackingAfter: readonly string[];
}

export async function differencesTo(
  { policy, dialect }: PolicyNow,
  document: AccessDocument,
  gatewayUsername: string | null,
): Promise<AccessDiff['changes']> {
  const options = { passwords: new Map<string, string>(), setPasswords: false, deleteOthers: true, gatewayUsername };
  return (await runInSlices(diffAccess(policy, dialect, document, options))).changes;
}

/**
 * Plans as few changes as possible, because each change disconnects clients. An account that may have a password and
 * must have none is deleted and created again, because brokers cannot remove a password.
 */
export function* planTowards({ policy, dialect }: PolicyNow, target: NodeTarget): SlicedTask<NodePlan> {
  const { document, passwords, gatewayUsername } = target;
  const lacking = new Set(target.lacking.filter((username) => username !== gatewayUsername));
  const recreated = [...lacking].filter((username) => passwords.get(username) === null && policy.clients.has(username));
  const have = without(policy, recreated);
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
    changes: [...recreated.map((username) => ({ kind: 'DELETE_CLIENT', username }) as const), ...changes],
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

export function objectsOf(changes: readonly AccessChange[]): NodeDifference[] {
  const objects = changes.map(objectOf);
  return [...new Map(objects.map((object) => [`${object.kind}/${object.name}`, object])).values()];
}

function objectOf(change: AccessChange): NodeDifference {
  if (change.kind === 'SET_DEFAULT_ACL') return { kind: 'DEFAULT_ACL', name: '' };
  if (change.kind === 'SET_ANONYMOUS_GROUP') return { kind: 'ANONYMOUS_GROUP', name: '' };
  if ('username' in change) return { kind: 'CLIENT', name: change.username };
  if ('groupName' in change) return { kind: 'GROUP', name: change.groupName };
  return { kind: 'ROLE', name: change.roleName };
}

/** A node whose version cannot keep a rule differs from the cluster, even if it has all objects. */
export function withLostRules(differences: readonly NodeDifference[], rules: readonly VersionRule[]): NodeDifference[] {
  const known = new Set(differences.flatMap(({ kind, name }) => (kind === 'ROLE' ? [name] : [])));
  const lost = new Set(rules.filter(isKeptByNewOnly).map(({ rolename }) => rolename));
  const roles = [...lost].filter((name) => !known.has(name)).map((name) => ({ kind: 'ROLE', name }) as const);
  return [...differences, ...roles];
}
