import type { SlicedTask } from '../../../platform/scheduling/sliced-task.ts';
import type { AccessClient, AccessDialect, AccessPolicy } from '../policy/access-model.ts';
import { anonymousHoldings } from '../policy/access-order.ts';
import { brokerRefuses, defaultAllows } from '../policy/acl-evaluation.ts';
import { TopicDecisions } from './access-decision.ts';
import { canBeAnonymous, checkTopic } from './access-explainer.ts';
import type { AccessAction, Grantee } from './access-explanation.ts';

/** Connections without a user name come first, then enabled accounts by name (UTF-16 code units). Errors: INVALID. */
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
    const { usual, byClientId } = yield* decisions.decide(username, account);
    const all = [usual, ...byClientId.values()];
    const allowing = all.find((decision) => decision?.match.allow ?? byDefault);
    if (allowing === undefined) return;
    found.push({
      username,
      reason: allowing ? 'RULE' : 'DEFAULT',
      decidedBy: allowing && { ...allowing.source, rule: allowing.match.rule, verdict: 'MATCHED' as const },
      conditional: all.some((decision) => !(decision?.match.allow ?? byDefault)),
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
