import type { InputFieldMap, InputShapeFromFields } from '@pothos/core';
import { invalid } from '../errors.ts';
import { builder } from '../graphql/builder.ts';
import type { AccessChange, ClientFields, GroupFields, PutMode, RoleFields } from './access-change.ts';
import {
  type AccessPolicy,
  DEFAULT_ACL_PRIORITY,
  DEFAULT_ACL_TYPES,
  DEFAULT_MEMBERSHIP_PRIORITY,
  type DefaultAclType,
  type Membership,
} from './access-model.ts';
import { AclType } from './access-objects-schema.ts';

export type InputFields = PothosSchemaTypes.InputFieldBuilder<(typeof builder)['$inferSchemaTypes'], 'InputObject'>;

/** One kind of change: what a caller says, and the change that is made of it. */
export interface Verb<Fields extends InputFieldMap = InputFieldMap> {
  readonly description: string;
  readonly fields: (t: InputFields) => Fields;
  /** The policy is what the broker has: priorities that nobody says stay as they are. */
  change(input: InputShapeFromFields<Fields>, policy: AccessPolicy): AccessChange;
}

const verb = <Fields extends InputFieldMap>(parts: Verb<Fields>) => parts;

const username = (t: InputFields) => t.string({ required: true });
const priority = (t: InputFields) =>
  t.int({ description: 'Higher is looked at first. Without it: as it is, or -1 for a new one.' });

export const HeldRoleInput = builder.inputType('HeldRoleInput', {
  description: 'A role in its holder.',
  fields: (t) => ({ rolename: t.string({ required: true }), priority: priority(t) }),
});
const JoinedGroupInput = builder.inputType('JoinedGroupInput', {
  description: 'A group that a client is in.',
  fields: (t) => ({ groupname: t.string({ required: true }), priority: priority(t) }),
});
const GroupMemberInput = builder.inputType('GroupMemberInput', {
  description: 'A client in a group.',
  fields: (t) => ({ username: t.string({ required: true }), priority: priority(t) }),
});
const AclRuleInput = builder.inputType('AclRuleInput', {
  description: 'A rule of a role; its type and topic name it there.',
  fields: (t) => ({
    aclType: t.field({ type: AclType, required: true }),
    topic: t.string({ required: true }),
    priority: t.int({ defaultValue: DEFAULT_ACL_PRIORITY, description: 'Higher is looked at first.' }),
    allow: t.boolean({ required: true }),
  }),
});

const texts = (t: InputFields) => ({ textName: t.string(), textDescription: t.string() });
const WHOLE_LIST = 'The whole list; null for none.';

const clientFields = (t: InputFields) => ({
  username: username(t),
  clientId: t.string({ description: 'The only client id that may use the account; null: any.' }),
  ...texts(t),
  enabled: t.boolean({ description: 'False: it cannot connect.' }),
  roles: t.field({ type: [HeldRoleInput], description: WHOLE_LIST }),
  groups: t.field({ type: [JoinedGroupInput], description: WHOLE_LIST }),
  password: t.string({ description: 'Never answered. Without one nobody can connect with the account.' }),
});
const groupFields = (t: InputFields) => ({
  groupname: t.string({ required: true }),
  ...texts(t),
  roles: t.field({ type: [HeldRoleInput], description: WHOLE_LIST }),
  clients: t.field({ type: [GroupMemberInput], description: WHOLE_LIST }),
});
const roleFields = (t: InputFields) => ({
  rolename: t.string({ required: true }),
  ...texts(t),
  allowWildcardSubs: t.boolean({
    description: 'False: subscriptions with wildcards are denied. Not known to Mosquitto before 2.1.',
  }),
  acls: t.field({ type: [AclRuleInput], description: WHOLE_LIST }),
});

type Shape<Fields extends (t: InputFields) => InputFieldMap> = InputShapeFromFields<ReturnType<Fields>>;
type GivenAcl = NonNullable<Shape<typeof roleFields>['acls']>[number];

/** Undefined: nothing was said of it. Null: none. */
function memberships<T extends { readonly priority?: number | null | undefined }>(
  given: readonly T[] | null | undefined,
  nameOf: (entry: T) => string,
  known: readonly Membership[] = [],
): Membership[] | undefined {
  if (given === undefined) return undefined;
  return (given ?? []).map((entry) => membership(nameOf(entry), entry.priority, known));
}

const membership = (
  name: string,
  wanted: number | null | undefined,
  known: readonly Membership[] = [],
): Membership => ({
  name,
  priority: wanted ?? known.find((other) => other.name === name)?.priority ?? DEFAULT_MEMBERSHIP_PRIORITY,
});

const rule = ({ aclType, topic, priority: wanted, allow }: GivenAcl) => ({
  aclType,
  topic,
  priority: wanted ?? DEFAULT_ACL_PRIORITY,
  allow,
});

/** Without the keys that nothing was said of. */
function said<T extends object>(fields: T): { [Key in keyof T]: Exclude<T[Key], undefined> } {
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as { [Key in keyof T]: Exclude<T[Key], undefined> };
}

function putClient(mode: PutMode, input: Shape<typeof clientFields>, { clients }: AccessPolicy): AccessChange {
  const { username: name, clientId, textName, textDescription, enabled, roles, groups, password } = input;
  if (password === null) throw invalid([{ path: 'password', reason: 'cannot be cleared; leave it out to keep it' }]);
  const known = clients.get(name);
  const fields = said({
    clientId,
    textName,
    textDescription,
    disabled: enabled === undefined || enabled === null ? undefined : !enabled,
    roles: memberships(roles, ({ rolename }) => rolename, known?.roles),
    groups: memberships(groups, ({ groupname }) => groupname, known?.groups),
    password,
  }) as ClientFields;
  return { kind: 'PUT_CLIENT', username: name, mode, fields };
}

function putGroup(mode: PutMode, input: Shape<typeof groupFields>, policy: AccessPolicy): AccessChange {
  const { groupname, textName, textDescription, roles, clients } = input;
  const inGroup = ({ username: name, priority: wanted }: NonNullable<typeof clients>[number]): Membership =>
    membership(name, wanted ?? policy.clients.get(name)?.groups.find((group) => group.name === groupname)?.priority);
  const fields = said({
    textName,
    textDescription,
    roles: memberships(roles, ({ rolename }) => rolename, policy.groups.get(groupname)?.roles),
    clients: clients === undefined ? undefined : (clients ?? []).map(inGroup),
  }) as GroupFields;
  return { kind: 'PUT_GROUP', groupname, mode, fields };
}

function putRole(mode: PutMode, input: Shape<typeof roleFields>): AccessChange {
  const { rolename, textName, textDescription, allowWildcardSubs, acls } = input;
  const fields = said({
    textName,
    textDescription,
    allowWildcardSubs: allowWildcardSubs ?? undefined,
    acls: acls === undefined ? undefined : (acls ?? []).map(rule),
  }) as RoleFields;
  return { kind: 'PUT_ROLE', rolename, mode, fields };
}

/** Verbs by the names that they have as mutations and as entries of a list of changes. */
export const CLIENT_VERBS = {
  createAccessClient: verb({
    description: 'Adds an account.',
    fields: clientFields,
    change: (input, policy) => putClient('CREATE', input, policy),
  }),
  updateAccessClient: verb({
    description: 'Changes an account. What is not given stays as it is; null clears.',
    fields: clientFields,
    change: (input, policy) => putClient('UPDATE', input, policy),
  }),
  putAccessClient: verb({
    description: 'Adds an account, or changes the one that is there.',
    fields: clientFields,
    change: (input, policy) => putClient('PUT', input, policy),
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
    change: (input, { clients }) => ({
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
    change: (input, { clients }) => ({
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
    change: (input, policy) => putGroup('CREATE', input, policy),
  }),
  updateAccessGroup: verb({
    description: 'Changes a group. What is not given stays as it is; null clears.',
    fields: groupFields,
    change: (input, policy) => putGroup('UPDATE', input, policy),
  }),
  putAccessGroup: verb({
    description: 'Adds a group, or changes the one that is there.',
    fields: groupFields,
    change: (input, policy) => putGroup('PUT', input, policy),
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
    change: (input, { groups }) => ({
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
