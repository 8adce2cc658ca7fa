import type { AccessAction, AccessIdentity } from '../../../protocol/apis/access-control/access-explanation.ts';
import type { AccessDialect, AccessRole, AclRule } from '../../../protocol/apis/access-control/access-model.ts';
import {
  deniesWildcards,
  filterCoversFor,
  filterOf,
  isComparedInvalid,
  literalsOf,
  patternsOf,
} from '../../../protocol/apis/access-control/acl-evaluation.ts';
import { isAllowedAt } from '../../../protocol/apis/access-control/acl-filter.ts';
import { compareInvalid, isPrefix } from '../../../protocol/apis/access-control/invalid-filter.ts';
import { filterMatches, hasWildcard } from '../../../protocol/mqtt/filter-match.ts';

/** Number of rules that are evaluated before other work runs; also this many times 1,024 characters of them. */
const RULES_PER_STEP = 64;
const CHARACTERS_OF_RULE = 1_024;

/** Counts evaluated rules. A rule may have thousands of levels, so its characters count, too. */
export class RuleSteps {
  #rules = 0;

  /** Returns whether other work must run before the next rule. */
  isEndedBy(characters: number): boolean {
    this.#rules += 1 + characters / CHARACTERS_OF_RULE;
    if (this.#rules < RULES_PER_STEP) return false;
    this.#rules = 0;
    return true;
  }
}

/** The clients that a rule decides for. `null` values are those of every client. */
interface RuleCase {
  readonly username: string | null;
  readonly clientId: string | null;
  /** Of which of the values the client's own value is a prefix: a client with the whole value is another case. */
  readonly prefixOf?: keyof AccessIdentity;
  /** Whether the rule denies because it is not a valid filter. */
  readonly isInvalid?: true;
}

export interface RuleMatch {
  /** `null` for the wildcard flag of the role. */
  readonly rule: AclRule | null;
  /** Number of characters of the rule that were compared. */
  readonly characters: number;
  /** Without a common client. */
  readonly cases: readonly RuleCase[];
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
      yield { rule: null, characters: 0, cases: EVERY_CLIENT };
      return;
    }
    const literal = literalsOf(role, this.#action).findLast(({ topic }) => topic === this.#topic);
    if (literal) {
      yield { rule: literal, characters: 0, cases: EVERY_CLIENT };
      return;
    }
    for (const rule of patternsOf(role, this.#action)) {
      const { aclType, topic } = rule;
      const isInvalid = isComparedInvalid({ topic }, this.#dialect);
      const cases = isInvalid ? this.#invalidCases(topic) : this.#casesOf({ aclType, topic });
      yield { rule, characters: topic.length, cases };
      if (cases === EVERY_CLIENT || cases === EVERY_CLIENT_DENIED) return;
    }
  }

  #casesOf(rule: Pick<AclRule, 'aclType' | 'topic'>): readonly RuleCase[] {
    const filter = filterOf(rule, this.#dialect);
    // A rule has at most a final `#` more than what it matches.
    const maxLevels = this.#levels.length + 1;
    if (filter === null || filter.split('/', maxLevels + 1).length > maxLevels) return NO_CLIENT;
    const open = this.#dialect.substitution && filter.includes('%') ? filter.replaceAll(PLACEHOLDER, '+') : filter;
    if (!this.#matches(open, this.#topic)) return NO_CLIENT;
    return open === filter ? EVERY_CLIENT : this.#placeholderValues(filter);
  }

  #placeholderValues(filter: string): readonly RuleCase[] {
    const found: { '%c': string | null; '%u': string | null } = { '%c': null, '%u': null };
    for (const [index, level] of filter.split('/').entries()) {
      if (level !== '%c' && level !== '%u') continue;
      const value = this.#levels[index];
      if (value === undefined || !isAllowedAt(index, value) || (found[level] ?? value) !== value) return NO_CLIENT;
      found[level] = value;
    }
    return [{ username: found['%u'], clientId: found['%c'] }];
  }

  #invalidCases(topic: string): readonly RuleCase[] {
    const isFilter = this.#matches !== filterMatches;
    const { placeholders, result } = compareInvalid(topic, this.#topic, isFilter);
    if (placeholders.length === 0) return result === null ? EVERY_CLIENT_DENIED : result ? EVERY_CLIENT : NO_CLIENT;
    const cases: RuleCase[] = [];
    let found: RuleCase = { username: null, clientId: null };
    for (const { name, value, deniesPrefixes } of placeholders) {
      const known = found[name];
      if (known === null) {
        const exact = { ...found, [name]: value };
        if (deniesPrefixes) cases.push({ ...exact, prefixOf: name, isInvalid: true });
        found = exact;
      } else if (known !== value) {
        if (deniesPrefixes && isPrefix(value, known)) cases.push({ ...found, isInvalid: true });
        return cases;
      }
    }
    if (result !== false) cases.push(result === null ? { ...found, isInvalid: true } : found);
    return cases;
  }
}

/** Whether the case is that of the user name. */
export function hasUsername({ username, prefixOf }: RuleCase, own: string | null): boolean {
  if (username === null || prefixOf !== 'username') return username === null || own === username;
  return own !== null && isPrefix(username, own);
}

export function hasClientId({ clientId, prefixOf }: RuleCase, own: string | null): boolean {
  if (clientId === null || prefixOf !== 'clientId') return clientId === null || own === clientId;
  return own !== null && isPrefix(clientId, own);
}

/** The client ids of a case; of those that are prefixes of a level, the short ones, and those that are other levels. */
export function clientIdsOf({ clientId, prefixOf }: RuleCase, levels: Iterable<string>): readonly string[] {
  if (clientId === null || prefixOf !== 'clientId') return clientId === null ? [] : [clientId];
  let prefix = '';
  const ids = [...clientId.slice(0, MAX_PREFIX)].map((char) => {
    prefix += char;
    return prefix;
  });
  return [...ids, ...levels].filter((id) => isPrefix(clientId, id));
}

/** More than a topic has levels. */
const MAX_PREFIX = 256;
const NO_CLIENT: readonly RuleCase[] = [];
const EVERY_CLIENT: readonly RuleCase[] = [{ username: null, clientId: null }];
const EVERY_CLIENT_DENIED: readonly RuleCase[] = [{ username: null, clientId: null, isInvalid: true }];
const PLACEHOLDER = /(?<=^|\/)%[cu](?=\/|$)/g;
