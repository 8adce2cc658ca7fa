import { runSync, type SlicedTask } from '../../../platform/scheduling/sliced-task.ts';
import type { RoleSource } from './access-explanation.ts';
import { ACL_TYPES, type AccessPolicy, type AclRule, type Membership } from './access-model.ts';

export interface Holdings {
  readonly roles: readonly Membership[];
  readonly groups: readonly Membership[];
}

/** Returns `null` if the account does not exist. `username` is `null` for a connection without a user name. */
export function holdingsOf(policy: AccessPolicy, username: string | null): Holdings | null {
  if (username === null) return anonymousHoldings(policy);
  return policy.clients.get(username) ?? null;
}

export const anonymousHoldings = ({ anonymousGroup }: AccessPolicy): Holdings => ({
  roles: [],
  groups: anonymousGroup === null ? [] : [{ name: anonymousGroup, priority: 0 }],
});

export const rolesOfGroup = ({ groups }: AccessPolicy, groupname: string): readonly Membership[] =>
  groups.get(groupname)?.roles ?? [];

type RolesOf = (groupname: string) => readonly Membership[];

/**
 * Returns the roles of an account in the order of evaluation. Names of missing roles are included. A role that the
 * account holds several times has its first place only: if it does not decide there, it does not decide later either.
 */
export const rolesInOrder = (
  own: readonly Membership[],
  groups: readonly Membership[],
  rolesOf: RolesOf,
): RoleSource[] => runSync(rolesInSteps(own, groups, rolesOf));

/** As `rolesInOrder`. An account may have thousands of groups of thousands of roles each. */
export function* rolesInSteps(
  own: readonly Membership[],
  groups: readonly Membership[],
  rolesOf: RolesOf,
): SlicedTask<RoleSource[]> {
  const sources = new Map<string, RoleSource>();
  const add = (memberships: readonly Membership[], group: string | null) => {
    // Repeated roles are left out before the rest is sorted, so that only the first list of them is.
    for (const { name, priority } of membershipsInOrder(memberships.filter(({ name }) => !sources.has(name))))
      if (!sources.has(name)) sources.set(name, { rolename: name, group, priority });
  };
  add(own, null);
  for (const { name } of membershipsInOrder(groups)) {
    add(rolesOf(name), name);
    yield;
  }
  return [...sources.values()];
}

/** Compares like strcmp() on UTF-8, which is the order of code points. JavaScript's own order differs beyond U+FFFF. */
export function compareNames(one: string, other: string): number {
  const length = Math.min(one.length, other.length);
  for (let index = 0; index < length; index += 1) {
    if (one.charCodeAt(index) === other.charCodeAt(index)) continue;
    return (one.codePointAt(index) as number) - (other.codePointAt(index) as number);
  }
  return one.length - other.length;
}

/** Sorts rules as brokers list them: by type, then by priority. Rules of one type and priority keep their order. */
export const rulesInOrder = (acls: readonly AclRule[]): AclRule[] =>
  acls.toSorted((a, b) => ACL_TYPES.indexOf(a.aclType) - ACL_TYPES.indexOf(b.aclType) || b.priority - a.priority);

export function membershipsInOrder(memberships: readonly Membership[]): readonly Membership[] {
  if (memberships.length < 2) return memberships;
  return [...memberships].sort((one, other) => other.priority - one.priority || compareNames(one.name, other.name));
}
