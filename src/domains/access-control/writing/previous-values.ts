import type { AccessGroup, AccessRole, Account } from '../../../protocol/apis/access-control/access-model.ts';
import type { AccessChange } from './access-change.ts';
import { type GraphFields, graphFields } from './graph-fields.ts';
import type { PolicyDraft } from './policy-draft.ts';

export type PreviousValues = GraphFields;

/** The values that a change replaces, or all values of an object that it deletes. `null` if there are none. */
export function previousValues(draft: PolicyDraft, change: AccessChange): PreviousValues | null {
  switch (change.kind) {
    case 'PUT_CLIENT':
      return only(fieldsOfAccount(draft.clients.get(change.username)), change.fields);
    case 'PUT_GROUP':
      return only(fieldsOfGroup(draft.groups.get(change.groupName)), change.fields);
    case 'PUT_ROLE':
      return only(fieldsOfRole(draft.roles.get(change.roleName)), change.fields);
    case 'DELETE_CLIENT':
      return fieldsOfAccount(draft.clients.get(change.username));
    case 'DELETE_GROUP':
      return fieldsOfGroup(draft.groups.get(change.groupName));
    case 'DELETE_ROLE':
      return fieldsOfRole(draft.roles.get(change.roleName));
    case 'ADD_CLIENT_ROLE':
    case 'REMOVE_CLIENT_ROLE':
      return only(fieldsOfAccount(draft.clients.get(change.username)), { roles: true });
    case 'ADD_CLIENT_GROUP':
    case 'REMOVE_CLIENT_GROUP':
      return only(fieldsOfAccount(draft.clients.get(change.username)), { groups: true });
    case 'ADD_GROUP_ROLE':
    case 'REMOVE_GROUP_ROLE':
      return only(fieldsOfGroup(draft.groups.get(change.groupName)), { roles: true });
    case 'PUT_ROLE_ACL':
      return previousRule(draft, change.roleName, change.acl);
    case 'REMOVE_ROLE_ACL':
      return previousRule(draft, change.roleName, change);
    case 'SET_DEFAULT_ACL':
      return only({ ...draft.defaultAcl }, change.acl);
    case 'SET_ANONYMOUS_GROUP':
      return draft.anonymousGroup === null ? null : { groupName: draft.anonymousGroup };
  }
}

/** `null` if a change of this object has no previous values: the object is new, or only its password changes. */
function only(values: PreviousValues | null, changed: object): PreviousValues | null {
  const entries = Object.entries(values ?? {}).filter(([name]) => (name === 'enabled' ? 'disabled' : name) in changed);
  return entries.length === 0 ? null : Object.fromEntries(entries);
}

function fieldsOfAccount(account: Account | undefined): PreviousValues | null {
  if (account === undefined) return null;
  const { username: _name, ...fields } = account;
  return graphFields(fields);
}

function fieldsOfGroup(group: AccessGroup | undefined): PreviousValues | null {
  if (group === undefined) return null;
  const { groupname: _name, ...fields } = group;
  return graphFields(fields);
}

function fieldsOfRole(role: AccessRole | undefined): PreviousValues | null {
  if (role === undefined) return null;
  const { rolename: _name, ...fields } = role;
  return fields;
}

function previousRule(
  draft: PolicyDraft,
  roleName: string,
  { aclType, topic }: { readonly aclType: string; readonly topic: string },
): PreviousValues | null {
  const acl = draft.roles.get(roleName)?.acls.find((rule) => rule.aclType === aclType && rule.topic === topic);
  return acl === undefined ? null : { acl };
}
