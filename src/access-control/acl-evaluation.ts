import { filterCovers, filterMatches, hasWildcard } from '../mqtt/filter-match.ts';
import type { AccessAction, AccessIdentity, RuleVerdict } from './access-explanation.ts';
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

/** Called for each rule in the order in which it is looked at. With UNDECIDABLE: the client id with which it would match. */
export type Observer = (rule: CompiledRule, verdict: RuleVerdict, clientId: string | null) => void;

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
    // Of two literals with one topic, which only a file can hold, the later one is found.
    literals: new Map(rulesOf(role, LITERALS[action]).map((rule) => [rule.topic, literal(rule)])),
    patterns: rulesOf(role, PATTERNS[action]).map((rule) => pattern(rule, dialect)),
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
    wildcardDenial: dialect.wildcardFlag && role.allowWildcardSubs === false ? WILDCARD_DENIAL : null,
    isUnbound: Object.values(rules).some(({ patterns }) => patterns.some(({ substitution }) => substitution !== null)),
    covers: dialect.guardsDollar ? filterCovers : oldFilterCovers,
  };
}

/**
 * The role with client id and user name put in; the same object where it has no place for them. A rule whose `%c` is not known
 * (`clientId` null) stays unbound: it decides nothing, an observer hears UNDECIDABLE where some client id would match.
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

/** The rule of one role that decides. */
export function decidingRule(
  role: CompiledRole,
  action: AccessAction,
  topic: string,
  observe?: Observer,
): CompiledRule | null {
  if (action === 'SUBSCRIBE' && role.wildcardDenial && hasWildcard(topic)) {
    observe?.(role.wildcardDenial, 'WILDCARD_DENIED', null);
    return role.wildcardDenial;
  }
  const { literals, patterns } = role.rules[action];
  const exact = literals.size > 0 ? literals.get(topic) : undefined;
  if (exact) {
    observe?.(exact, 'MATCHED', null);
    return exact;
  }
  const matches = matcherOf(role, action);
  for (let index = 0; index < patterns.length; index += 1) {
    const rule = patterns[index] as CompiledRule;
    const { filter } = rule;
    if (filter !== null && rule.substitution === null && matches(filter, topic)) {
      observe?.(rule, 'MATCHED', null);
      return rule;
    }
    if (observe) {
      const clientId = matchingClientId(rule, topic, matches);
      observe(rule, clientId === null ? 'NOT_MATCHED' : 'UNDECIDABLE', clientId);
    }
  }
  return null;
}

/** Client ids with which some rule of an unbound role matches, whatever the user name. */
export function clientIdsThatMatter(role: CompiledRole, action: AccessAction, topic: string): string[] {
  if (!role.isUnbound) return [];
  const matches = matcherOf(role, action);
  const ids = role.rules[action].patterns.map((rule) => {
    const username = rule.filter === null ? null : levelAt(topic, rule.filter, '%u');
    return matchingClientId(bindRule(rule, { clientId: null, username }), topic, matches);
  });
  return ids.filter((id) => id !== null);
}

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

/** By priority; equals stay in the order of the list, which is the order of the broker. */
function rulesOf(role: AccessRole, type: AclType | undefined): AclRule[] {
  return role.acls.filter(({ aclType }) => aclType === type).sort((one, other) => other.priority - one.priority);
}

const literal = (rule: AclRule): CompiledRule => ({ rule, allow: rule.allow, filter: rule.topic, substitution: null });

function pattern(rule: AclRule, dialect: AccessDialect): CompiledRule {
  const comparesTopics = rule.aclType === 'publishClientSend' || rule.aclType === 'publishClientReceive';
  return {
    rule,
    allow: rule.allow,
    filter: effectiveFilter(rule.topic, comparesTopics || dialect.guardsDollar),
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

type Matcher = (filter: string, topic: string) => boolean;

const matcherOf = (role: CompiledRole, action: AccessAction): Matcher =>
  action === 'PUBLISH' || action === 'RECEIVE' ? filterMatches : role.covers;

/** What stands in the topic where the filter has the first of these places. */
const levelAt = (topic: string, filter: string, place: '%c' | '%u'): string | null =>
  topic.split('/')[filter.split('/').indexOf(place)] ?? null;

/** The client id with which an unbound rule matches: it can only be what stands in the topic in its place. */
function matchingClientId({ filter, substitution }: CompiledRule, topic: string, matches: Matcher): string | null {
  if (filter === null || substitution === null) return null;
  const candidate = levelAt(topic, filter, '%c');
  const bound = substitute(filter, '%c', candidate);
  return bound !== null && matches(bound, topic) ? candidate : null;
}
