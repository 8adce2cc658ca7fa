import { invalid, notFound } from '../../../platform/errors.ts';
import type { SlicedTask } from '../../../platform/scheduling/sliced-task.ts';
import {
  type AccessAction,
  type AccessIdentity,
  type AccessQuery,
  type DecisionReason,
  type Explanation,
  type LookedAtRule,
  MAX_LOOKED_AT,
  type RoleSource,
  type RuleVerdict,
} from '../../../protocol/apis/access-control/access-explanation.ts';
import type {
  AccessDialect,
  AccessPolicy,
  Account,
  Membership,
} from '../../../protocol/apis/access-control/access-model.ts';
import { anonymousHoldings, rolesInSteps, rolesOfGroup } from '../../../protocol/apis/access-control/access-order.ts';
import {
  brokerRefuses,
  closingProblem,
  DEFAULT_ACL_OF,
  defaultAllows,
} from '../../../protocol/apis/access-control/acl-evaluation.ts';
import { withoutShare } from '../../../protocol/mqtt/filter-match.ts';
import { filterProblem, levelProblem, topicProblem } from '../../../protocol/mqtt/topics.ts';
import { elsewhereOf, remarksOn } from './access-remarks.ts';
import { clientIdsOf, hasClientId, hasUsername, type RuleMatch, RuleMatcher, RuleSteps } from './rule-matcher.ts';

/**
 * `otherPlugins`: names of other plugins that may decide; `null` if they are unknown. Errors: INVALID (the topic or
 * filter; `withRoles` without an anonymous group), NOT_FOUND (a role of `withRoles` or `withoutRoles`). An unknown user
 * is a result, not an error.
 */
export function* explainAccess(
  policy: AccessPolicy,
  dialect: AccessDialect,
  query: AccessQuery,
  otherPlugins: readonly string[] | null = null,
): SlicedTask<Explanation> {
  const { action, topic, username } = query;
  checkTopic(action, topic);
  checkRoles(policy, query);
  const account = username === null ? null : (policy.clients.get(username) ?? null);
  const identity = { username, clientId: query.clientId ?? account?.clientId ?? null };
  const sources = yield* sourcesOf(policy, username, account, query);
  const { lookedAt, lookedAtTotal, decidedBy, byClientId } = yield* evaluate(
    policy,
    new RuleMatcher(dialect, action, topic),
    sources,
    identity,
    topic.split('/'),
  );
  const byDefault = defaultAllows(policy.defaultAcl, action, topic);
  const ruled = decidedBy === null ? byDefault : decidedBy.verdict === 'MATCHED' && decidedBy.rule?.allow === true;

  const reason = reasonOf(policy, dialect, query, account, decidedBy);
  const oppositeIds = [...byClientId].flatMap(([clientId, allowed]) => (allowed === ruled ? [] : [clientId]));
  const isRuled = reason === 'RULE' || reason === 'DEFAULT' || reason === 'CONTROL_TOPIC';
  const result = {
    allowed: isRuled && ruled,
    reason,
    decidedBy,
    defaultAclType: DEFAULT_ACL_OF[action],
    defaultAllows: policy.defaultAcl[DEFAULT_ACL_OF[action]],
    conditional: isRuled && oppositeIds.length > 0,
    lookedAt,
    lookedAtTotal,
  };
  return {
    ...result,
    elsewhere: elsewhereOf(result, username, dialect, otherPlugins),
    remarks: yield* remarksOn({ query, identity, policy, dialect, result, sources, oppositeIds }),
  };
}

interface Evaluation extends Pick<Explanation, 'lookedAt' | 'lookedAtTotal' | 'decidedBy'> {
  /** Whether access is allowed, by client id of an undecidable rule. */
  readonly byClientId: ReadonlyMap<string, boolean>;
}

function* evaluate(
  policy: AccessPolicy,
  matcher: RuleMatcher,
  sources: readonly RoleSource[],
  identity: AccessIdentity,
  levels: readonly string[],
): SlicedTask<Evaluation> {
  const lookedAt: LookedAtRule[] = [];
  const byClientId = new Map<string, boolean>();
  const steps = new RuleSteps();
  let lookedAtTotal = 0;
  for (const source of sources) {
    const role = policy.roles.get(source.rolename);
    if (role) {
      for (const match of matcher.evaluate(role)) {
        lookedAtTotal += 1;
        const verdict = verdictOn(match, identity);
        const decides = verdict !== 'NOT_MATCHED' && verdict !== 'UNDECIDABLE';
        if (decides || lookedAt.length < MAX_LOOKED_AT) {
          const { rolename, group, priority } = source;
          const at = { rolename, group, priority, rule: match.rule, verdict };
          if (lookedAt.length < MAX_LOOKED_AT) lookedAt.push(at);
          if (decides) return { lookedAt, lookedAtTotal, decidedBy: at, byClientId };
        }
        if (verdict === 'UNDECIDABLE')
          for (const [clientId, allowed] of decisionsByClientId(match, identity, levels))
            if (!byClientId.has(clientId)) byClientId.set(clientId, allowed);
        if (steps.isEndedBy(match.characters)) yield;
      }
    }
    yield;
  }
  return { lookedAt, lookedAtTotal, decidedBy: null, byClientId };
}

function verdictOn({ rule, cases }: RuleMatch, { username, clientId }: AccessIdentity): RuleVerdict {
  if (rule === null) return 'WILDCARD_DENIED';
  const possible = cases.filter((one) => hasUsername(one, username));
  const decisive = possible.find((one) => hasClientId(one, clientId));
  if (decisive !== undefined) return decisive.isInvalid ? 'INVALID_DENIED' : 'MATCHED';
  return clientId === null && possible.length > 0 ? 'UNDECIDABLE' : 'NOT_MATCHED';
}

function* decisionsByClientId(
  { rule, cases }: RuleMatch,
  { username }: AccessIdentity,
  levels: readonly string[],
): Generator<readonly [string, boolean]> {
  for (const one of cases) {
    if (!hasUsername(one, username)) continue;
    for (const clientId of clientIdsOf(one, levels)) yield [clientId, rule?.allow === true && !one.isInvalid];
  }
}

export function checkTopic(action: AccessAction, topic: string): void {
  const isMessage = action === 'PUBLISH' || action === 'RECEIVE';
  const reason = (isMessage ? topicProblem(topic) : filterProblem(topic)) ?? levelProblem(withoutShare(topic));
  if (reason !== null) throw invalid([{ path: 'topic', reason }]);
}

/** Of a hypothetical change: each is compared with all roles that the account has. */
const MAX_ROLES = 1_000;

function checkRoles(policy: AccessPolicy, { username, withRoles = [], withoutRoles = [] }: AccessQuery): void {
  const names = withRoles.map(({ name }) => name);
  for (const [path, list] of Object.entries({ withRoles: names, withoutRoles }))
    if (list.length > MAX_ROLES) throw invalid([{ path, reason: `must have at most ${MAX_ROLES} roles` }]);
  for (const name of [...names, ...withoutRoles]) {
    if (!policy.roles.has(name)) throw notFound('role', name);
  }
  if (withRoles.length > 0 && username === null && policy.anonymousGroup === null) {
    throw invalid([{ path: 'withRoles', reason: 'requires an anonymous group or a username' }]);
  }
}

function* sourcesOf(
  policy: AccessPolicy,
  username: string | null,
  account: Account | null,
  { withRoles = [], withoutRoles = [] }: Pick<AccessQuery, 'withRoles' | 'withoutRoles'>,
): SlicedTask<RoleSource[]> {
  const added = new Set(withRoles.map(({ name }) => name));
  const removed = new Set(withoutRoles);
  const changed = (held: readonly Membership[]) => [...held.filter(({ name }) => !added.has(name)), ...withRoles];
  const rolesOf = (groupname: string) => rolesOfGroup(policy, groupname);
  const sources =
    username !== null
      ? yield* rolesInSteps(changed(account?.roles ?? []), account?.groups ?? [], rolesOf)
      : yield* rolesInSteps([], anonymousHoldings(policy).groups, (groupname) => changed(rolesOf(groupname)));
  return sources.filter(({ rolename }) => !removed.has(rolename));
}

/** Mosquitto's listener settings decide on connections without a user name; this service cannot read them. */
export const canBeAnonymous = ({ anonymousGroup }: AccessPolicy, { isSoleAuthority }: AccessDialect): boolean =>
  !isSoleAuthority || anonymousGroup !== null;

function reasonOf(
  policy: AccessPolicy,
  dialect: AccessDialect,
  { action, topic, username, clientId }: AccessQuery,
  account: Account | null,
  decidedBy: LookedAtRule | null,
): DecisionReason {
  if (username !== null && account === null) return 'UNKNOWN_USER';
  if (username === null && !canBeAnonymous(policy, dialect)) return 'UNKNOWN_USER';
  if (account?.disabled) return 'DISABLED';
  if (account && account.clientId !== null && clientId !== null && clientId !== account.clientId) return 'CLIENT_ID';
  if (brokerRefuses(action, topic) || closingProblem(action, topic, dialect) !== null) return 'BROKER';
  if (decidedBy) return 'RULE';
  return policy.defaultAcl[DEFAULT_ACL_OF[action]] && topic.startsWith('$CONTROL') ? 'CONTROL_TOPIC' : 'DEFAULT';
}
