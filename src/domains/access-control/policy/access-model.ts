/**
 * The access control of a broker as Mosquitto's dynamic security knows it: clients (accounts) and groups hold roles, roles hold
 * ACL rules. Names are compared as they are, case and all.
 */
export const ACL_TYPES = [
  'publishClientSend',
  'publishClientReceive',
  'subscribeLiteral',
  'subscribePattern',
  'unsubscribeLiteral',
  'unsubscribePattern',
] as const;
export type AclType = (typeof ACL_TYPES)[number];

export const DEFAULT_ACL_TYPES = ['publishClientSend', 'publishClientReceive', 'subscribe', 'unsubscribe'] as const;
export type DefaultAclType = (typeof DEFAULT_ACL_TYPES)[number];

/** What happens where no rule matches. */
export type DefaultAcl = Readonly<Record<DefaultAclType, boolean>>;

/** Identified in its role by `aclType` and `topic`. */
export interface AclRule {
  readonly aclType: AclType;
  readonly topic: string;
  /** Higher is looked at first. */
  readonly priority: number;
  readonly allow: boolean;
}

/** A role that a client or group holds, or a group that a client is in. */
export interface Membership {
  readonly name: string;
  /** Higher is looked at first; -1 where nobody said. */
  readonly priority: number;
}

export const DEFAULT_MEMBERSHIP_PRIORITY = -1;
export const DEFAULT_ACL_PRIORITY = 0;
/** Mosquitto 2.1 clamps priorities to it; older ones know no limit. */
export const MAX_PRIORITY = 100_000;

export interface AccessClient {
  readonly username: string;
  /** The only client id that may use the account; null: any. */
  readonly clientId: string | null;
  readonly textName: string | null;
  readonly textDescription: string | null;
  readonly disabled: boolean;
  /** By priority, highest first; equals by name. */
  readonly roles: readonly Membership[];
  /** As `roles`. */
  readonly groups: readonly Membership[];
}

/** Its members are those clients that name it. */
export interface AccessGroup {
  readonly groupname: string;
  readonly textName: string | null;
  readonly textDescription: string | null;
  readonly roles: readonly Membership[];
}

export interface AccessRole {
  readonly rolename: string;
  readonly textName: string | null;
  readonly textDescription: string | null;
  /** False: a subscription with a wildcard is denied as soon as the role is looked at. Null: the broker does not know the flag. */
  readonly allowWildcardSubs: boolean | null;
  readonly acls: readonly AclRule[];
}

/** Everything that decides on access, at one moment. Maps are by name. */
export interface AccessPolicy {
  readonly clients: ReadonlyMap<string, AccessClient>;
  readonly groups: ReadonlyMap<string, AccessGroup>;
  readonly roles: ReadonlyMap<string, AccessRole>;
  readonly defaultAcl: DefaultAcl;
  /** The group that connections without user name belong to; null: none. */
  readonly anonymousGroup: string | null;
}

/** What differs between brokers that speak dynamic security. */
export interface AccessDialect {
  /** `%c` and `%u` stand for client id and user name in ACL topics (Mosquitto 2.1; 2.0 takes them literally). */
  readonly substitution: boolean;
  /** Roles know `allowwildcardsubs` (2.1). */
  readonly wildcardFlag: boolean;
  /** A pattern that begins with a wildcard leaves out topics that begin with `$` in subscribe rules too (2.1). */
  readonly guardsDollar: boolean;
  /** `modifyRole` with ACLs disconnects the holders (2.1). */
  readonly kicksOnRoleAcls: boolean;
  /** `deleteGroup` refuses the anonymous group; before 2.0.15 it crashes the broker. */
  readonly guardsAnonymousGroup: boolean;
  /** `getDetails` tells a number that grows with each write (2.1). */
  readonly changeIndex: boolean;
  /**
   * Nobody else decides: no other plugin, password file or listener's setting (the embedded broker). Whoever has no account cannot
   * connect, and without user name only where there is an anonymous group.
   */
  readonly decidesAlone: boolean;
  /** Writes that may ride in one payload: 2.0 saves its whole file after each one and serves nobody meanwhile. */
  readonly writesPerPayload: number;
}
