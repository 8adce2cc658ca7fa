import type { SlicedTask } from '../../../platform/scheduling/sliced-task.ts';
import {
  ACL_TYPES,
  type AccessClient,
  type AccessGroup,
  type AccessPolicy,
  type AccessRole,
  type AclRule,
  DEFAULT_ACL_PRIORITY,
  DEFAULT_MEMBERSHIP_PRIORITY,
  type DefaultAcl,
  type Membership,
} from '../policy/access-model.ts';
import { compareNames, membershipsInOrder } from '../policy/access-order.ts';

export const DOCUMENT_FORMAT = 'brokergraph/access-control';
export const DOCUMENT_VERSION = 1;

/**
 * A broker's access control as one JSON value that is kept in a repository and applied to brokers: always complete, in one
 * order, so that two exports differ only in what changed. It never holds passwords. Keys that say nothing are left out.
 */
export interface AccessDocument {
  readonly format: typeof DOCUMENT_FORMAT;
  readonly version: typeof DOCUMENT_VERSION;
  readonly defaultAcl: DefaultAcl;
  /** Left out: none. */
  readonly anonymousGroup?: string;
  /** Each list by name, in the order of code points. */
  readonly roles: readonly DocumentRole[];
  readonly groups: readonly DocumentGroup[];
  readonly clients: readonly DocumentClient[];
}

interface DocumentTexts {
  readonly textName?: string;
  readonly textDescription?: string;
}

export interface DocumentRole extends DocumentTexts {
  readonly rolename: string;
  /** Left out: true, as every role of Mosquitto 2.0 has it. */
  readonly allowWildcardSubs?: boolean;
  /**
   * As the broker looks at them: by type, then by priority, highest first. Rules of one type and priority keep the order of the
   * broker, because the first that matches decides (Mosquitto 2.0).
   */
  readonly acls?: readonly DocumentAcl[];
}

export interface DocumentAcl {
  readonly aclType: AclRule['aclType'];
  readonly topic: string;
  /** Left out: 0. */
  readonly priority?: number;
  readonly allow: boolean;
}

export interface DocumentMembership {
  readonly name: string;
  /** Left out: -1. */
  readonly priority?: number;
}

export interface DocumentGroup extends DocumentTexts {
  readonly groupname: string;
  /** By name; left out: none. */
  readonly roles?: readonly DocumentMembership[];
}

export interface DocumentClient extends DocumentTexts {
  readonly username: string;
  readonly clientId?: string;
  /** Left out: false. */
  readonly disabled?: boolean;
  /** By name; left out: none. */
  readonly roles?: readonly DocumentMembership[];
  readonly groups?: readonly DocumentMembership[];
}

/**
 * The document of what a broker has. Left out are references to roles and groups that are not there, which give no access (a
 * deleted role stays named by its holders in Mosquitto 2.0), and of several rules of one type and topic, which only a file can
 * hold, all but the one that the broker finds: the first, or of the literal types the last.
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

/** What a broker would have that holds exactly this document. */
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

const roleIn = (role: DocumentRole): AccessRole => ({
  rolename: role.rolename,
  ...textsIn(role),
  allowWildcardSubs: role.allowWildcardSubs ?? true,
  acls: (role.acls ?? []).map((acl) => ({ ...acl, priority: acl.priority ?? DEFAULT_ACL_PRIORITY })),
});

const groupIn = (group: DocumentGroup): AccessGroup => ({
  groupname: group.groupname,
  ...textsIn(group),
  roles: membershipsIn(group.roles),
});

const clientIn = (client: DocumentClient): AccessClient => ({
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

function clientOf(client: AccessClient, policy: AccessPolicy): DocumentClient {
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
  for (const rule of acls.toSorted(
    (a, b) => ACL_TYPES.indexOf(a.aclType) - ACL_TYPES.indexOf(b.aclType) || b.priority - a.priority,
  )) {
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

/** An empty text says nothing; Mosquitto has no other way to take one back. */
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
