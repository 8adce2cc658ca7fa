import type { InputFieldMap, InputShapeFromFields } from '@pothos/core';
import { builder, type InputFields } from '../../../gateway/graphql/builder.ts';
import { invalid } from '../../../platform/errors.ts';
import { DEFAULT_ACL_PRIORITY, MAX_PRIORITY } from '../../../protocol/apis/access-control/access-model.ts';
import type {
  AccessChange,
  ClientFields,
  GroupFields,
  PutMode,
  RequestedMembership,
  RoleFields,
} from '../writing/access-change.ts';
import { AclType, RULE } from './access-rules-schema.ts';

const NAME = 'Case-sensitive, not empty, at most 65,535 bytes of UTF-8, without control characters.';
const DESCRIPTIONS = {
  username: `The user name of the account. ${NAME}`,
  groupName: `The name of the group. ${NAME}`,
  roleName: `The name of the role. ${NAME}`,
  topic: 'The topic name or topic filter of the rule.',
  password: 'Not empty, at most 65,535 bytes of UTF-8. Never returned.',
} as const;
type NameKey = keyof typeof DESCRIPTIONS;

export const names = <Key extends NameKey>(t: InputFields, ...keys: readonly Key[]) =>
  Object.fromEntries(keys.map((key) => [key, requiredName(t, key)])) as Record<Key, ReturnType<typeof requiredName>>;
const requiredName = (t: InputFields, key: NameKey) => t.string({ required: true, description: DESCRIPTIONS[key] });

const LIMITS = MAX_PRIORITY.toLocaleString('en');
const PRIORITY = `Higher priorities are evaluated first. From -${LIMITS} to ${LIMITS}.`;

export const priority = (t: InputFields) =>
  t.int({ description: `${PRIORITY} Default: the current value, or -1 for a new entry.` });

const membershipInput = <Key extends NameKey>(type: string, description: string, key: Key) =>
  builder.inputType(type, { description, fields: (t) => ({ ...names(t, key), priority: priority(t) }) });

export const HeldRoleInput = membershipInput('HeldRoleInput', 'A role of an account or group.', 'roleName');
const JoinedGroupInput = membershipInput('JoinedGroupInput', 'A group that an account belongs to.', 'groupName');
const GroupMemberInput = membershipInput('GroupMemberInput', 'A member of a group.', 'username');
export const AclRuleInput = builder.inputType('AclRuleInput', {
  description: 'A rule of a role, identified by its type and topic.',
  fields: (t) => ({
    aclType: t.field({ description: RULE.aclType, type: AclType, required: true }),
    topic: t.string({
      description:
        'A topic name or a topic filter, at most 65,535 bytes of UTF-8. If `knowsSubstitution` is true, the broker replaces %c with the client id and %u with the user name.',
      required: true,
    }),
    priority: t.int({ defaultValue: DEFAULT_ACL_PRIORITY, description: PRIORITY }),
    allow: t.boolean({ description: RULE.allow, required: true }),
  }),
});

const CLEARED = 'At most 65,535 bytes of UTF-8. null and an empty text clear it.';
const texts = (t: InputFields) => ({
  textName: t.string({ description: `The display name. ${CLEARED}` }),
  textDescription: t.string({ description: `A note for administrators. ${CLEARED}` }),
});
const WHOLE_LIST = 'Replaces the whole list; null clears it.';

export const accountFields = (t: InputFields) => ({
  ...names(t, 'username'),
  clientId: t.string({ description: 'The only client id that may use the account. null: any client id.' }),
  ...texts(t),
  enabled: t.boolean({ description: 'Whether clients may connect with the account.' }),
  roles: t.field({ type: [HeldRoleInput], description: WHOLE_LIST }),
  groups: t.field({ type: [JoinedGroupInput], description: WHOLE_LIST }),
  password: t.string({ description: 'Never returned. An account without a password cannot be used.' }),
});
export const groupFields = (t: InputFields) => ({
  ...names(t, 'groupName'),
  ...texts(t),
  roles: t.field({ type: [HeldRoleInput], description: WHOLE_LIST }),
  members: t.field({ type: [GroupMemberInput], description: WHOLE_LIST }),
});
export const roleFields = (t: InputFields) => ({
  ...names(t, 'roleName'),
  ...texts(t),
  allowWildcardSubs: t.boolean({
    description: 'Whether subscriptions with wildcards are allowed. Requires Mosquitto 2.1.',
  }),
  acls: t.field({ type: [AclRuleInput], description: WHOLE_LIST }),
});

type Shape<Fields extends (t: InputFields) => InputFieldMap> = InputShapeFromFields<ReturnType<Fields>>;
type AclInput = NonNullable<Shape<typeof roleFields>['acls']>[number];

function memberships<T extends { readonly priority?: number | null | undefined }>(
  entries: readonly T[] | null | undefined,
  nameOf: (entry: T) => string,
): RequestedMembership[] | undefined {
  if (entries === undefined) return undefined;
  return (entries ?? []).map((entry) => membership(nameOf(entry), entry.priority));
}

export const membership = (name: string, newPriority: number | null | undefined): RequestedMembership => ({
  name,
  priority: newPriority ?? null,
});

export const rule = ({ priority: newPriority, ...acl }: AclInput) => ({
  ...acl,
  priority: newPriority ?? DEFAULT_ACL_PRIORITY,
});

function withoutUndefined<T extends object>(fields: T): { [Key in keyof T]: Exclude<T[Key], undefined> } {
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as { [Key in keyof T]: Exclude<T[Key], undefined> };
}

/** Errors: INVALID with `path`, the path of `input`. */
export function putAccount(mode: PutMode, input: Shape<typeof accountFields>, path: string): AccessChange {
  const { username: name, clientId, textName, textDescription, enabled, roles, groups, password } = input;
  if (password === null)
    throw invalid([{ path: `${path}.password`, reason: 'must not be null; omit it to keep the password' }]);
  const fields = withoutUndefined({
    clientId,
    textName,
    textDescription,
    disabled: enabled === undefined || enabled === null ? undefined : !enabled,
    roles: memberships(roles, ({ roleName }) => roleName),
    groups: memberships(groups, ({ groupName }) => groupName),
    password,
  }) as ClientFields<RequestedMembership>;
  return { kind: 'PUT_CLIENT', username: name, mode, fields };
}

export function putGroup(mode: PutMode, input: Shape<typeof groupFields>): AccessChange {
  const { groupName, textName, textDescription, roles, members } = input;
  const fields = withoutUndefined({
    textName,
    textDescription,
    roles: memberships(roles, ({ roleName }) => roleName),
    members: memberships(members, ({ username }) => username),
  }) as GroupFields<RequestedMembership>;
  return { kind: 'PUT_GROUP', groupName, mode, fields };
}

export function putRole(mode: PutMode, input: Shape<typeof roleFields>): AccessChange {
  const { roleName, textName, textDescription, allowWildcardSubs, acls } = input;
  const fields = withoutUndefined({
    textName,
    textDescription,
    allowWildcardSubs: allowWildcardSubs ?? undefined,
    acls: acls === undefined ? undefined : (acls ?? []).map(rule),
  }) as RoleFields;
  return { kind: 'PUT_ROLE', roleName, mode, fields };
}
