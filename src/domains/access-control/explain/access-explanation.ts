import type { AclRule, DefaultAclType } from '../policy/access-model.ts';

export const ACCESS_ACTIONS = ['PUBLISH', 'RECEIVE', 'SUBSCRIBE', 'UNSUBSCRIBE'] as const;
export type AccessAction = (typeof ACCESS_ACTIONS)[number];

export interface AccessIdentity {
  /** `null` for a connection without a user name. */
  readonly username: string | null;
  /** `null` if not given; rules with `%c` cannot be evaluated then. */
  readonly clientId: string | null;
}

export interface AccessQuery extends AccessIdentity {
  readonly action: AccessAction;
  /** A topic name; a topic filter with SUBSCRIBE and UNSUBSCRIBE. */
  readonly topic: string;
  /** Evaluates as if the account held these roles, too. Without a user name: as if the anonymous group held them. */
  readonly withRoles?: readonly { readonly name: string; readonly priority: number }[];
  /** Evaluates as if the account held none of these roles, directly or through a group. */
  readonly withoutRoles?: readonly string[];
}

export interface RoleSource {
  readonly rolename: string;
  /** `null` if the client holds the role directly. */
  readonly group: string | null;
  readonly priority: number;
}

/**
 * The result of evaluating a rule. MATCHED decides. UNDECIDABLE: the rule has `%c` and matches for a certain client id,
 * but the query has no client id. WILDCARD_DENIED: the wildcard flag of the role decides; there is no rule.
 */
export type RuleVerdict = 'MATCHED' | 'NOT_MATCHED' | 'UNDECIDABLE' | 'WILDCARD_DENIED';

/** An evaluated rule. Literal rules are looked up by filter, so only a matching one is evaluated. */
export interface LookedAtRule extends RoleSource {
  /** `null` with WILDCARD_DENIED. */
  readonly rule: AclRule | null;
  readonly verdict: RuleVerdict;
}

export const MAX_LOOKED_AT = 1_000;

/**
 * - BROKER: the broker refuses before it evaluates rules.
 * - RULE: `decidedBy` decides.
 * - DEFAULT: no rule matches.
 * - CONTROL_TOPIC: the default ACL allows, but never topics below `$CONTROL`.
 * - UNKNOWN_USER: the account does not exist; or the client has no user name, and the broker requires an anonymous
 *   group for that and has none. Other plugins may decide if the broker supports them.
 * - DISABLED, CLIENT_ID: the account cannot connect like this.
 *
 * With BROKER, DISABLED and CLIENT_ID, the listed rules are those that would decide otherwise.
 */
export type DecisionReason =
  | 'BROKER'
  | 'RULE'
  | 'DEFAULT'
  | 'CONTROL_TOPIC'
  | 'UNKNOWN_USER'
  | 'DISABLED'
  | 'CLIENT_ID';

export interface Explanation {
  readonly allowed: boolean;
  readonly reason: DecisionReason;
  readonly decidedBy: LookedAtRule | null;
  readonly defaultAclType: DefaultAclType;
  readonly defaultAllows: boolean;
  /** Whether the result is the opposite for some client ids. `false` if the query has a client id. */
  readonly conditional: boolean;
  /** The evaluated rules in the order of the broker, up to the deciding one. At most MAX_LOOKED_AT. */
  readonly lookedAt: readonly LookedAtRule[];
  /** Number of all evaluated rules; greater than the length of `lookedAt` if that list is truncated. */
  readonly lookedAtTotal: number;
  /** Why another plugin, a password file or a certificate may decide otherwise; `null` if none can. */
  readonly elsewhere: string | null;
  /** Behaviour of the broker that users may not expect and that affects the result. */
  readonly remarks: readonly string[];
}

export interface Grantee {
  readonly username: string | null;
  readonly reason: 'RULE' | 'DEFAULT';
  readonly decidedBy: LookedAtRule | null;
  readonly conditional: boolean;
}
