import type { RoleSource } from '../explain/access-explanation.ts';
import type { AccessPolicy, Membership } from './access-model.ts';

/** The roles and groups by which somebody has access. */
export interface Holdings {
  readonly roles: readonly Membership[];
  readonly groups: readonly Membership[];
}

/** `username` null: a connection without user name. Null: there is no such account. */
export function holdingsOf(policy: AccessPolicy, username: string | null): Holdings | null {
  if (username === null) return anonymousHoldings(policy);
  return policy.clients.get(username) ?? null;
}

/** Of connections without user name: the anonymous group, where there is one. */
export const anonymousHoldings = ({ anonymousGroup }: AccessPolicy): Holdings => ({
  roles: [],
  groups: anonymousGroup === null ? [] : [{ name: anonymousGroup, priority: 0 }],
});

export const rolesOfGroup = ({ groups }: AccessPolicy, groupname: string): readonly Membership[] =>
  groups.get(groupname)?.roles ?? [];

/** The roles of an account in the order in which they are looked at. Names that lead nowhere are left in. */
export function rolesInOrder(
  own: readonly Membership[],
  groups: readonly Membership[],
  rolesOf: (groupname: string) => readonly Membership[],
): RoleSource[] {
  const ordered = membershipsInOrder(own).map(({ name, priority }) => ({ rolename: name, group: null, priority }));
  const inherited = membershipsInOrder(groups).flatMap((group) =>
    membershipsInOrder(rolesOf(group.name)).map(({ name, priority }) => ({
      rolename: name,
      group: group.name,
      priority,
    })),
  );
  return [...ordered, ...inherited];
}

/** As C compares: by bytes, which for UTF-8 is by code points; JavaScript's own order differs beyond U+FFFF. */
export function compareNames(one: string, other: string): number {
  const length = Math.min(one.length, other.length);
  for (let index = 0; index < length; index += 1) {
    if (one.charCodeAt(index) === other.charCodeAt(index)) continue;
    return (one.codePointAt(index) as number) - (other.codePointAt(index) as number);
  }
  return one.length - other.length;
}

export function membershipsInOrder(memberships: readonly Membership[]): readonly Membership[] {
  if (memberships.length < 2) return memberships;
  return [...memberships].sort((one, other) => other.priority - one.priority || compareNames(one.name, other.name));
}
