import { filterMatches, hasWildcard } from '../../../protocol/mqtt/filter-match.ts';
import type { AccessDialect, AccessRole, AclRule } from '../policy/access-model.ts';
import { coversOf, deniesWildcards, filterOf, literalsOf, patternsOf } from '../policy/acl-evaluation.ts';
import { canStandAt } from '../policy/acl-filter.ts';
import type { AccessAction } from './access-explanation.ts';

/** What a client must be for a rule to match; null: whatever it is. */
export interface Bearer {
  readonly username: string | null;
  readonly clientId: string | null;
}

/** A rule that is looked at, with whom it matches. */
export interface Look {
  /** Null: not a rule but the role's wildcard flag. */
  readonly rule: AclRule | null;
  readonly allow: boolean;
  /** Null: nobody. */
  readonly bearer: Bearer | null;
}

/**
 * Looks at the rules of roles for one action and topic as the broker does for any client: `%c` and `%u` can only stand for what
 * the topic has in their place, so that one pass tells for whom each rule matches. `decide` of acl-evaluation.ts answers for one.
 */
export class TopicLooks {
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
    this.#matches = action === 'PUBLISH' || action === 'RECEIVE' ? filterMatches : coversOf(dialect);
  }

  /** In the order of the broker, up to the rule that matches for everybody. */
  *at(role: AccessRole): Generator<Look, void, void> {
    if (this.#action === 'SUBSCRIBE' && deniesWildcards(role, this.#dialect) && hasWildcard(this.#topic)) {
      yield { rule: null, allow: false, bearer: EVERYBODY };
      return;
    }
    const literal = literalsOf(role, this.#action).findLast(({ topic }) => topic === this.#topic);
    if (literal) {
      yield { rule: literal, allow: literal.allow, bearer: EVERYBODY };
      return;
    }
    for (const rule of patternsOf(role, this.#action)) {
      const bearer = this.#bearerOf(rule);
      yield { rule, allow: rule.allow, bearer };
      if (bearer === EVERYBODY) return;
    }
  }

  #bearerOf(rule: AclRule): Bearer | null {
    const filter = filterOf(rule, this.#dialect);
    if (filter === null) return null;
    const open = this.#dialect.substitution && filter.includes('%') ? filter.replaceAll(PLACE, '+') : filter;
    if (!this.#matches(open, this.#topic)) return null;
    return open === filter ? EVERYBODY : this.#whoseNameStandsIn(filter);
  }

  /** With `+` for its places the filter matches. */
  #whoseNameStandsIn(filter: string): Bearer | null {
    const found: { '%c': string | null; '%u': string | null } = { '%c': null, '%u': null };
    for (const [index, place] of filter.split('/').entries()) {
      if (place !== '%c' && place !== '%u') continue;
      const value = this.#levels[index];
      if (value === undefined || !canStandAt(index, value) || (found[place] ?? value) !== value) return null;
      found[place] = value;
    }
    return { username: found['%u'], clientId: found['%c'] };
  }
}

const EVERYBODY: Bearer = { username: null, clientId: null };
const PLACE = /(?<=^|\/)%[cu](?=\/|$)/g;
