import { invalid, notFound } from '../../../platform/errors.ts';
import type { SlicedTask } from '../../../platform/scheduling/sliced-task.ts';
import { filterProblem, topicProblem } from '../../../protocol/mqtt/topics.ts';
import type { AccessClient, AccessDialect, AccessPolicy, Membership } from '../policy/access-model.ts';
import { anonymousHoldings, rolesInOrder, rolesOfGroup } from '../policy/access-order.ts';
import { brokerRefuses, DEFAULT_ACL_OF, defaultAllows } from '../policy/acl-evaluation.ts';
import { LOOKS_PER_STEP, TopicDecisions } from './access-decision.ts';
import {
  type AccessAction,
  type AccessIdentity,
  type AccessQuestion,
  type DecisionReason,
  type Explanation,
  type Grantee,
  type LookedAt,
  MAX_LOOKED_AT,
  type RoleSource,
  type RuleVerdict,
} from './access-explanation.ts';
import { elsewhereOf, remarksOn } from './access-remarks.ts';
import { type Look, TopicLooks } from './acl-looks.ts';

/**
 * What a broker with this policy answers, and why.
 *
 * Errors: INVALID (the topic or filter; roles for an anonymous group that is not there), NOT_FOUND (a role of `withRoles` or
 * `withoutRoles`). An unknown user is an answer, not an error.
 */
export function* explainAccess(
  policy: AccessPolicy,
  dialect: AccessDialect,
  question: AccessQuestion,
): SlicedTask<Explanation> {
  const { action, topic, username } = question;
  checkTopic(action, topic);
  checkRoles(policy, question);
  const account = username === null ? null : (policy.clients.get(username) ?? null);
  const identity = { username, clientId: question.clientId ?? account?.clientId ?? null };
  const sources = sourcesOf(policy, username, account, question);
  const { lookedAt, lookedAtTotal, decidedBy, byClientId } = yield* lookThrough(
    policy,
    new TopicLooks(dialect, action, topic),
    sources,
    identity,
  );
  const byDefault = defaultAllows(policy.defaultAcl, action, topic);
  const ruled = decidedBy === null ? byDefault : (decidedBy.rule?.allow ?? false);

  const reason = reasonOf(policy, dialect, question, account, decidedBy);
  const others = [...byClientId]
    .map(([clientId, allowed]) => ({ clientId, allowed }))
    .filter(({ allowed }) => allowed !== ruled);
  const isRuled = reason === 'RULE' || reason === 'DEFAULT' || reason === 'CONTROL_TOPIC';
  const answer = {
    allowed: isRuled && ruled,
    reason,
    decidedBy,
    defaultAclType: DEFAULT_ACL_OF[action],
    defaultAllows: policy.defaultAcl[DEFAULT_ACL_OF[action]],
    conditional: isRuled && others.length > 0,
    lookedAt,
    lookedAtTotal,
  };
  return {
    ...answer,
    elsewhere: elsewhereOf(answer, username, dialect),
    remarks: remarksOn({ question, identity, policy, dialect, answer, sources, others }),
  };
}

interface LookedThrough {
  readonly lookedAt: readonly LookedAt[];
  readonly lookedAtTotal: number;
  readonly decidedBy: LookedAt | null;
  /** What is allowed where a rule with a client id that is not known comes first. */
  readonly byClientId: ReadonlyMap<string, boolean>;
}

function* lookThrough(
  policy: AccessPolicy,
  looks: TopicLooks,
  sources: readonly RoleSource[],
  identity: AccessIdentity,
): SlicedTask<LookedThrough> {
  const lookedAt: LookedAt[] = [];
  const byClientId = new Map<string, boolean>();
  /** Rules of roles that decided nothing: held in another way they do not either. */
  const counts = new Map<string, number>();
  let lookedAtTotal = 0;
  for (const source of sources) {
    const role = policy.roles.get(source.rolename);
    const known = counts.get(source.rolename);
    if (known !== undefined && lookedAt.length === MAX_LOOKED_AT) lookedAtTotal += known;
    else if (role) {
      const before = lookedAtTotal;
      for (const look of looks.at(role)) {
        lookedAtTotal += 1;
        const verdict = verdictOn(look, identity);
        const decides = verdict === 'MATCHED' || verdict === 'WILDCARD_DENIED';
        if (decides || lookedAt.length < MAX_LOOKED_AT) {
          const { rolename, group, priority } = source;
          const at = { rolename, group, priority, rule: look.rule, verdict };
          if (lookedAt.length < MAX_LOOKED_AT) lookedAt.push(at);
          if (decides) return { lookedAt, lookedAtTotal, decidedBy: at, byClientId };
        }
        const clientId = verdict === 'UNDECIDABLE' ? look.bearer?.clientId : null;
        if (typeof clientId === 'string' && !byClientId.has(clientId)) byClientId.set(clientId, look.allow);
        if (lookedAtTotal % LOOKS_PER_STEP === 0) yield;
      }
      counts.set(source.rolename, lookedAtTotal - before);
    }
    yield;
  }
  return { lookedAt, lookedAtTotal, decidedBy: null, byClientId };
}

function verdictOn({ rule, bearer }: Look, { username, clientId }: AccessIdentity): RuleVerdict {
  if (rule === null) return 'WILDCARD_DENIED';
  if (bearer === null || (bearer.username !== null && bearer.username !== username)) return 'NOT_MATCHED';
  if (bearer.clientId === null || bearer.clientId === clientId) return 'MATCHED';
  return clientId === null ? 'UNDECIDABLE' : 'NOT_MATCHED';
}

/**
 * Everybody who is allowed, sorted by user name (UTF-16 code units), anonymous first. Disabled accounts are left out. An account that may use any
 * client id is `conditional` where not every one is allowed.
 *
 * Errors: INVALID (the topic or filter).
 */
export function* whoCan(
  policy: AccessPolicy,
  dialect: AccessDialect,
  action: AccessAction,
  topic: string,
): SlicedTask<Grantee[]> {
  checkTopic(action, topic);
  if (brokerRefuses(action, topic)) return [];
  const decisions = new TopicDecisions(policy, dialect, action, topic);
  const byDefault = defaultAllows(policy.defaultAcl, action, topic);
  const found: Grantee[] = [];
  const consider = function* (username: string | null, account: Pick<AccessClient, 'clientId' | 'roles' | 'groups'>) {
    const { usual, byClientId } = yield* decisions.of(username, account);
    const all = [usual, ...byClientId.values()];
    const allowing = all.find((decision) => decision?.look.allow ?? byDefault);
    if (allowing === undefined) return;
    found.push({
      username,
      reason: allowing ? 'RULE' : 'DEFAULT',
      decidedBy: allowing && { ...allowing.source, rule: allowing.look.rule, verdict: 'MATCHED' as const },
      conditional: all.some((decision) => !(decision?.look.allow ?? byDefault)),
    });
  };
  if (canBeAnonymous(policy, dialect)) yield* consider(null, { clientId: null, ...anonymousHoldings(policy) });
  for (const account of policy.clients.values()) {
    if (!account.disabled) yield* consider(account.username, account);
    yield;
  }
  return found.sort(({ username: one }, { username: other }) => {
    if (one === null || other === null) return one === null ? -1 : 1;
    return one < other ? -1 : 1;
  });
}

function checkTopic(action: AccessAction, topic: string): void {
  const reason = action === 'PUBLISH' || action === 'RECEIVE' ? topicProblem(topic) : filterProblem(topic);
  if (reason !== null) throw invalid([{ path: 'topic', reason }]);
}

function checkRoles(policy: AccessPolicy, { username, withRoles = [], withoutRoles = [] }: AccessQuestion): void {
  for (const name of [...withRoles.map((role) => role.name), ...withoutRoles]) {
    if (!policy.roles.has(name)) throw notFound('role', name);
  }
  if (withRoles.length > 0 && username === null && policy.anonymousGroup === null) {
    throw invalid([{ path: 'withRoles', reason: 'there is no anonymous group that could hold a role' }]);
  }
}

/** The roles that are looked at, in their order, with what the question adds and takes away. */
function sourcesOf(
  policy: AccessPolicy,
  username: string | null,
  account: AccessClient | null,
  { withRoles = [], withoutRoles = [] }: Pick<AccessQuestion, 'withRoles' | 'withoutRoles'>,
): RoleSource[] {
  const changed = (held: readonly Membership[]) => [
    ...held.filter(({ name }) => !withRoles.some((role) => role.name === name)),
    ...withRoles,
  ];
  const rolesOf = (groupname: string) => rolesOfGroup(policy, groupname);
  const sources =
    username !== null
      ? rolesInOrder(changed(account?.roles ?? []), account?.groups ?? [], rolesOf)
      : rolesInOrder([], anonymousHoldings(policy).groups, (groupname) => changed(rolesOf(groupname)));
  return withoutRoles.length === 0 ? sources : sources.filter(({ rolename }) => !withoutRoles.includes(rolename));
}

/** As far as is known: elsewhere the listener decides on connections without user name. */
const canBeAnonymous = ({ anonymousGroup }: AccessPolicy, { decidesAlone }: AccessDialect): boolean =>
  !decidesAlone || anonymousGroup !== null;

function reasonOf(
  policy: AccessPolicy,
  dialect: AccessDialect,
  { action, topic, username, clientId }: AccessQuestion,
  account: AccessClient | null,
  decidedBy: LookedAt | null,
): DecisionReason {
  if (username !== null && account === null) return 'UNKNOWN_USER';
  if (username === null && !canBeAnonymous(policy, dialect)) return 'UNKNOWN_USER';
  if (account?.disabled) return 'DISABLED';
  if (account && account.clientId !== null && clientId !== null && clientId !== account.clientId) return 'CLIENT_ID';
  if (brokerRefuses(action, topic)) return 'BROKER';
  if (decidedBy) return 'RULE';
  return policy.defaultAcl[DEFAULT_ACL_OF[action]] && topic.startsWith('$CONTROL') ? 'CONTROL_TOPIC' : 'DEFAULT';
}
