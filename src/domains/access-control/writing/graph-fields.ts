import type { AccessChange, RequestedMembership } from './access-change.ts';

/** Values by their names in the inputs of the graph. */
export type GraphFields = Readonly<Record<string, unknown>>;

interface Fields {
  readonly textName?: string | null | undefined;
  readonly disabled?: boolean | undefined;
  readonly roles?: readonly RequestedMembership[] | undefined;
  readonly groups?: readonly RequestedMembership[] | undefined;
  readonly members?: readonly RequestedMembership[] | undefined;
}

/** The fields of an account, group or role, without its name. */
export function graphFields({ disabled, roles, groups, members, ...fields }: Fields): GraphFields {
  return {
    ...fields,
    ...(disabled === undefined ? {} : { enabled: !disabled }),
    ...(roles && { roles: roles.map(named('roleName')) }),
    ...(groups && { groups: groups.map(named('groupName')) }),
    ...(members && { members: members.map(named('username')) }),
  };
}

const named =
  (key: 'groupName' | 'roleName' | 'username') =>
  ({ name, priority }: RequestedMembership) => ({ [key]: name, priority });

/** The name of the object that a change is made to. The default ACL and the anonymous group have none. */
export function nameFields(change: AccessChange): GraphFields {
  if (change.kind === 'SET_ANONYMOUS_GROUP') return {};
  if ('username' in change) return { username: change.username };
  if ('groupName' in change) return { groupName: change.groupName };
  return 'roleName' in change ? { roleName: change.roleName } : {};
}
