import type {
  AccessAction,
  DecisionReason,
  LookedAtRule,
} from '../../../protocol/apis/access-control/access-explanation.ts';
import type { AclType } from '../../../protocol/apis/access-control/access-model.ts';
import { ACTION_WORDS, ruleWords } from '../../../protocol/apis/access-control/rule-words.ts';

interface DeniedAccess {
  readonly action: AccessAction;
  /** `null` if it is not known. */
  readonly topic: string | null;
  /** `null` for a connection without a user name. */
  readonly username: string | null;
  readonly reason: DecisionReason | null;
  /** `null` if no rule matched. */
  readonly decidedBy: LookedAtRule | null;
}

/** The rule that allows an action, whatever the filter of the client is. */
export const ALLOWING_RULE = {
  PUBLISH: 'publishClientSend',
  RECEIVE: 'publishClientReceive',
  SUBSCRIBE: 'subscribePattern',
  UNSUBSCRIBE: 'unsubscribePattern',
} as const satisfies Readonly<Record<AccessAction, AclType>>;

/** What an operator can do about a denied access, in whole sentences. */
export function denialAdvice({ action, topic, username, reason, decidedBy }: DeniedAccess): string {
  const access = topic === null ? 'it' : `"${topic}"`;
  const account = username === null ? 'the anonymous group' : `the account "${username}"`;
  if (reason === 'BROKER') {
    return `Use another topic in the client: the broker reserves ${access}, whatever the access rules are.`;
  }
  const needed = `rule that allows ${topic === null ? 'it' : ruleWords({ aclType: ALLOWING_RULE[action], topic })}`;
  if (decidedBy === null) {
    return `No rule allows this, and the default access for ${ACTION_WORDS[action]} is to deny it. Add a ${needed} to a role of ${account}.`;
  }
  const { rolename, group, rule, verdict } = decidedBy;
  const role = group === null ? `The role "${rolename}"` : `The role "${rolename}" of the group "${group}"`;
  if (rule === null) {
    return `${role} denies subscriptions with wildcards. Subscribe to single topics, or allow wildcards in the role.`;
  }
  if (verdict === 'INVALID_DENIED') {
    return `${role} has a rule for ${ruleWords(rule)}, which is not a valid topic filter. Mosquitto 2.1 denies what it compares with it: remove it.`;
  }
  return `${role} has a rule that denies ${ruleWords(rule)} (priority ${rule.priority}). Change it, or give ${account} a role of higher priority with a ${needed}.`;
}
