import { ServiceError } from '../../../platform/errors.ts';
import type { AccessGroup, Membership } from '../policy/access-model.ts';
import type { AccessChange, GroupFields } from './access-change.ts';
import type { DynsecWrite } from './dynsec-writes.ts';
import { clientOf, existing, groupOf, listDifference, roleOf, textFields } from './plan-references.ts';
import type { PolicyDraft } from './policy-draft.ts';

type Change<Kind extends AccessChange['kind']> = Extract<AccessChange, { readonly kind: Kind }>;

/** More members in one command would come near the largest packet of Mosquitto 2.1; beyond they are added one by one. */
const MAX_MEMBERS_AT_ONCE = 2_000;

/** Errors: as the mode says, NOT_FOUND for a role or client. */
export function putGroup(draft: PolicyDraft, { groupname, mode, fields }: Change<'PUT_GROUP'>): DynsecWrite[] {
  const group = existing(draft.groups, groupname, mode, 'group');
  for (const { name } of fields.roles ?? []) roleOf(draft, name);
  for (const { name } of fields.clients ?? []) clientOf(draft, name);
  if (group) return updateGroup(draft, group, fields);
  return [
    { command: 'createGroup', fields: { groupname, ...textFields(null, fields) } },
    ...(fields.roles ?? []).map((role) => addRole(groupname, role)),
    ...memberWrites(groupname, [], fields.clients, {}),
  ];
}

/**
 * Roles by one command each, because `roles` in `modifyGroup` leaves dangling references. Who leaves does so by a command of
 * their own: `modifyGroup` of Mosquitto 2.0.11 disconnects only those who are members afterwards.
 */
function updateGroup(draft: PolicyDraft, group: AccessGroup, fields: GroupFields): DynsecWrite[] {
  const { groupname } = group;
  const { added, changed, removed } = listDifference(group.roles, fields.roles ?? group.roles);
  const members = fields.clients === undefined ? [] : membersOf(draft, groupname);
  return [
    ...[...removed, ...changed].map(({ name }) => removeRole(groupname, name)),
    ...[...changed, ...added].map((role) => addRole(groupname, role)),
    ...memberWrites(groupname, members, fields.clients, textFields(group, fields)),
  ];
}

function memberWrites(
  groupname: string,
  before: readonly Membership[],
  wish: readonly Membership[] | undefined,
  texts: { readonly textname?: string; readonly textdescription?: string },
): DynsecWrite[] {
  const after = wish ?? before;
  const { added, changed, removed } = listDifference(before, after);
  const withTexts = Object.keys(texts).length > 0;
  const coming = added.length + changed.length;
  // All who are in it afterwards are disconnected anyway.
  const isWhole = withTexts || coming === after.length;
  const isAtOnce = isWhole && coming > 1 && after.length <= MAX_MEMBERS_AT_ONCE;
  return [
    ...removed.map(({ name }) => leave(groupname, name)),
    ...(isAtOnce ? [] : changed.map(({ name }) => leave(groupname, name))),
    ...(isAtOnce
      ? [{ command: 'modifyGroup', fields: { groupname, ...texts, clients: after.map(memberEntry) } } as const]
      : []),
    ...(withTexts && !isAtOnce ? [{ command: 'modifyGroup', fields: { groupname, ...texts } } as const] : []),
    ...(isAtOnce
      ? []
      : [...changed, ...added].map(
          (member) => ({ command: 'addGroupClient', fields: { groupname, ...memberEntry(member) } }) as const,
        )),
  ];
}

/** Errors: IN_USE for the anonymous group: it crashes Mosquitto before 2.0.15, and is refused by later ones. */
export function deleteGroup(draft: PolicyDraft, { groupname }: Change<'DELETE_GROUP'>): DynsecWrite[] {
  groupOf(draft, groupname);
  if (draft.anonymousGroup === groupname) {
    throw new ServiceError(
      'IN_USE',
      `"${groupname}" is the group of connections without user name; name another one for them first`,
      { info: { name: groupname } },
    );
  }
  return [{ command: 'deleteGroup', fields: { groupname } }];
}

export function addGroupRole(draft: PolicyDraft, { groupname, role }: Change<'ADD_GROUP_ROLE'>): DynsecWrite[] {
  const { roles } = groupOf(draft, groupname);
  roleOf(draft, role.name);
  const held = roles.find(({ name }) => name === role.name);
  if (held?.priority === role.priority) return [];
  return [...(held ? [removeRole(groupname, role.name)] : []), addRole(groupname, role)];
}

export function removeGroupRole(
  draft: PolicyDraft,
  { groupname, rolename }: Change<'REMOVE_GROUP_ROLE'>,
): DynsecWrite[] {
  const { roles } = groupOf(draft, groupname);
  roleOf(draft, rolename);
  return roles.some(({ name }) => name === rolename) ? [removeRole(groupname, rolename)] : [];
}

function membersOf(draft: PolicyDraft, groupname: string): Membership[] {
  return draft.membersOf(groupname).map((username) => {
    const membership = clientOf(draft, username).groups.find(({ name }) => name === groupname);
    return { name: username, priority: membership?.priority ?? 0 };
  });
}

const memberEntry = ({ name, priority }: Membership) => ({ username: name, priority });
const leave = (groupname: string, username: string): DynsecWrite => ({
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
