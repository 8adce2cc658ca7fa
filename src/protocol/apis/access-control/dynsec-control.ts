/** Parses responses of `dynamic-security`. A value of the wrong type counts as missing, because brokers differ. */

import { type Fields, fieldsOf, integerOf, isFields } from '../../control/fields.ts';
import { isAtLeast, mosquittoVersionOf } from '../../control/mosquitto-version.ts';
import {
  ACL_TYPES,
  type AccessDialect,
  type AccessGroup,
  type AccessRole,
  type Account,
  type AclRule,
  DEFAULT_ACL_PRIORITY,
  DEFAULT_ACL_TYPES,
  DEFAULT_MEMBERSHIP_PRIORITY,
  type DefaultAcl,
  type Membership,
} from './access-model.ts';
import { membershipsInOrder } from './access-order.ts';

export interface ListedGroup extends AccessGroup {
  readonly members: readonly string[];
}

export function withoutMembers({ members: _members, ...group }: ListedGroup): AccessGroup {
  return group;
}

export interface DynsecDetails {
  readonly changeIndex: number | null;
}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
/** Mosquitto stores a cleared text as "". */
const textOf = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null);
/** As in Mosquitto and in GraphQL. */
const integerOr = (value: unknown, otherwise: number): number =>
  typeof value === 'number' && Number.isFinite(value)
    ? Math.trunc(Math.min(Math.max(value, -0x8000_0000), 0x7fff_ffff))
    : otherwise;

/** `value` is the response to a command for one object, an entry of a list, or only a name. */
function named(value: unknown, kind: string, key: string): { readonly name: string | null; readonly fields: Fields } {
  const outer = fieldsOf(value);
  const inner = outer[kind];
  const fields = isFields(inner) ? inner : outer;
  return { name: nameOf(typeof value === 'string' ? value : fields[key]), fields };
}

export function parseClient(value: unknown): Account | null {
  const { name: username, fields } = named(value, 'client', 'username');
  if (username === null) return null;
  return {
    username,
    clientId: textOf(fields.clientid),
    textName: textOf(fields.textname),
    textDescription: textOf(fields.textdescription),
    disabled: fields.disabled === true,
    roles: membershipsOf(fields.roles, 'rolename'),
    groups: membershipsOf(fields.groups, 'groupname'),
  };
}

export function parseGroup(value: unknown): ListedGroup | null {
  const { name: groupname, fields } = named(value, 'group', 'groupname');
  if (groupname === null) return null;
  return {
    groupname,
    textName: textOf(fields.textname),
    textDescription: textOf(fields.textdescription),
    roles: membershipsOf(fields.roles, 'rolename'),
    members: membershipsOf(fields.clients, 'username').map(({ name }) => name),
  };
}

export function parseRole(value: unknown): AccessRole | null {
  const { name: rolename, fields } = named(value, 'role', 'rolename');
  if (rolename === null) return null;
  const { allowwildcardsubs } = fields;
  return {
    rolename,
    textName: textOf(fields.textname),
    textDescription: textOf(fields.textdescription),
    allowWildcardSubs: typeof allowwildcardsubs === 'boolean' ? allowwildcardsubs : null,
    // In the order of the broker, which evaluates older rules of one type and priority first.
    acls: listOf(fields.acls).flatMap((acl) => parseAcl(acl) ?? []),
  };
}

const typeIn = <Type extends string>(types: readonly Type[], text: unknown): Type | undefined =>
  typeof text === 'string' ? types.find((type) => type.toLowerCase() === text.toLowerCase()) : undefined;

function parseAcl(value: unknown): AclRule | null {
  const { acltype, topic, priority, allow } = fieldsOf(value);
  const aclType = typeIn(ACL_TYPES, acltype);
  if (aclType === undefined || typeof topic !== 'string') return null;
  return { aclType, topic, priority: integerOr(priority, DEFAULT_ACL_PRIORITY), allow: allow === true };
}

/** `{ acls }` of `getDefaultACLAccess`. A missing type is denied. */
export function parseDefaultAcl(data: unknown): DefaultAcl {
  const acl = { publishClientSend: false, publishClientReceive: false, subscribe: false, unsubscribe: false };
  for (const entry of listOf(fieldsOf(data).acls)) {
    const { acltype, allow } = fieldsOf(entry);
    const type = typeIn(DEFAULT_ACL_TYPES, acltype);
    if (type !== undefined) acl[type] = allow === true;
  }
  return acl;
}

export function parseDetails(data: unknown): DynsecDetails {
  return { changeIndex: integerOf(fieldsOf(data).changeIndex) };
}

/** `details` is `null` if the broker does not support `getDetails` (new in Mosquitto 2.1). */
export function dialectOf(details: DynsecDetails | null, version: string | null): AccessDialect {
  const mosquitto = mosquittoVersionOf(version);
  const isSoleAuthority = EMBEDDED.test(version ?? '');
  const isNew = details !== null || isAtLeast(mosquitto, [2, 1, 0]);
  const ofMosquitto = isNew ? 'PLAIN_NAME' : isAtLeast(mosquitto, [2, 0, 20]) ? 'WITH_FILTER' : 'ANY';
  return {
    isAssumed: details === null && (mosquitto === null || isNew),
    substitution: isNew,
    wildcardFlag: isNew,
    wildcardsExcludeDollar: isNew,
    invalidRulesDeny: isNew && !isSoleAuthority,
    disconnectsOnRoleAcls: isNew,
    changeIndex: details !== null && details.changeIndex !== null,
    isSoleAuthority,
    sharedFilters: isSoleAuthority ? 'STRICT' : ofMosquitto,
    writesPerPayload: isNew ? 200 : 10,
  };
}

const EMBEDDED = /^brokergraph embedded\b/;

/** Mosquitto 2.0 accepts "" as a name. */
const nameOf = (value: unknown): string | null => (typeof value === 'string' ? value : null);

const NONE: readonly Membership[] = [];

function membershipsOf(value: unknown, key: string): readonly Membership[] {
  const list = listOf(value);
  if (list.length === 0) return NONE;
  const found = new Map<string, Membership>();
  for (const entry of list) {
    const fields = fieldsOf(entry);
    const name = nameOf(typeof entry === 'string' ? entry : fields[key]);
    if (name === null || found.has(name)) continue;
    found.set(name, { name, priority: integerOr(fields.priority, DEFAULT_MEMBERSHIP_PRIORITY) });
  }
  return membershipsInOrder([...found.values()]);
}
