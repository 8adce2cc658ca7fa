import type { InputFieldMap, InputShapeFromFields } from '@pothos/core';
import { DEFAULT_ACL_TYPES, type DefaultAclType } from '../policy/access-model.ts';
import type { AccessChange, PutMode } from '../writing/access-change.ts';
import {
  AclRuleInput,
  accountFields,
  groupFields,
  type InputFields,
  membership,
  names,
  priority,
  putAccount,
  putGroup,
  putRole,
  roleFields,
  rule,
} from './access-change-inputs.ts';
import { AclType, DEFAULT_ACCESS, RULE } from './access-objects-schema.ts';

export interface AccessMutation<Fields extends InputFieldMap = InputFieldMap> {
  readonly description: string;
  readonly fields: (t: InputFields) => Fields;
  /** `path` is the path of the input, for errors. */
  change(input: InputShapeFromFields<Fields>, path: string): AccessChange;
}

type Change<Fields extends InputFieldMap> = AccessMutation<Fields>['change'];

export type AccessMutations = Readonly<Record<string, AccessMutation>>;

const mutation = <Fields extends InputFieldMap>(
  description: string,
  fields: (t: InputFields) => Fields,
  change: Change<Fields>,
): AccessMutation<Fields> => ({ description, fields, change });

function putMutations<Fields extends InputFieldMap>(
  kind: 'Account' | 'AccessGroup' | 'AccessRole',
  noun: string,
  fields: (t: InputFields) => Fields,
  put: (mode: PutMode, ...args: Parameters<Change<Fields>>) => AccessChange,
): AccessMutations {
  const inMode = (mode: PutMode, description: string) =>
    mutation(description, fields, (input, path) => put(mode, input, path));
  return {
    [`create${kind}`]: inMode('CREATE', `Creates ${noun}.`),
    [`update${kind}`]: inMode('UPDATE', `Updates ${noun}. Missing fields stay unchanged; null clears a field.`),
    [`put${kind}`]: inMode('PUT', `Creates ${noun}, or updates the existing one.`),
  };
}

export const ACCOUNT_MUTATIONS: AccessMutations = {
  ...putMutations('Account', 'an account', accountFields, putAccount),
  deleteAccount: mutation(
    'Deletes an account and disconnects its clients.',
    (t) => names(t, 'username'),
    ({ username }) => ({ kind: 'DELETE_CLIENT', username }),
  ),
  setAccountEnabled: mutation(
    'Enables an account, or disables it and disconnects its clients.',
    (t) => ({
      ...names(t, 'username'),
      enabled: t.boolean({ description: 'Whether clients may connect with the account.', required: true }),
    }),
    ({ username, enabled }) => ({ kind: 'PUT_CLIENT', username, mode: 'UPDATE', fields: { disabled: !enabled } }),
  ),
  setAccountPassword: mutation(
    'Sets the password of an account and disconnects its clients.',
    (t) => names(t, 'username', 'password'),
    ({ username, password }) => ({ kind: 'PUT_CLIENT', username, mode: 'UPDATE', fields: { password } }),
  ),
  addAccountRole: mutation(
    'Adds a role to an account, or changes the priority of the role.',
    (t) => ({ ...names(t, 'username', 'roleName'), priority: priority(t) }),
    ({ username, roleName, ...input }) => ({
      kind: 'ADD_CLIENT_ROLE',
      username,
      role: membership(roleName, input.priority),
    }),
  ),
  removeAccountRole: mutation(
    'Removes a role from an account.',
    (t) => names(t, 'username', 'roleName'),
    ({ username, roleName }) => ({ kind: 'REMOVE_CLIENT_ROLE', username, roleName }),
  ),
  addAccountGroup: mutation(
    'Adds an account to a group, or changes the priority of the group in the account.',
    (t) => ({ ...names(t, 'username', 'groupName'), priority: priority(t) }),
    ({ username, groupName, ...input }) => ({
      kind: 'ADD_CLIENT_GROUP',
      username,
      group: membership(groupName, input.priority),
    }),
  ),
  removeAccountGroup: mutation(
    'Removes an account from a group.',
    (t) => names(t, 'username', 'groupName'),
    ({ username, groupName }) => ({ kind: 'REMOVE_CLIENT_GROUP', username, groupName }),
  ),
};

export const GROUP_MUTATIONS: AccessMutations = {
  ...putMutations('AccessGroup', 'a group', groupFields, putGroup),
  deleteAccessGroup: mutation(
    'Deletes a group, but not its accounts.',
    (t) => names(t, 'groupName'),
    ({ groupName }) => ({ kind: 'DELETE_GROUP', groupName }),
  ),
  addAccessGroupRole: mutation(
    'Adds a role to a group, or changes the priority of the role.',
    (t) => ({ ...names(t, 'groupName', 'roleName'), priority: priority(t) }),
    ({ groupName, roleName, ...input }) => ({
      kind: 'ADD_GROUP_ROLE',
      groupName,
      role: membership(roleName, input.priority),
    }),
  ),
  removeAccessGroupRole: mutation(
    'Removes a role from a group.',
    (t) => names(t, 'groupName', 'roleName'),
    ({ groupName, roleName }) => ({ kind: 'REMOVE_GROUP_ROLE', groupName, roleName }),
  ),
  setAnonymousGroup: mutation(
    'Sets the group of connections without a user name. The group can be replaced, but not removed.',
    (t) => names(t, 'groupName'),
    ({ groupName }) => ({ kind: 'SET_ANONYMOUS_GROUP', groupName }),
  ),
};

export const ROLE_MUTATIONS: AccessMutations = {
  ...putMutations('AccessRole', 'a role', roleFields, putRole),
  deleteAccessRole: mutation(
    'Deletes a role and removes it from all accounts and groups that hold it.',
    (t) => names(t, 'roleName'),
    ({ roleName }) => ({ kind: 'DELETE_ROLE', roleName }),
  ),
  putAclRule: mutation(
    'Adds a rule to a role, or updates the existing rule with this type and topic.',
    (t) => ({
      ...names(t, 'roleName'),
      acl: t.field({ description: 'The rule to add or update.', type: AclRuleInput, required: true }),
    }),
    ({ roleName, acl }) => ({ kind: 'PUT_ROLE_ACL', roleName, acl: rule(acl) }),
  ),
  removeAclRule: mutation(
    'Removes a rule from a role.',
    (t) => ({
      ...names(t, 'roleName', 'topic'),
      aclType: t.field({ description: RULE.aclType, type: AclType, required: true }),
    }),
    ({ roleName, aclType, topic }) => ({ kind: 'REMOVE_ROLE_ACL', roleName, aclType, topic }),
  ),
};

export const DEFAULT_ACL_MUTATIONS: AccessMutations = {
  setDefaultAcl: mutation(
    'Sets the default ACL, which decides if no rule matches. Missing fields stay unchanged.',
    (t) => ({
      publishClientSend: t.boolean({ description: DEFAULT_ACCESS.publishClientSend }),
      publishClientReceive: t.boolean({ description: DEFAULT_ACCESS.publishClientReceive }),
      subscribe: t.boolean({ description: DEFAULT_ACCESS.subscribe }),
      unsubscribe: t.boolean({ description: DEFAULT_ACCESS.unsubscribe }),
    }),
    (input) => {
      const acl: Partial<Record<DefaultAclType, boolean>> = {};
      for (const type of DEFAULT_ACL_TYPES) {
        const allow = input[type] ?? null;
        if (allow !== null) acl[type] = allow;
      }
      return { kind: 'SET_DEFAULT_ACL', acl };
    },
  ),
};
