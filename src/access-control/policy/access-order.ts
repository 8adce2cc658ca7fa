import type { RoleSource } from '../explain/access-explanation.ts';
import type { Membership } from './access-model.ts';

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
