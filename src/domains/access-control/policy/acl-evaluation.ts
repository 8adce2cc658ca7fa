import { filterCovers, filterMatches, hasWildcard } from '../../../protocol/mqtt/filter-match.ts';
import type { AccessAction, AccessIdentity } from '../explain/access-explanation.ts';
import type { AccessDialect, AccessRole, AclRule, AclType, DefaultAcl, DefaultAclType } from './access-model.ts';
import { effectiveFilter, type Substitution, substitute, substitutionOf } from './acl-filter.ts';
import { oldFilterCovers } from './acl-old-cover.ts';

/*
 * How Mosquitto's dynamic security decides: the client's own roles, then those of its groups, each list by priority; in a role a
 * literal (un)subscribe rule for exactly this filter, then the others by priority; the first match decides, and where there is
 * none the default. Facts of 2.0.11 (plugins/dynamic-security/acl.c, rolelist.c, grouplist.c, roles.c; src/security.c) and 2.1.
 *
 * A role is compiled once for all its holders, and bound to a connection once if it has `%c` or `%u`; decisions then allocate
 * nothing.
 */

/** A rule with what it compares; shared by everybody who holds its role. */
export interface CompiledRule {
  /** Null: not a rule but the role's wildcard flag. */
  readonly rule: AclRule | null;
  readonly allow: boolean;
  /** Null: matches nothing. With `substitution` it is not bound yet. */
  readonly filter: string | null;
  /** What has to be put in before it can match; null: nothing. */
  readonly substitution: Substitution | null;
}

interface CompiledRules {
  readonly literals: ReadonlyMap<string, CompiledRule>;
  /** In the order in which they are looked at. */
  readonly patterns: readonly CompiledRule[];
}

export interface CompiledRole {
  readonly rolename: string;
  readonly rules: Readonly<Record<AccessAction, CompiledRules>>;
  /** Decides on subscriptions with a wildcard; null: the role's rules do. */
  readonly wildcardDenial: CompiledRule | null;
  /** Some rule has `%c` or `%u` that is not put in. */
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
  const compile = (action: AccessAction): CompiledRules => ({
    literals: new Map(literalsOf(role, action).map((rule) => [rule.topic, literal(rule)])),
    patterns: patternsOf(role, action).map((rule) => pattern(rule, dialect)),
  });
  const rules = {
    PUBLISH: compile('PUBLISH'),
    RECEIVE: compile('RECEIVE'),
    SUBSCRIBE: compile('SUBSCRIBE'),
    UNSUBSCRIBE: compile('UNSUBSCRIBE'),
  };
  return {
    rolename: role.rolename,
    rules,
    wildcardDenial: deniesWildcards(role, dialect) ? WILDCARD_DENIAL : null,
    isUnbound: Object.values(rules).some(({ patterns }) => patterns.some(({ substitution }) => substitution !== null)),
    covers: coversOf(dialect),
  };
}

/**
 * The role with client id and user name put in; the same object where it has no place for them. A rule whose `%c` is not known
 * (`clientId` null) stays unbound: it decides nothing.
 */
export function bindRole(role: CompiledRole, identity: AccessIdentity): CompiledRole {
  if (!role.isUnbound) return role;
  const bindAll = (action: AccessAction): CompiledRules => ({
    literals: role.rules[action].literals,
    patterns: role.rules[action].patterns.map((rule) => bindRule(rule, identity)),
  });
  const rules = {
    PUBLISH: bindAll('PUBLISH'),
    RECEIVE: bindAll('RECEIVE'),
    SUBSCRIBE: bindAll('SUBSCRIBE'),
    UNSUBSCRIBE: bindAll('UNSUBSCRIBE'),
  };
  const isUnbound = Object.values(rules).some(({ patterns }) =>
    patterns.some(({ substitution }) => substitution !== null),
  );
  return { ...role, rules, isUnbound };
}

/** Null: no rule matches, and the default decides. The roles are bound. */
export function decide(roles: readonly CompiledRole[], action: AccessAction, topic: string): boolean | null {
  for (let index = 0; index < roles.length; index += 1) {
    const rule = decidingRule(roles[index] as CompiledRole, action, topic);
    if (rule) return rule.allow;
  }
  return null;
}

/** In the order in which they are looked at: by priority; equals stay in the order of the list, which is the order of the broker. */
export const patternsOf = (role: AccessRole, action: AccessAction): AclRule[] => rulesOf(role, PATTERNS[action]);

/** Rules for exactly one filter, which come first. Of two with one topic, which only a file can hold, the later one is found. */
export const literalsOf = (role: AccessRole, action: AccessAction): AclRule[] => rulesOf(role, LITERALS[action]);

/** What a pattern is compared as, with its `%c` and `%u`; null: it matches nothing. */
export function filterOf({ aclType, topic }: AclRule, dialect: AccessDialect): string | null {
  const comparesTopics = aclType === 'publishClientSend' || aclType === 'publishClientReceive';
  return effectiveFilter(topic, comparesTopics || dialect.guardsDollar);
}

/** How patterns are compared with subscriptions. */
export const coversOf = (dialect: AccessDialect) => (dialect.guardsDollar ? filterCovers : oldFilterCovers);

/** Whether the role's flag decides on subscriptions with a wildcard, before its rules. */
export const deniesWildcards = (role: AccessRole, dialect: AccessDialect): boolean =>
  dialect.wildcardFlag && role.allowWildcardSubs === false;

/** What happens where no rule matches: `$CONTROL` is never allowed by the default, nor is anything else that begins so. */
export function defaultAllows(acl: DefaultAcl, action: AccessAction, topic: string): boolean {
  return acl[DEFAULT_ACL_OF[action]] && !topic.startsWith('$CONTROL');
}

/**
 * What the broker refuses before it asks anybody: publishing below `$SYS` except a bridge's state, and everything but
 * subscriptions below `$share`.
 */
export function brokerRefuses(action: AccessAction, topic: string): boolean {
  if (action === 'SUBSCRIBE' || action === 'UNSUBSCRIBE') return false;
  if (topic.startsWith('$SYS')) return action === 'PUBLISH' && !filterMatches(BRIDGE_STATE, topic);
  return topic.startsWith('$share');
}

const BRIDGE_STATE = '$SYS/broker/connection/+/state';
const WILDCARD_DENIAL: CompiledRule = { rule: null, allow: false, filter: null, substitution: null };

function decidingRule(role: CompiledRole, action: AccessAction, topic: string): CompiledRule | null {
  if (action === 'SUBSCRIBE' && role.wildcardDenial && hasWildcard(topic)) return role.wildcardDenial;
  const { literals, patterns } = role.rules[action];
  const exact = literals.size > 0 ? literals.get(topic) : undefined;
  if (exact) return exact;
  const matches = action === 'PUBLISH' || action === 'RECEIVE' ? filterMatches : role.covers;
  for (let index = 0; index < patterns.length; index += 1) {
    const rule = patterns[index] as CompiledRule;
    const { filter } = rule;
    if (filter !== null && rule.substitution === null && matches(filter, topic)) return rule;
  }
  return null;
}

function rulesOf(role: AccessRole, type: AclType | undefined): AclRule[] {
  return role.acls.filter(({ aclType }) => aclType === type).sort((one, other) => other.priority - one.priority);
}

const literal = (rule: AclRule): CompiledRule => ({ rule, allow: rule.allow, filter: rule.topic, substitution: null });

function pattern(rule: AclRule, dialect: AccessDialect): CompiledRule {
  return {
    rule,
    allow: rule.allow,
    filter: filterOf(rule, dialect),
    substitution: dialect.substitution ? substitutionOf(rule.topic) : null,
  };
}

function bindRule(rule: CompiledRule, { clientId, username }: AccessIdentity): CompiledRule {
  const { filter, substitution } = rule;
  if (filter === null || substitution === null) return rule;
  if (substitution.clientId && clientId === null) {
    // The user name can be put in already, and with none there is no match whatever the client id.
    if (!substitution.username) return rule;
    const named = substitute(filter, '%u', username);
    return { ...rule, filter: named, substitution: named === null ? null : { clientId: true, username: false } };
  }
  const named = substitute(filter, '%u', username);
  return { ...rule, filter: named === null ? null : substitute(named, '%c', clientId), substitution: null };
}
