import type { SharedFilterRule } from './shared-filters.ts';

/** Modelled on Mosquitto's dynamic security: clients (accounts) and groups hold roles. Names are case-sensitive. */
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

export type DefaultAcl = Readonly<Record<DefaultAclType, boolean>>;

/** `aclType` and `topic` identify the rule in its role. */
export interface AclRule {
  readonly aclType: AclType;
  readonly topic: string;
  readonly priority: number;
  readonly allow: boolean;
}

export interface Membership {
  readonly name: string;
  readonly priority: number;
}

export const DEFAULT_MEMBERSHIP_PRIORITY = -1;
export const DEFAULT_ACL_PRIORITY = 0;
/** Mosquitto 2.1 limits priorities to ±100,000. Older versions have no limit. */
export const MAX_PRIORITY = 100_000;

interface Described {
  readonly textName: string | null;
  readonly textDescription: string | null;
}

export interface Account extends Described {
  readonly username: string;
  /** The only client id that may use the account; `null` if any may. */
  readonly clientId: string | null;
  readonly disabled: boolean;
  /** Sorted by priority (highest first), then by name. */
  readonly roles: readonly Membership[];
  readonly groups: readonly Membership[];
}

/** The members are stored in the clients (`Account.groups`). */
export interface AccessGroup extends Described {
  readonly groupname: string;
  readonly roles: readonly Membership[];
}

export interface AccessRole extends Described {
  readonly rolename: string;
  /** Whether subscriptions with wildcards are allowed by rules. `null` if the broker does not support this. */
  readonly allowWildcardSubs: boolean | null;
  readonly acls: readonly AclRule[];
}

export interface AccessPolicy {
  readonly clients: ReadonlyMap<string, Account>;
  readonly groups: ReadonlyMap<string, AccessGroup>;
  readonly roles: ReadonlyMap<string, AccessRole>;
  readonly defaultAcl: DefaultAcl;
  /** The group of connections without a user name; `null` if the broker has none. */
  readonly anonymousGroup: string | null;
}

export interface PolicyObjects {
  readonly clients: Account;
  readonly groups: AccessGroup;
  readonly roles: AccessRole;
}

/** The differences between brokers that support dynamic security. Most came with Mosquitto 2.1. */
export interface AccessDialect {
  /** Whether the version is not known, so that the other fields are a guess. */
  readonly isAssumed: boolean;
  /** Whether `%c` and `%u` in ACL topics are replaced with client id and user name. */
  readonly substitution: boolean;
  readonly wildcardFlag: boolean;
  /** Whether a leading wildcard excludes topics that begin with `$` in subscribe rules, too. */
  readonly wildcardsExcludeDollar: boolean;
  /** Whether a rule that is no valid filter denies what is compared with it: see invalid-filter.ts. */
  readonly invalidRulesDeny: boolean;
  /** Whether `modifyRole` with ACLs disconnects the holders of the role. */
  readonly disconnectsOnRoleAcls: boolean;
  /** Whether `getDetails` returns a number that grows with each write. */
  readonly changeIndex: boolean;
  /** Whether dynamic security alone decides (the embedded broker). Unknown users cannot connect then. */
  readonly isSoleAuthority: boolean;
  readonly sharedFilters: SharedFilterRule;
  /** Maximum number of writes in one payload. Mosquitto 2.0 blocks all clients during each write. */
  readonly writesPerPayload: number;
}
