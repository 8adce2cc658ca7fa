import { DEFAULT_ACL_TYPES, type DefaultAclType } from '../../../protocol/apis/access-control/access-model.ts';
import {
  AclRuleInput,
  accountFields,
  groupFields,
  membership,
  names,
  priority,
  putAccount,
  putGroup,
  putRole,
  roleFields,
  rule,
} from './access-change-inputs.ts';
import { type AccessMutation, mutation, putMutations } from './access-mutation.ts';
import { AclType, DEFAULT_ACCESS, RULE } from './access-rules-schema.ts';

const ACCOUNT_MUTATIONS: readonly AccessMutation[] = [
  ...putMutations('Account', 'account', 'an account', accountFields, putAccount),
  mutation(
    'deleteAccount',
    'Deletes an account and disconnects its clients.',
    [],
    (t) => names(t, 'username'),
    ({ username }) => ({ kind: 'DELETE_CLIENT', username }),
  ),
  mutation(
    'setAccountEnabled',
    'Enables an account, or disables it and disconnects its clients.',
    ['account'],
    (t) => ({
      ...names(t, 'username'),
      enabled: t.boolean({ description: 'Whether clients may connect with the account.', required: true }),
    }),
    ({ username, enabled }) => ({ kind: 'PUT_CLIENT', username, mode: 'UPDATE', fields: { disabled: !enabled } }),
  ),
  mutation(
    'setAccountPassword',
    'Sets the password of an account and disconnects its clients.',
    ['account'],
    (t) => names(t, 'username', 'password'),
    ({ username, password }) => ({ kind: 'PUT_CLIENT', username, mode: 'UPDATE', fields: { password } }),
  ),
  mutation(
    'addAccountRole',
    'Adds a role to an account, or changes the priority of the role.',
    ['account', 'role'],
    (t) => ({ ...names(t, 'username', 'roleName'), priority: priority(t) }),
    ({ username, roleName, ...input }) => ({
      kind: 'ADD_CLIENT_ROLE',
      username,
      role: membership(roleName, input.priority),
    }),
  ),
  mutation(
    'removeAccountRole',
    'Removes a role from an account.',
    ['account', 'role'],
    (t) => names(t, 'username', 'roleName'),
    ({ username, roleName }) => ({ kind: 'REMOVE_CLIENT_ROLE', username, roleName }),
  ),
  mutation(
    'addAccountGroup',
    'Adds an account to a group, or changes the priority of the group in the account.',
    ['account', 'group'],
    (t) => ({ ...names(t, 'username', 'groupName'), priority: priority(t) }),
    ({ username, groupName, ...input }) => ({
      kind: 'ADD_CLIENT_GROUP',
      username,
      group: membership(groupName, input.priority),
    }),
  ),
  mutation(
    'removeAccountGroup',
    'Removes an account from a group.',
    ['account', 'group'],
    (t) => names(t, 'username', 'groupName'),
    ({ username, groupName }) => ({ kind: 'REMOVE_CLIENT_GROUP', username, groupName }),
  ),
];

const GROUP_MUTATIONS: readonly AccessMutation[] = [
  ...putMutations('AccessGroup', 'group', 'a group', groupFields, putGroup),
  mutation(
    'deleteAccessGroup',
    'Deletes a group, but not its accounts.',
    [],
    (t) => names(t, 'groupName'),
    ({ groupName }) => ({ kind: 'DELETE_GROUP', groupName }),
  ),
  mutation(
    'addAccessGroupRole',
    'Adds a role to a group, or changes the priority of the role.',
    ['group', 'role'],
    (t) => ({ ...names(t, 'groupName', 'roleName'), priority: priority(t) }),
    ({ groupName, roleName, ...input }) => ({
      kind: 'ADD_GROUP_ROLE',
      groupName,
      role: membership(roleName, input.priority),
    }),
  ),
  mutation(
    'removeAccessGroupRole',
    'Removes a role from a group.',
    ['group', 'role'],
    (t) => names(t, 'groupName', 'roleName'),
    ({ groupName, roleName }) => ({ kind: 'REMOVE_GROUP_ROLE', groupName, roleName }),
  ),
  mutation(
    'setAnonymousGroup',
    'Sets the group of connections without a user name. The group can be replaced, but not removed.',
    ['group'],
    (t) => names(t, 'groupName'),
    ({ groupName }) => ({ kind: 'SET_ANONYMOUS_GROUP', groupName }),
  ),
];

const ROLE_MUTATIONS: readonly AccessMutation[] = [
  ...putMutations('AccessRole', 'role', 'a role', roleFields, putRole),
  mutation(
    'deleteAccessRole',
    'Deletes a role and removes it from all accounts and groups that hold it.',
    [],
    (t) => names(t, 'roleName'),
    ({ roleName }) => ({ kind: 'DELETE_ROLE', roleName }),
  ),
  mutation(
    'putAclRule',
    'Adds a rule to a role, or updates the existing rule with this type and topic.',
    ['role'],
    (t) => ({
      ...names(t, 'roleName'),
      acl: t.field({ description: 'The rule to add or update.', type: AclRuleInput, required: true }),
    }),
    ({ roleName, acl }) => ({ kind: 'PUT_ROLE_ACL', roleName, acl: rule(acl) }),
  ),
  mutation(
    'removeAclRule',
    'Removes a rule from a role.',
    ['role'],
    (t) => ({
      ...names(t, 'roleName', 'topic'),
      aclType: t.field({ description: RULE.aclType, type: AclType, required: true }),
    }),
    ({ roleName, aclType, topic }) => ({ kind: 'REMOVE_ROLE_ACL', roleName, aclType, topic }),
  ),
];

const DEFAULT_ACL_MUTATIONS: readonly AccessMutation[] = [
  mutation(
    'setDefaultAcl',
    'Sets the default ACL, which decides if no rule matches. Missing fields stay unchanged.',
    ['defaultAcl'],
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
];

/** All kinds of changes. */
export const MUTATIONS: readonly AccessMutation[] = [
  ...ACCOUNT_MUTATIONS,
  ...GROUP_MUTATIONS,
  ...ROLE_MUTATIONS,
  ...DEFAULT_ACL_MUTATIONS,
];
