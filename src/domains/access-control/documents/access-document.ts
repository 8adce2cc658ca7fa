import type { SlicedTask } from '../../../platform/scheduling/sliced-task.ts';
import {
  type AccessGroup,
  type AccessPolicy,
  type AccessRole,
  type Account,
  type AclRule,
  DEFAULT_ACL_PRIORITY,
  DEFAULT_MEMBERSHIP_PRIORITY,
  type DefaultAcl,
  type Membership,
} from '../../../protocol/apis/access-control/access-model.ts';
import { compareNames, membershipsInOrder, rulesInOrder } from '../../../protocol/apis/access-control/access-order.ts';

export const DOCUMENT_FORMAT = 'brokergraph/access-control';
export const DOCUMENT_VERSION = 1;

/**
 * The access control of a broker as one JSON value. Lists are sorted by name (code points), so two exports differ only
 * in real changes. Default values, empty lists and passwords are omitted.
 */
export interface AccessDocument {
  readonly format: typeof DOCUMENT_FORMAT;
  readonly version: typeof DOCUMENT_VERSION;
  readonly defaultAcl: DefaultAcl;
  readonly anonymousGroup?: string;
  readonly roles: readonly DocumentRole[];
  readonly groups: readonly DocumentGroup[];
  readonly clients: readonly DocumentClient[];
}

interface DocumentTexts {
  readonly textName?: string;
  readonly textDescription?: string;
}

interface DocumentRole extends DocumentTexts {
  readonly rolename: string;
  /** Default: `true`, the behaviour of all roles of Mosquitto 2.0. */
  readonly allowWildcardSubs?: boolean;
  /** By type and priority. Of the rules with the same ones, the first that matches decides (Mosquitto 2.0). */
  readonly acls?: readonly DocumentAcl[];
}

type WithOptionalPriority<T extends { readonly priority: number }> = Omit<T, 'priority'> & Partial<Pick<T, 'priority'>>;
export type DocumentAcl = WithOptionalPriority<AclRule>;
type DocumentMembership = WithOptionalPriority<Membership>;

interface DocumentGroup extends DocumentTexts {
  readonly groupname: string;
  readonly roles?: readonly DocumentMembership[];
}

interface DocumentClient extends DocumentTexts {
  readonly username: string;
  readonly clientId?: string;
  readonly disabled?: boolean;
  readonly roles?: readonly DocumentMembership[];
  readonly groups?: readonly DocumentMembership[];
}

/**
 * References to missing roles and groups are omitted: holders of a deleted role keep its name in Mosquitto 2.0. Of
 * several rules with one type and topic (in files only) the broker uses the first, or the last of literal types.
 */
export function* documentOf(policy: AccessPolicy): SlicedTask<AccessDocument> {
  const { clients, groups, roles, defaultAcl, anonymousGroup } = policy;
  const { publishClientSend, publishClientReceive, subscribe, unsubscribe } = defaultAcl;
  return {
    format: DOCUMENT_FORMAT,
    version: DOCUMENT_VERSION,
    defaultAcl: { publishClientSend, publishClientReceive, subscribe, unsubscribe },
    ...(anonymousGroup !== null && groups.has(anonymousGroup) ? { anonymousGroup } : {}),
    roles: (yield* mapped(roles.values(), roleOf)).sort(by('rolename')),
    groups: (yield* mapped(groups.values(), (group) => groupOf(group, policy))).sort(by('groupname')),
    clients: (yield* mapped(clients.values(), (client) => clientOf(client, policy))).sort(by('username')),
  };
}

export function* policyOf(document: AccessDocument): SlicedTask<AccessPolicy> {
  return {
    defaultAcl: document.defaultAcl,
    anonymousGroup: document.anonymousGroup ?? null,
    roles: new Map(yield* mapped(document.roles, (role) => [role.rolename, roleIn(role)] as const)),
    groups: new Map(yield* mapped(document.groups, (group) => [group.groupname, groupIn(group)] as const)),
    clients: new Map(yield* mapped(document.clients, (client) => [client.username, clientIn(client)] as const)),
  };
}

function* mapped<From, To>(objects: Iterable<From>, of: (object: From) => To): SlicedTask<To[]> {
  const all: To[] = [];
  for (const object of objects) yield void all.push(of(object));
  return all;
}

export const roleIn = (role: DocumentRole): AccessRole => ({
  rolename: role.rolename,
  ...textsIn(role),
  allowWildcardSubs: role.allowWildcardSubs ?? true,
  acls: (role.acls ?? []).map((acl) => ({ ...acl, priority: acl.priority ?? DEFAULT_ACL_PRIORITY })),
});

export const groupIn = (group: DocumentGroup): AccessGroup => ({
  groupname: group.groupname,
  ...textsIn(group),
  roles: membershipsIn(group.roles),
});

export const clientIn = (client: DocumentClient): Account => ({
  username: client.username,
  clientId: client.clientId || null,
  ...textsIn(client),
  disabled: client.disabled ?? false,
  roles: membershipsIn(client.roles),
  groups: membershipsIn(client.groups),
});

function roleOf(role: AccessRole): DocumentRole {
  const acls = aclsOf(role.acls);
  return {
    rolename: role.rolename,
    ...textsOf(role),
    ...(role.allowWildcardSubs === false ? { allowWildcardSubs: false } : {}),
    ...(acls.length > 0 ? { acls } : {}),
  };
}

function groupOf(group: AccessGroup, policy: AccessPolicy): DocumentGroup {
  const roles = membershipsOf(group.roles, policy.roles);
  return { groupname: group.groupname, ...textsOf(group), ...(roles.length > 0 ? { roles } : {}) };
}

function clientOf(client: Account, policy: AccessPolicy): DocumentClient {
  const roles = membershipsOf(client.roles, policy.roles);
  const groups = membershipsOf(client.groups, policy.groups);
  return {
    username: client.username,
    ...(client.clientId ? { clientId: client.clientId } : {}),
    ...textsOf(client),
    ...(client.disabled ? { disabled: true } : {}),
    ...(roles.length > 0 ? { roles } : {}),
    ...(groups.length > 0 ? { groups } : {}),
  };
}

function aclsOf(acls: readonly AclRule[]): DocumentAcl[] {
  const rules = new Map<string, AclRule>();
  for (const rule of rulesInOrder(acls)) {
    const key = `${rule.aclType} ${rule.topic}`;
    if (!rules.has(key) || rule.aclType.endsWith('Literal')) rules.set(key, rule);
  }
  return [...rules.values()].map(({ aclType, topic, priority, allow }) => ({
    aclType,
    topic,
    ...(priority === DEFAULT_ACL_PRIORITY ? {} : { priority }),
    allow,
  }));
}

function membershipsOf(list: readonly Membership[], defined: ReadonlyMap<string, unknown>): DocumentMembership[] {
  return list
    .filter(({ name }) => defined.has(name))
    .map(({ name, priority }) => ({ name, ...(priority === DEFAULT_MEMBERSHIP_PRIORITY ? {} : { priority }) }))
    .sort(by('name'));
}

function membershipsIn(list: readonly DocumentMembership[] = []): readonly Membership[] {
  return membershipsInOrder(list.map(({ name, priority = DEFAULT_MEMBERSHIP_PRIORITY }) => ({ name, priority })));
}

/** An empty text is omitted: Mosquitto clears a text by setting it to "". */
function textsOf({ textName, textDescription }: Pick<AccessRole, 'textName' | 'textDescription'>): DocumentTexts {
  return { ...(textName ? { textName } : {}), ...(textDescription ? { textDescription } : {}) };
}

const textsIn = ({ textName, textDescription }: DocumentTexts) => ({
  textName: textName || null,
  textDescription: textDescription || null,
});

const by =
  <K extends string>(key: K) =>
  (a: Readonly<Record<K, string>>, b: Readonly<Record<K, string>>): number =>
    compareNames(a[key], b[key]);
