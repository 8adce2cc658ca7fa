import { ServiceError } from '../../../platform/errors.ts';
import type { AccessGroup, Membership } from '../../../protocol/apis/access-control/access-model.ts';
import type { GroupFields } from './access-change.ts';
import { type DynsecWrite, memberEntry } from './dynsec-writes.ts';
import { clientOf, existing, groupOf, listDifference, type Plans, roleOf, textFields } from './plan-references.ts';
import type { PolicyDraft } from './policy-draft.ts';

/** Maximum number of members in one command, because of the maximum packet size of Mosquitto 2.1. */
const MAX_MEMBERS_PER_COMMAND = 2_000;

export const GROUP_PLANS: Plans<
  'PUT_GROUP' | 'DELETE_GROUP' | 'ADD_GROUP_ROLE' | 'REMOVE_GROUP_ROLE' | 'SET_ANONYMOUS_GROUP'
> = {
  PUT_GROUP(draft, { groupName: groupname, mode, fields }) {
    const group = existing(draft.groups, groupname, mode, 'group');
    for (const { name } of fields.roles ?? []) roleOf(draft, name);
    for (const { name } of fields.members ?? []) clientOf(draft, name);
    if (group) return updateGroup(draft, group, fields);
    return [
      { command: 'createGroup', fields: { groupname, ...textFields(null, fields) } },
      ...(fields.roles ?? []).map((role) => addRole(groupname, role)),
      ...memberWrites(groupname, [], fields.members ?? [], {}),
    ];
  },
  /** Errors: IN_USE for the anonymous group. The command crashes Mosquitto before 2.0.15; later versions refuse it. */
  DELETE_GROUP(draft, { groupName: groupname }) {
    groupOf(draft, groupname);
    if (draft.anonymousGroup === groupname) {
      throw new ServiceError('IN_USE', `"${groupname}" is the anonymous group; set another anonymous group first`, {
        info: { name: groupname },
      });
    }
    return [{ command: 'deleteGroup', fields: { groupname } }];
  },
  ADD_GROUP_ROLE(draft, { groupName: groupname, role }) {
    const { roles } = groupOf(draft, groupname);
    roleOf(draft, role.name);
    const held = roles.find(({ name }) => name === role.name);
    if (held?.priority === role.priority) return [];
    return [...(held ? [removeRole(groupname, role.name)] : []), addRole(groupname, role)];
  },
  REMOVE_GROUP_ROLE(draft, { groupName: groupname, roleName: rolename }) {
    const { roles } = groupOf(draft, groupname);
    roleOf(draft, rolename);
    return roles.some(({ name }) => name === rolename) ? [removeRole(groupname, rolename)] : [];
  },
  /** Setting the current group again would disconnect all clients without a user name, so it sends no command. */
  SET_ANONYMOUS_GROUP(draft, { groupName: groupname }) {
    groupOf(draft, groupname);
    return draft.anonymousGroup === groupname ? [] : [{ command: 'setAnonymousGroup', fields: { groupname } }];
  },
};

/**
 * One command per role, because `roles` in `modifyGroup` leaves dangling references. Members are removed one by one,
 * because `modifyGroup` of Mosquitto 2.0.11 disconnects only the members of the new list.
 */
function updateGroup(draft: PolicyDraft, group: AccessGroup, fields: GroupFields): DynsecWrite[] {
  const { groupname } = group;
  const { added, changed, removed } = listDifference(group.roles, fields.roles ?? group.roles);
  const members = fields.members === undefined ? [] : membersOf(draft, groupname);
  return [
    ...[...removed, ...changed].map(({ name }) => removeRole(groupname, name)),
    ...[...changed, ...added].map((role) => addRole(groupname, role)),
    ...memberWrites(groupname, members, fields.members ?? members, textFields(group, fields)),
  ];
}

function memberWrites(
  groupname: string,
  before: readonly Membership[],
  after: readonly Membership[],
  texts: { readonly textname?: string; readonly textdescription?: string },
): DynsecWrite[] {
  const { added, changed, removed } = listDifference(before, after);
  const hasTexts = Object.keys(texts).length > 0;
  const newMembers = added.length + changed.length;
  // One command disconnects all members, so it is used only if all of them are disconnected anyway.
  const disconnectsAll = hasTexts || newMembers === after.length;
  const removals = (members: readonly Membership[]) => members.map(({ name }) => removeMember(groupname, name));
  if (disconnectsAll && newMembers > 1 && after.length <= MAX_MEMBERS_PER_COMMAND) {
    const clients = after.map(memberEntry);
    return [...removals(removed), { command: 'modifyGroup', fields: { groupname, ...texts, clients } }];
  }
  return [
    ...removals([...removed, ...changed]),
    ...(hasTexts ? [{ command: 'modifyGroup', fields: { groupname, ...texts } } as const] : []),
    ...[...changed, ...added].map(
      (member) => ({ command: 'addGroupClient', fields: { groupname, ...memberEntry(member) } }) as const,
    ),
  ];
}

function membersOf(draft: PolicyDraft, groupname: string): Membership[] {
  return draft.membersOf(groupname).map((username) => {
    const membership = clientOf(draft, username).groups.find(({ name }) => name === groupname);
    return { name: username, priority: membership?.priority ?? 0 };
  });
}

const removeMember = (groupname: string, username: string): DynsecWrite => ({
  command: 'removeGroupClient',
  fields: { groupname, username },
});
const addRole = (groupname: string, { name, priority }: Membership): DynsecWrite => ({
  command: 'addGroupRole',
  fields: { groupname, rolename: name, priority },
});
const removeRole = (groupname: string, rolename: string): DynsecWrite => ({
  command: 'removeGroupRole',
  fields: { groupname, rolename },
});
