import type { InputFieldMap, InputShapeFromFields } from '@pothos/core';
import { DEFAULT_ACL_TYPES, type DefaultAclType } from '../policy/access-model.ts';
import type { AccessChange } from '../writing/access-change.ts';
import {
  AclRuleInput,
  type ChangeContext,
  clientFields,
  groupFields,
  type InputFields,
  membership,
  priority,
  putClient,
  putGroup,
  putRole,
  roleFields,
  rule,
  username,
} from './access-change-inputs.ts';
import { AclType } from './access-objects-schema.ts';

/** One kind of change: its input fields, and how the change is created from the input. */
export interface AccessMutation<Fields extends InputFieldMap = InputFieldMap> {
  readonly description: string;
  readonly fields: (t: InputFields) => Fields;
  /** Errors: INVALID. */
  change(input: InputShapeFromFields<Fields>, context: ChangeContext): AccessChange;
}

const mutation = <Fields extends InputFieldMap>(definition: AccessMutation<Fields>) => definition;

/** Definitions by name, which is also the key in `changeAccessControl`. */
export const CLIENT_MUTATIONS = {
  createAccessClient: mutation({
    description: 'Creates an account.',
    fields: clientFields,
    change: (input, context) => putClient('CREATE', input, context),
  }),
  updateAccessClient: mutation({
    description: 'Updates an account. Missing fields stay unchanged; null clears a field.',
    fields: clientFields,
    change: (input, context) => putClient('UPDATE', input, context),
  }),
  putAccessClient: mutation({
    description: 'Creates an account, or updates the existing one.',
    fields: clientFields,
    change: (input, context) => putClient('PUT', input, context),
  }),
  deleteAccessClient: mutation({
    description: 'Deletes an account and disconnects its clients.',
    fields: (t) => ({ username: username(t) }),
    change: (input) => ({ kind: 'DELETE_CLIENT', username: input.username }),
  }),
  setAccessClientEnabled: mutation({
    description: 'Enables an account, or disables it and disconnects its clients.',
    fields: (t) => ({ username: username(t), enabled: t.boolean({ required: true }) }),
    change: (input) => ({
      kind: 'PUT_CLIENT',
      username: input.username,
      mode: 'UPDATE',
      fields: { disabled: !input.enabled },
    }),
  }),
  setAccessClientPassword: mutation({
    description: 'Sets the password of an account and disconnects its clients.',
    fields: (t) => ({ username: username(t), password: t.string({ required: true }) }),
    change: ({ username: name, password }) => ({
      kind: 'PUT_CLIENT',
      username: name,
      mode: 'UPDATE',
      fields: { password },
    }),
  }),
  addAccessClientRole: mutation({
    description: 'Adds a role to an account, or changes the priority of the role.',
    fields: (t) => ({ username: username(t), rolename: t.string({ required: true }), priority: priority(t) }),
    change: (input, { policy: { clients } }) => ({
      kind: 'ADD_CLIENT_ROLE',
      username: input.username,
      role: membership(input.rolename, input.priority, clients.get(input.username)?.roles),
    }),
  }),
  removeAccessClientRole: mutation({
    description: 'Removes a role from an account.',
    fields: (t) => ({ username: username(t), rolename: t.string({ required: true }) }),
    change: (input) => ({ kind: 'REMOVE_CLIENT_ROLE', username: input.username, rolename: input.rolename }),
  }),
  addAccessClientGroup: mutation({
    description: 'Adds an account to a group, or changes the priority of the group in the account.',
    fields: (t) => ({ username: username(t), groupname: t.string({ required: true }), priority: priority(t) }),
    change: (input, { policy: { clients } }) => ({
      kind: 'ADD_CLIENT_GROUP',
      username: input.username,
      group: membership(input.groupname, input.priority, clients.get(input.username)?.groups),
    }),
  }),
  removeAccessClientGroup: mutation({
    description: 'Removes an account from a group.',
    fields: (t) => ({ username: username(t), groupname: t.string({ required: true }) }),
    change: (input) => ({ kind: 'REMOVE_CLIENT_GROUP', username: input.username, groupname: input.groupname }),
  }),
} as const;

export const GROUP_MUTATIONS = {
  createAccessGroup: mutation({
    description: 'Creates a group.',
    fields: groupFields,
    change: (input, context) => putGroup('CREATE', input, context),
  }),
  updateAccessGroup: mutation({
    description: 'Updates a group. Missing fields stay unchanged; null clears a field.',
    fields: groupFields,
    change: (input, context) => putGroup('UPDATE', input, context),
  }),
  putAccessGroup: mutation({
    description: 'Creates a group, or updates the existing one.',
    fields: groupFields,
    change: (input, context) => putGroup('PUT', input, context),
  }),
  deleteAccessGroup: mutation({
    description: 'Deletes a group, but not its clients.',
    fields: (t) => ({ groupname: t.string({ required: true }) }),
    change: (input) => ({ kind: 'DELETE_GROUP', groupname: input.groupname }),
  }),
  addAccessGroupRole: mutation({
    description: 'Adds a role to a group, or changes the priority of the role.',
    fields: (t) => ({
      groupname: t.string({ required: true }),
      rolename: t.string({ required: true }),
      priority: priority(t),
    }),
    change: (input, { policy: { groups } }) => ({
      kind: 'ADD_GROUP_ROLE',
      groupname: input.groupname,
      role: membership(input.rolename, input.priority, groups.get(input.groupname)?.roles),
    }),
  }),
  removeAccessGroupRole: mutation({
    description: 'Removes a role from a group.',
    fields: (t) => ({ groupname: t.string({ required: true }), rolename: t.string({ required: true }) }),
    change: (input) => ({ kind: 'REMOVE_GROUP_ROLE', groupname: input.groupname, rolename: input.rolename }),
  }),
} as const;

export const ROLE_MUTATIONS = {
  createAccessRole: mutation({
    description: 'Creates a role.',
    fields: roleFields,
    change: (input) => putRole('CREATE', input),
  }),
  updateAccessRole: mutation({
    description: 'Updates a role. Missing fields stay unchanged; null clears a field.',
    fields: roleFields,
    change: (input) => putRole('UPDATE', input),
  }),
  putAccessRole: mutation({
    description: 'Creates a role, or updates the existing one.',
    fields: roleFields,
    change: (input) => putRole('PUT', input),
  }),
  deleteAccessRole: mutation({
    description: 'Deletes a role and removes it from all accounts and groups that hold it.',
    fields: (t) => ({ rolename: t.string({ required: true }) }),
    change: (input) => ({ kind: 'DELETE_ROLE', rolename: input.rolename }),
  }),
  putAclRule: mutation({
    description: 'Adds a rule to a role, or updates the existing rule with this type and topic.',
    fields: (t) => ({
      rolename: t.string({ required: true }),
      acl: t.field({ type: AclRuleInput, required: true }),
    }),
    change: (input) => ({ kind: 'PUT_ROLE_ACL', rolename: input.rolename, acl: rule(input.acl) }),
  }),
  removeAclRule: mutation({
    description: 'Removes a rule from a role.',
    fields: (t) => ({
      rolename: t.string({ required: true }),
      aclType: t.field({ type: AclType, required: true }),
      topic: t.string({ required: true }),
    }),
    change: ({ rolename, aclType, topic }) => ({ kind: 'REMOVE_ROLE_ACL', rolename, aclType, topic }),
  }),
} as const;

export const DEFAULT_ACL_MUTATIONS = {
  setDefaultAcl: mutation({
    description: 'Sets the default ACL, which decides if no rule matches. Missing fields stay unchanged.',
    fields: (t) => ({
      publishClientSend: t.boolean(),
      publishClientReceive: t.boolean(),
      subscribe: t.boolean(),
      unsubscribe: t.boolean(),
    }),
    change: (input) => {
      const acl: Partial<Record<DefaultAclType, boolean>> = {};
      for (const type of DEFAULT_ACL_TYPES) {
        const allow = input[type] ?? null;
        if (allow !== null) acl[type] = allow;
      }
      return { kind: 'SET_DEFAULT_ACL', acl };
    },
  }),
} as const;

export const ANONYMOUS_GROUP_MUTATIONS = {
  setAnonymousGroup: mutation({
    description: 'Sets the group of connections without a user name. The group can be replaced, but not removed.',
    fields: (t) => ({ groupname: t.string({ required: true }) }),
    change: (input) => ({ kind: 'SET_ANONYMOUS_GROUP', groupname: input.groupname }),
  }),
} as const;
