import type { AccessAction } from '../../../protocol/apis/access-control/access-explanation.ts';
import type { AccessDialect, AccessRole, AclRule } from '../../../protocol/apis/access-control/access-model.ts';
import {
  deniesWildcards,
  filterCoversFor,
  filterOf,
  literalsOf,
  patternsOf,
} from '../../../protocol/apis/access-control/acl-evaluation.ts';
import { isAllowedAt } from '../../../protocol/apis/access-control/acl-filter.ts';
import { filterMatches, hasWildcard } from '../../../protocol/mqtt/filter-match.ts';

/** Number of rules that are evaluated before other work runs. */
export const RULES_PER_STEP = 64;

/** The client that a rule with `%c` or `%u` matches for. `null` values match every client. */
interface MatchCondition {
  readonly username: string | null;
  readonly clientId: string | null;
}

export interface RuleMatch {
  /** `null` for the wildcard flag of the role. */
  readonly rule: AclRule | null;
  readonly allow: boolean;
  readonly condition: MatchCondition | null;
}

/**
 * Evaluates rules for all clients in one pass: the topic has the only value that `%c` or `%u` can match at its level.
 */
export class RuleMatcher {
  readonly #dialect: AccessDialect;
  readonly #action: AccessAction;
  readonly #topic: string;
  readonly #levels: readonly string[];
  readonly #matches: (filter: string, topic: string) => boolean;

  constructor(dialect: AccessDialect, action: AccessAction, topic: string) {
    this.#dialect = dialect;
    this.#action = action;
    this.#topic = topic;
    this.#levels = topic.split('/');
    this.#matches = action === 'PUBLISH' || action === 'RECEIVE' ? filterMatches : filterCoversFor(dialect);
  }

  /** Yields the rules in the order of the broker, up to the first rule that matches for every client. */
  *evaluate(role: AccessRole): Generator<RuleMatch, void, void> {
    if (this.#action === 'SUBSCRIBE' && deniesWildcards(role, this.#dialect) && hasWildcard(this.#topic)) {
      yield { rule: null, allow: false, condition: EVERY_CLIENT };
      return;
    }
    const literal = literalsOf(role, this.#action).findLast(({ topic }) => topic === this.#topic);
    if (literal) {
      yield { rule: literal, allow: literal.allow, condition: EVERY_CLIENT };
      return;
    }
    for (const rule of patternsOf(role, this.#action)) {
      const condition = this.#conditionOf(rule);
      yield { rule, allow: rule.allow, condition };
      if (condition === EVERY_CLIENT) return;
    }
  }

  #conditionOf(rule: AclRule): MatchCondition | null {
    const filter = filterOf(rule, this.#dialect);
    if (filter === null) return null;
    const open = this.#dialect.substitution && filter.includes('%') ? filter.replaceAll(PLACEHOLDER, '+') : filter;
    if (!this.#matches(open, this.#topic)) return null;
    return open === filter ? EVERY_CLIENT : this.#placeholderValues(filter);
  }

  #placeholderValues(filter: string): MatchCondition | null {
    const found: { '%c': string | null; '%u': string | null } = { '%c': null, '%u': null };
    for (const [index, level] of filter.split('/').entries()) {
      if (level !== '%c' && level !== '%u') continue;
      const value = this.#levels[index];
      if (value === undefined || !isAllowedAt(index, value) || (found[level] ?? value) !== value) return null;
      found[level] = value;
    }
    return { username: found['%u'], clientId: found['%c'] };
  }
}

const EVERY_CLIENT: MatchCondition = { username: null, clientId: null };
const PLACEHOLDER = /(?<=^|\/)%[cu](?=\/|$)/g;
