import type { SlicedTask } from '../../../platform/scheduling/sliced-task.ts';
import { sortInSteps } from '../../../platform/sorting/sort-in-steps.ts';
import type { AccessAction, Grantee, RoleSource } from '../../../protocol/apis/access-control/access-explanation.ts';
import type {
  AccessDialect,
  AccessPolicy,
  Account,
  AclRule,
} from '../../../protocol/apis/access-control/access-model.ts';
import {
  anonymousHoldings,
  membershipsInOrder,
  rolesInOrder,
  rolesOfGroup,
} from '../../../protocol/apis/access-control/access-order.ts';
import { brokerRefuses, closingProblem, defaultAllows } from '../../../protocol/apis/access-control/acl-evaluation.ts';
import { canBeAnonymous, checkTopic } from './access-explainer.ts';
import { clientIdsOf, hasUsername, type RuleMatch, RuleMatcher, RuleSteps } from './rule-matcher.ts';

/** `rule` is `null` for the wildcard flag of the role. */
interface RuleDecision {
  readonly rule: AclRule | null;
  readonly allow: boolean;
}

interface Decision extends RuleDecision {
  readonly source: RoleSource;
}

interface Decisions<T> {
  /** For all client ids that are not in `byClientId`; `null` if no rule matches. */
  readonly usual: T | null;
  readonly byClientId: ReadonlyMap<string, T>;
}

/** Connections without a user name come first, then enabled accounts by name (UTF-16 code units). Errors: INVALID. */
export function* whoCan(
  policy: AccessPolicy,
  dialect: AccessDialect,
  action: AccessAction,
  topic: string,
): SlicedTask<Grantee[]> {
  checkTopic(action, topic);
  if (brokerRefuses(action, topic) || closingProblem(action, topic, dialect) !== null) return [];
  const decisions = new TopicDecisions(policy, dialect, action, topic);
  const byDefault = defaultAllows(policy.defaultAcl, action, topic);
  const found: Grantee[] = [];
  const consider = function* (username: string | null, account: Pick<Account, 'clientId' | 'roles' | 'groups'>) {
    const { usual, byClientId } = yield* decisions.decide(username, account);
    const all = [usual, ...byClientId.values()];
    const allowing = all.find((decision) => decision?.allow ?? byDefault);
    if (allowing === undefined) return;
    found.push({
      username,
      reason: allowing ? 'RULE' : 'DEFAULT',
      decidedBy: allowing && { ...allowing.source, rule: allowing.rule, verdict: 'MATCHED' as const },
      conditional: all.some((decision) => !(decision?.allow ?? byDefault)),
    });
  };
  if (canBeAnonymous(policy, dialect)) yield* consider(null, { clientId: null, ...anonymousHoldings(policy) });
  for (const account of policy.clients.values()) {
    if (!account.disabled) yield* consider(account.username, account);
    yield;
  }
  return yield* sortInSteps(found, ({ username: one }, { username: other }) => {
    if (one === null || other === null) return one === null ? -1 : 1;
    return one < other ? -1 : 1;
  });
}

/** Decides on one action and topic for many accounts. Each role and group is evaluated once. */
class TopicDecisions {
  readonly #policy: AccessPolicy;
  readonly #matcher: RuleMatcher;
  readonly #levels: readonly string[];
  readonly #matching = new Map<string, readonly RuleMatch[]>();
  readonly #roles = new Map<string, Map<string, Decisions<RuleDecision>>>();
  readonly #groups = new Map<string, Map<string, Decisions<Decision>>>();

  constructor(policy: AccessPolicy, dialect: AccessDialect, action: AccessAction, topic: string) {
    this.#policy = policy;
    this.#matcher = new RuleMatcher(dialect, action, topic);
    this.#levels = [...new Set(topic.split('/'))];
  }

  /** An account with a client id gets the decision for that client id only. */
  *decide(
    username: string | null,
    { clientId, roles, groups }: Pick<Account, 'clientId' | 'roles' | 'groups'>,
  ): SlicedTask<Decisions<Decision>> {
    // A name that begins no level of the topic cannot match %u. These names share the entry `/`, which is no level.
    const name = username !== null && this.#levels.some((level) => level.startsWith(username)) ? username : '/';
    const parts: Decisions<Decision>[] = [];
    const own = yield* this.#ofSources(
      rolesInOrder(roles, [], () => []),
      name,
    );
    parts.push(own);
    if (own.usual === null) {
      for (const group of membershipsInOrder(groups)) {
        const inherited = yield* this.#ofGroup(group.name, name);
        parts.push(inherited);
        if (inherited.usual !== null) break;
      }
    }
    const decisions = yield* inOrder(parts);
    if (clientId === null) return decisions;
    return { usual: decisions.byClientId.get(clientId) ?? decisions.usual, byClientId: NO_CLIENT_IDS };
  }

  *#ofGroup(groupname: string, name: string): SlicedTask<Decisions<Decision>> {
    const cache = entryOf(this.#groups, name);
    let decisions = cache.get(groupname);
    if (decisions === undefined) {
      const rolesOf = () => rolesOfGroup(this.#policy, groupname);
      decisions = yield* this.#ofSources(rolesInOrder([], [{ name: groupname, priority: 0 }], rolesOf), name);
      cache.set(groupname, decisions);
    }
    return decisions;
  }

  *#ofSources(sources: readonly RoleSource[], name: string): SlicedTask<Decisions<Decision>> {
    const parts: Decisions<Decision>[] = [];
    for (const source of sources) {
      const { usual, byClientId } = yield* this.#ofRole(source.rolename, name);
      if (usual === null && byClientId.size === 0) continue;
      parts.push({
        usual: usual && { source, ...usual },
        byClientId:
          byClientId.size === 0
            ? NO_CLIENT_IDS
            : new Map([...byClientId].map(([id, decision]) => [id, { source, ...decision }])),
      });
      if (usual !== null) break;
    }
    return yield* inOrder(parts);
  }

  *#ofRole(rolename: string, name: string): SlicedTask<Decisions<RuleDecision>> {
    const cache = entryOf(this.#roles, name);
    let decisions = cache.get(rolename);
    if (decisions === undefined) {
      decisions = decisionsOf(yield* this.#matchingOf(rolename), name, this.#levels);
      cache.set(rolename, decisions);
    }
    return decisions;
  }

  *#matchingOf(rolename: string): SlicedTask<readonly RuleMatch[]> {
    const cached = this.#matching.get(rolename);
    if (cached !== undefined) return cached;
    const role = this.#policy.roles.get(rolename);
    const matching: RuleMatch[] = [];
    const steps = new RuleSteps();
    for (const match of role ? this.#matcher.evaluate(role) : []) {
      if (match.cases.length > 0) matching.push(match);
      if (steps.isEndedBy(match.characters)) yield;
    }
    this.#matching.set(rolename, matching);
    return matching;
  }
}

const NO_CLIENT_IDS: ReadonlyMap<string, never> = new Map<string, never>();

function decisionsOf(matching: readonly RuleMatch[], name: string, levels: readonly string[]): Decisions<RuleDecision> {
  let byClientId: Map<string, RuleDecision> | null = null;
  for (const { rule, cases } of matching) {
    for (const one of cases) {
      if (!hasUsername(one, name)) continue;
      const decision = { rule, allow: rule?.allow === true && !one.isInvalid };
      if (one.clientId === null) return { usual: decision, byClientId: byClientId ?? NO_CLIENT_IDS };
      byClientId ??= new Map();
      for (const clientId of clientIdsOf(one, levels))
        if (!byClientId.has(clientId)) byClientId.set(clientId, decision);
    }
  }
  return { usual: null, byClientId: byClientId ?? NO_CLIENT_IDS };
}

/** Combines decisions in the order of evaluation. Only the last one may have a `usual` decision. */
function* inOrder(parts: readonly Decisions<Decision>[]): SlicedTask<Decisions<Decision>> {
  const usual = parts.at(-1)?.usual ?? null;
  const conditional = parts.filter(({ byClientId }) => byClientId.size > 0);
  if (conditional.length < 2) return { usual, byClientId: conditional[0]?.byClientId ?? NO_CLIENT_IDS };
  const byClientId = new Map<string, Decision>();
  for (const part of conditional) {
    for (const [id, decision] of part.byClientId) if (!byClientId.has(id)) byClientId.set(id, decision);
    yield;
  }
  return { usual, byClientId };
}

function entryOf<T>(maps: Map<string, Map<string, T>>, name: string): Map<string, T> {
  let map = maps.get(name);
  if (map === undefined) {
    map = new Map();
    maps.set(name, map);
  }
  return map;
}
