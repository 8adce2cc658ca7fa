import type { InputFieldMap, InputShapeFromFields } from '@pothos/core';
import { builder } from '../../../gateway/graphql/builder.ts';
import { invalid } from '../../../platform/errors.ts';
import {
  type AccessPolicy,
  DEFAULT_ACL_PRIORITY,
  DEFAULT_MEMBERSHIP_PRIORITY,
  type Membership,
} from '../policy/access-model.ts';
import type { AccessChange, ClientFields, GroupFields, PutMode, RoleFields } from '../writing/access-change.ts';
import { AclType } from './access-objects-schema.ts';

export type InputFields = PothosSchemaTypes.InputFieldBuilder<(typeof builder)['$inferSchemaTypes'], 'InputObject'>;

/** Where a change is asked for. */
export interface ChangePlace {
  /** What the broker has: priorities that nobody says stay as they are. */
  readonly policy: AccessPolicy;
  /** Of the change in the arguments, for issues. */
  readonly path: string;
}

export const username = (t: InputFields) => t.string({ required: true });
export const priority = (t: InputFields) =>
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
export const AclRuleInput = builder.inputType('AclRuleInput', {
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

export const clientFields = (t: InputFields) => ({
  username: username(t),
  clientId: t.string({ description: 'The only client id that may use the account; null: any.' }),
  ...texts(t),
  enabled: t.boolean({ description: 'False: it cannot connect.' }),
  roles: t.field({ type: [HeldRoleInput], description: WHOLE_LIST }),
  groups: t.field({ type: [JoinedGroupInput], description: WHOLE_LIST }),
  password: t.string({ description: 'Never answered. Without one nobody can connect with the account.' }),
});
export const groupFields = (t: InputFields) => ({
  groupname: t.string({ required: true }),
  ...texts(t),
  roles: t.field({ type: [HeldRoleInput], description: WHOLE_LIST }),
  clients: t.field({ type: [GroupMemberInput], description: WHOLE_LIST }),
});
export const roleFields = (t: InputFields) => ({
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

export const membership = (
  name: string,
  wanted: number | null | undefined,
  known: readonly Membership[] = [],
): Membership => ({
  name,
  priority: wanted ?? known.find((other) => other.name === name)?.priority ?? DEFAULT_MEMBERSHIP_PRIORITY,
});

export const rule = ({ aclType, topic, priority: wanted, allow }: GivenAcl) => ({
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

export function putClient(
  mode: PutMode,
  input: Shape<typeof clientFields>,
  { policy: { clients }, path }: ChangePlace,
): AccessChange {
  const { username: name, clientId, textName, textDescription, enabled, roles, groups, password } = input;
  if (password === null)
    throw invalid([{ path: `${path}.password`, reason: 'cannot be cleared; leave it out to keep it' }]);
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

export function putGroup(mode: PutMode, input: Shape<typeof groupFields>, { policy }: ChangePlace): AccessChange {
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

export function putRole(mode: PutMode, input: Shape<typeof roleFields>): AccessChange {
  const { rolename, textName, textDescription, allowWildcardSubs, acls } = input;
  const fields = said({
    textName,
    textDescription,
    allowWildcardSubs: allowWildcardSubs ?? undefined,
    acls: acls === undefined ? undefined : (acls ?? []).map(rule),
  }) as RoleFields;
  return { kind: 'PUT_ROLE', rolename, mode, fields };
}
