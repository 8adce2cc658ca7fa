import { filterCovers, filterMatches, hasWildcard } from '../../mqtt/filter-match.ts';
import { filterProblem } from '../../mqtt/topics.ts';
import type { AccessAction, AccessIdentity } from './access-explanation.ts';
import type { AccessDialect, AccessRole, AclRule, AclType, DefaultAcl, DefaultAclType } from './access-model.ts';
import { effectiveFilter, legacyFilterCovers, type Substitution, substitute, substitutionOf } from './acl-filter.ts';
import { compareInvalid, resultFor } from './invalid-filter.ts';
import { sharedFilterProblem } from './shared-filters.ts';

/*
 * As Mosquitto's dynamic security plugin: roles of the client first, then those of its groups, each list by priority.
 * In a role, a literal rule for exactly this filter is evaluated first. The first match decides. Sources: Mosquitto
 * 2.0.11 (plugins/dynamic-security/acl.c, rolelist.c, grouplist.c, roles.c; src/security.c) and 2.1.
 *
 * A role is compiled once for all holders, and bound once to each connection if it contains `%c` or `%u`. Decisions
 * allocate nothing.
 */

interface CompiledRule {
  /** `null` for the wildcard flag of the role. */
  readonly rule: AclRule | null;
  readonly allow: boolean;
  /** `null` if the rule matches nothing. The filter is not bound yet if `substitution` is set. */
  readonly filter: string | null;
  readonly substitution: Substitution | null;
  /** The client that a rule is compared for that denies what notices it as invalid. */
  readonly invalidFor?: AccessIdentity;
}

interface CompiledRules {
  readonly literals: ReadonlyMap<string, CompiledRule>;
  readonly patterns: readonly CompiledRule[];
}

export interface CompiledRole {
  readonly rolename: string;
  readonly rules: Readonly<Record<AccessAction, CompiledRules>>;
  /** Denies subscriptions with wildcards; `null` if the rules decide on them. */
  readonly wildcardDenial: CompiledRule | null;
  readonly isUnbound: boolean;
  readonly covers: (filter: string, other: string) => boolean;
}

const PATTERNS: Readonly<Record<AccessAction, AclType>> = {
  PUBLISH: 'publishClientSend',
  RECEIVE: 'publishClientReceive',
  SUBSCRIBE: 'subscribePattern',
  UNSUBSCRIBE: 'unsubscribePattern',
};
const LITERALS: Readonly<Partial<Record<AccessAction, AclType>>> = {
  SUBSCRIBE: 'subscribeLiteral',
  UNSUBSCRIBE: 'unsubscribeLiteral',
};
export const DEFAULT_ACL_OF: Readonly<Record<AccessAction, DefaultAclType>> = {
  PUBLISH: 'publishClientSend',
  RECEIVE: 'publishClientReceive',
  SUBSCRIBE: 'subscribe',
  UNSUBSCRIBE: 'unsubscribe',
};

export function compileRole(role: AccessRole, dialect: AccessDialect): CompiledRole {
  const rules = forEachAction((action) => ({
    literals: new Map(literalsOf(role, action).map((rule) => [rule.topic, literal(rule)])),
    patterns: patternsOf(role, action).map((rule) => pattern(rule, dialect)),
  }));
  return {
    rolename: role.rolename,
    rules,
    wildcardDenial: deniesWildcards(role, dialect) ? WILDCARD_DENIAL : null,
    isUnbound: hasUnboundRule(rules),
    covers: filterCoversFor(dialect),
  };
}

/**
 * Replaces `%c` and `%u`. A rule with `%c` stays unbound, and decides nothing, while the client id is unknown (`null`).
 */
export function bindRole(role: CompiledRole, identity: AccessIdentity): CompiledRole {
  if (!role.isUnbound) return role;
  const rules = forEachAction((action) => ({
    literals: role.rules[action].literals,
    patterns: role.rules[action].patterns.map((rule) => bindRule(rule, identity)),
  }));
  return { ...role, rules, isUnbound: hasUnboundRule(rules) };
}

const forEachAction = (rulesOfAction: (action: AccessAction) => CompiledRules): CompiledRole['rules'] => ({
  PUBLISH: rulesOfAction('PUBLISH'),
  RECEIVE: rulesOfAction('RECEIVE'),
  SUBSCRIBE: rulesOfAction('SUBSCRIBE'),
  UNSUBSCRIBE: rulesOfAction('UNSUBSCRIBE'),
});

const hasUnboundRule = (rules: CompiledRole['rules']): boolean =>
  Object.values(rules).some(({ patterns }) => patterns.some(({ substitution }) => substitution !== null));

/** Returns `null` if no rule matches; the default ACL decides then. The roles must be bound. */
export function decide(roles: readonly CompiledRole[], action: AccessAction, topic: string): boolean | null {
  for (let index = 0; index < roles.length; index += 1) {
    const rule = decidingRule(roles[index] as CompiledRole, action, topic);
    if (rule) return rule.allow;
  }
  return null;
}

/** The decision with the role and the rule that decides: `rule` is `null` if the role denies wildcards. */
export function decisionOf(
  roles: readonly CompiledRole[],
  action: AccessAction,
  topic: string,
): { readonly role: number; readonly rule: AclRule | null; readonly allow: boolean } | null {
  for (const [role, compiled] of roles.entries()) {
    const decided = decidingRule(compiled, action, topic);
    if (decided) return { role, rule: decided.rule, allow: decided.allow };
  }
  return null;
}

export const patternsOf = (role: AccessRole, action: AccessAction): AclRule[] => rulesOf(role, PATTERNS[action]);

/** Of two with one topic (in files only), the broker uses the later one. */
export const literalsOf = (role: AccessRole, action: AccessAction): AclRule[] => rulesOf(role, LITERALS[action]);

/** Returns the topic filter of a pattern rule with its `%c` and `%u`; `null` if the rule matches nothing. */
export function filterOf(
  { aclType, topic }: Pick<AclRule, 'aclType' | 'topic'>,
  dialect: AccessDialect,
): string | null {
  const comparesTopics = aclType === 'publishClientSend' || aclType === 'publishClientReceive';
  return effectiveFilter(topic, comparesTopics || dialect.wildcardsExcludeDollar);
}

/** Whether a pattern rule denies what is compared with it, see invalid-filter.ts. */
export const isComparedInvalid = ({ topic }: Pick<AclRule, 'topic'>, dialect: AccessDialect): boolean =>
  dialect.invalidRulesDeny && filterProblem(topic) !== null;

export const filterCoversFor = (dialect: AccessDialect) =>
  dialect.wildcardsExcludeDollar ? filterCovers : legacyFilterCovers;

export const deniesWildcards = (role: AccessRole, dialect: AccessDialect): boolean =>
  dialect.wildcardFlag && role.allowWildcardSubs === false;

export function defaultAllows(acl: DefaultAcl, action: AccessAction, topic: string): boolean {
  return acl[DEFAULT_ACL_OF[action]] && !topic.startsWith('$CONTROL');
}

/** Before rules: publishing to `$SYS` topics except the state of a bridge, and messages on `$share` topics. */
export function brokerRefuses(action: AccessAction, topic: string): boolean {
  if (action === 'SUBSCRIBE' || action === 'UNSUBSCRIBE') return false;
  if (topic.startsWith('$SYS')) return action === 'PUBLISH' && !filterMatches(BRIDGE_STATE, topic);
  return topic.startsWith('$share');
}

/** Why the broker closes the connection for this topic filter, before rules. `null` if it does not. */
export const closingProblem = (
  action: AccessAction,
  filter: string,
  { sharedFilters }: AccessDialect,
): string | null =>
  action === 'SUBSCRIBE' || action === 'UNSUBSCRIBE' ? sharedFilterProblem(filter, sharedFilters) : null;

const BRIDGE_STATE = '$SYS/broker/connection/+/state';
const UNBOUND: AccessIdentity = { clientId: null, username: null };
const WILDCARD_DENIAL: CompiledRule = { rule: null, allow: false, filter: null, substitution: null };

function decidingRule(role: CompiledRole, action: AccessAction, topic: string): CompiledRule | null {
  if (action === 'SUBSCRIBE' && role.wildcardDenial && hasWildcard(topic)) return role.wildcardDenial;
  const { literals, patterns } = role.rules[action];
  const exact = literals.size > 0 ? literals.get(topic) : undefined;
  if (exact) return exact;
  const isFilter = action === 'SUBSCRIBE' || action === 'UNSUBSCRIBE';
  const matches = isFilter ? role.covers : filterMatches;
  for (let index = 0; index < patterns.length; index += 1) {
    const rule = patterns[index] as CompiledRule;
    const { filter } = rule;
    if (filter !== null && rule.invalidFor !== undefined) {
      const result = resultFor(compareInvalid(filter, topic, isFilter), rule.invalidFor);
      if (result === null) return { ...rule, allow: false };
      if (result) return rule;
    } else if (filter !== null && rule.substitution === null && matches(filter, topic)) return rule;
  }
  return null;
}

function rulesOf(role: AccessRole, type: AclType | undefined): AclRule[] {
  return role.acls.filter(({ aclType }) => aclType === type).sort((one, other) => other.priority - one.priority);
}

const literal = (rule: AclRule): CompiledRule => ({ rule, allow: rule.allow, filter: rule.topic, substitution: null });

function pattern(rule: AclRule, dialect: AccessDialect): CompiledRule {
  const compiled = {
    rule,
    allow: rule.allow,
    filter: filterOf(rule, dialect),
    substitution: dialect.substitution ? substitutionOf(rule.topic) : null,
  };
  return isComparedInvalid(rule, dialect) ? { ...compiled, filter: rule.topic, invalidFor: UNBOUND } : compiled;
}

function bindRule(rule: CompiledRule, identity: AccessIdentity): CompiledRule {
  const { clientId, username } = identity;
  const { filter, substitution } = rule;
  if (filter === null || substitution === null) return rule;
  if (rule.invalidFor !== undefined) {
    const isBound = clientId !== null || !substitution.clientId;
    return { ...rule, invalidFor: identity, substitution: isBound ? null : substitution };
  }
  if (substitution.clientId && clientId === null) {
    // The user name can be replaced already. Without a user name the rule matches with no client id.
    if (!substitution.username) return rule;
    const named = substitute(filter, '%u', username);
    return { ...rule, filter: named, substitution: named === null ? null : { clientId: true, username: false } };
  }
  const named = substitute(filter, '%u', username);
  return { ...rule, filter: named === null ? null : substitute(named, '%c', clientId), substitution: null };
}
