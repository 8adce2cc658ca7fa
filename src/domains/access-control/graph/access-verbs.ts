import type { InputFieldMap, InputShapeFromFields } from '@pothos/core';
import { DEFAULT_ACL_TYPES, type DefaultAclType } from '../policy/access-model.ts';
import type { AccessChange } from '../writing/access-change.ts';
import {
  AclRuleInput,
  type ChangePlace,
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

/** One kind of change: what a caller says, and the change that is made of it. */
export interface Verb<Fields extends InputFieldMap = InputFieldMap> {
  readonly description: string;
  readonly fields: (t: InputFields) => Fields;
  /** Errors: INVALID. */
  change(input: InputShapeFromFields<Fields>, place: ChangePlace): AccessChange;
}

const verb = <Fields extends InputFieldMap>(parts: Verb<Fields>) => parts;

/** Verbs by the names that they have as mutations and as entries of a list of changes. */
export const CLIENT_VERBS = {
  createAccessClient: verb({
    description: 'Adds an account.',
    fields: clientFields,
    change: (input, place) => putClient('CREATE', input, place),
  }),
  updateAccessClient: verb({
    description: 'Changes an account. What is not given stays as it is; null clears.',
    fields: clientFields,
    change: (input, place) => putClient('UPDATE', input, place),
  }),
  putAccessClient: verb({
    description: 'Adds an account, or changes the one that is there.',
    fields: clientFields,
    change: (input, place) => putClient('PUT', input, place),
  }),
  deleteAccessClient: verb({
    description: 'Removes an account and disconnects it.',
    fields: (t) => ({ username: username(t) }),
    change: (input) => ({ kind: 'DELETE_CLIENT', username: input.username }),
  }),
  setAccessClientEnabled: verb({
    description: 'Lets an account connect, or keeps it out and disconnects it.',
    fields: (t) => ({ username: username(t), enabled: t.boolean({ required: true }) }),
    change: (input) => ({
      kind: 'PUT_CLIENT',
      username: input.username,
      mode: 'UPDATE',
      fields: { disabled: !input.enabled },
    }),
  }),
  setAccessClientPassword: verb({
    description: 'Gives an account a new password and disconnects it.',
    fields: (t) => ({ username: username(t), password: t.string({ required: true }) }),
    change: ({ username: name, password }) => ({
      kind: 'PUT_CLIENT',
      username: name,
      mode: 'UPDATE',
      fields: { password },
    }),
  }),
  addAccessClientRole: verb({
    description: 'Gives an account a role, or the role another priority.',
    fields: (t) => ({ username: username(t), rolename: t.string({ required: true }), priority: priority(t) }),
    change: (input, { policy: { clients } }) => ({
      kind: 'ADD_CLIENT_ROLE',
      username: input.username,
      role: membership(input.rolename, input.priority, clients.get(input.username)?.roles),
    }),
  }),
  removeAccessClientRole: verb({
    description: 'Takes a role from an account.',
    fields: (t) => ({ username: username(t), rolename: t.string({ required: true }) }),
    change: (input) => ({ kind: 'REMOVE_CLIENT_ROLE', username: input.username, rolename: input.rolename }),
  }),
  addAccessClientGroup: verb({
    description: 'Puts an account into a group, or gives the group another priority in it.',
    fields: (t) => ({ username: username(t), groupname: t.string({ required: true }), priority: priority(t) }),
    change: (input, { policy: { clients } }) => ({
      kind: 'ADD_CLIENT_GROUP',
      username: input.username,
      group: membership(input.groupname, input.priority, clients.get(input.username)?.groups),
    }),
  }),
  removeAccessClientGroup: verb({
    description: 'Takes an account out of a group.',
    fields: (t) => ({ username: username(t), groupname: t.string({ required: true }) }),
    change: (input) => ({ kind: 'REMOVE_CLIENT_GROUP', username: input.username, groupname: input.groupname }),
  }),
} as const;

export const GROUP_VERBS = {
  createAccessGroup: verb({
    description: 'Adds a group.',
    fields: groupFields,
    change: (input, place) => putGroup('CREATE', input, place),
  }),
  updateAccessGroup: verb({
    description: 'Changes a group. What is not given stays as it is; null clears.',
    fields: groupFields,
    change: (input, place) => putGroup('UPDATE', input, place),
  }),
  putAccessGroup: verb({
    description: 'Adds a group, or changes the one that is there.',
    fields: groupFields,
    change: (input, place) => putGroup('PUT', input, place),
  }),
  deleteAccessGroup: verb({
    description: 'Removes a group; its clients stay.',
    fields: (t) => ({ groupname: t.string({ required: true }) }),
    change: (input) => ({ kind: 'DELETE_GROUP', groupname: input.groupname }),
  }),
  addAccessGroupRole: verb({
    description: 'Gives a group a role, or the role another priority.',
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
  removeAccessGroupRole: verb({
    description: 'Takes a role from a group.',
    fields: (t) => ({ groupname: t.string({ required: true }), rolename: t.string({ required: true }) }),
    change: (input) => ({ kind: 'REMOVE_GROUP_ROLE', groupname: input.groupname, rolename: input.rolename }),
  }),
} as const;

export const ROLE_VERBS = {
  createAccessRole: verb({
    description: 'Adds a role.',
    fields: roleFields,
    change: (input) => putRole('CREATE', input),
  }),
  updateAccessRole: verb({
    description: 'Changes a role. What is not given stays as it is; null clears.',
    fields: roleFields,
    change: (input) => putRole('UPDATE', input),
  }),
  putAccessRole: verb({
    description: 'Adds a role, or changes the one that is there.',
    fields: roleFields,
    change: (input) => putRole('PUT', input),
  }),
  deleteAccessRole: verb({
    description: 'Removes a role, and takes it from all who hold it.',
    fields: (t) => ({ rolename: t.string({ required: true }) }),
    change: (input) => ({ kind: 'DELETE_ROLE', rolename: input.rolename }),
  }),
  putAclRule: verb({
    description: 'Adds a rule to a role, or changes the one of this type and topic.',
    fields: (t) => ({
      rolename: t.string({ required: true }),
      acl: t.field({ type: AclRuleInput, required: true }),
    }),
    change: (input) => ({ kind: 'PUT_ROLE_ACL', rolename: input.rolename, acl: rule(input.acl) }),
  }),
  removeAclRule: verb({
    description: 'Takes a rule out of a role.',
    fields: (t) => ({
      rolename: t.string({ required: true }),
      aclType: t.field({ type: AclType, required: true }),
      topic: t.string({ required: true }),
    }),
    change: ({ rolename, aclType, topic }) => ({ kind: 'REMOVE_ROLE_ACL', rolename, aclType, topic }),
  }),
} as const;

export const DEFAULT_ACL_VERBS = {
  setDefaultAcl: verb({
    description: 'Changes what happens where no rule matches. What is not given stays as it is.',
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

export const ANONYMOUS_GROUP_VERBS = {
  setAnonymousGroup: verb({
    description: 'Names the group of connections without user name. It cannot be taken back, only changed.',
    fields: (t) => ({ groupname: t.string({ required: true }) }),
    change: (input) => ({ kind: 'SET_ANONYMOUS_GROUP', groupname: input.groupname }),
  }),
} as const;
