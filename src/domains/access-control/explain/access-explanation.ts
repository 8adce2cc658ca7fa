import type { AclRule, DefaultAclType } from '../policy/access-model.ts';

export const ACCESS_ACTIONS = ['PUBLISH', 'RECEIVE', 'SUBSCRIBE', 'UNSUBSCRIBE'] as const;
export type AccessAction = (typeof ACCESS_ACTIONS)[number];

/** Who asks for access. */
export interface AccessIdentity {
  /** Null: connected without user name. */
  readonly username: string | null;
  /** Null: not said; rules with `%c` cannot be decided then. */
  readonly clientId: string | null;
}

export interface AccessQuestion extends AccessIdentity {
  readonly action: AccessAction;
  /** A topic, or with SUBSCRIBE and UNSUBSCRIBE a filter. */
  readonly topic: string;
  /** What if the account held these roles itself, with these priorities; for anonymous: the anonymous group. */
  readonly withRoles?: readonly { readonly name: string; readonly priority: number }[];
  /** What if it held these neither itself nor through a group. */
  readonly withoutRoles?: readonly string[];
}

/** By which way a role came to be looked at. `group` null: the client's own. */
export interface RoleSource {
  readonly rolename: string;
  readonly group: string | null;
  /** Priority of the role in its holder. */
  readonly priority: number;
}

/** MATCHED decides. UNDECIDABLE: it has `%c`, and would match with a certain client id, but the question names none. */
const RULE_VERDICTS = ['MATCHED', 'NOT_MATCHED', 'UNDECIDABLE', 'WILDCARD_DENIED'] as const;
export type RuleVerdict = (typeof RULE_VERDICTS)[number];

/**
 * One rule that was looked at; WILDCARD_DENIED has no rule: the role's flag decided. A literal rule is looked up by the filter,
 * so only the one that matches is looked at.
 */
export interface LookedAt extends RoleSource {
  readonly rule: AclRule | null;
  readonly verdict: RuleVerdict;
}

/** Rules that an explanation lists at most. */
export const MAX_LOOKED_AT = 1_000;

/**
 * BROKER: the broker itself refuses, whatever the rules. RULE: `decidedBy`. DEFAULT: no rule matched. CONTROL_TOPIC: the default
 * allows, but never below $CONTROL. UNKNOWN_USER: there is no such account, or no anonymous group where it alone lets in without
 * user name; dynamic security leaves that to other plugins, where the broker can have some.
 * DISABLED, CLIENT_ID: the account cannot connect so. The rules that are told are then, and with BROKER, those that would decide
 * otherwise.
 */
const DECISION_REASONS = [
  'BROKER',
  'RULE',
  'DEFAULT',
  'CONTROL_TOPIC',
  'UNKNOWN_USER',
  'DISABLED',
  'CLIENT_ID',
] as const;
export type DecisionReason = (typeof DECISION_REASONS)[number];

export interface Explanation {
  readonly allowed: boolean;
  readonly reason: DecisionReason;
  readonly decidedBy: LookedAt | null;
  readonly defaultAclType: DefaultAclType;
  readonly defaultAllows: boolean;
  /** With another client id the answer is the opposite; the remarks name it. Only where the question has no client id. */
  readonly conditional: boolean;
  /** In the order in which the broker looks, up to the one that decided; the first MAX_LOOKED_AT of them. */
  readonly lookedAt: readonly LookedAt[];
  /** How many were looked at; more than `lookedAt` holds where that was cut. */
  readonly lookedAtTotal: number;
  /** Another plugin, a password file or a certificate's identity may decide otherwise; the text says what. */
  readonly elsewhere: string | null;
  /** What the broker gets wrong or leaves out that matters here, in words. */
  readonly remarks: readonly string[];
}

/** Somebody who is allowed. */
export interface Grantee {
  /** Null: everybody who connects without user name. */
  readonly username: string | null;
  readonly reason: 'RULE' | 'DEFAULT';
  readonly decidedBy: LookedAt | null;
  /** Not with every client id. */
  readonly conditional: boolean;
}
