import type { AclRule, DefaultAclType } from './access-model.ts';

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
  readonly topic: string;
  /** Without a user name: as if the anonymous group held them. */
  readonly withRoles?: readonly { readonly name: string; readonly priority: number }[];
  /** Held directly or through a group. */
  readonly withoutRoles?: readonly string[];
}

export interface RoleSource {
  readonly rolename: string;
  readonly group: string | null;
  readonly priority: number;
}

/**
 * UNDECIDABLE: the rule has `%c`, but the query has no client id. WILDCARD_DENIED: the flag of the role decides.
 * INVALID_DENIED: the rule denies because it is no valid filter, even if it is one that allows.
 */
export type RuleVerdict = 'MATCHED' | 'NOT_MATCHED' | 'UNDECIDABLE' | 'WILDCARD_DENIED' | 'INVALID_DENIED';

/** An evaluated rule. Literal rules are looked up by filter, so only a matching one is evaluated. */
export interface LookedAtRule extends RoleSource {
  readonly rule: AclRule | null;
  readonly verdict: RuleVerdict;
}

export const MAX_LOOKED_AT = 1_000;

/** See the descriptions in the schema. With BROKER, DISABLED and CLIENT_ID, the listed rules would decide otherwise. */
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
  /** Whether the result is the opposite for some client ids. */
  readonly conditional: boolean;
  /** In the order of the broker, up to the deciding rule. At most MAX_LOOKED_AT. */
  readonly lookedAt: readonly LookedAtRule[];
  readonly lookedAtTotal: number;
  /** Why another plugin, a password file or a certificate may decide otherwise; `null` if no reason is known. */
  readonly elsewhere: string | null;
  readonly remarks: readonly string[];
}

export interface Grantee {
  readonly username: string | null;
  readonly reason: 'RULE' | 'DEFAULT';
  readonly decidedBy: LookedAtRule | null;
  readonly conditional: boolean;
}
