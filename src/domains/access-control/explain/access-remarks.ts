import { filterCovers } from '../../../protocol/mqtt/filter-match.ts';
import { filterProblem } from '../../../protocol/mqtt/topics.ts';
import type { AccessDialect, AccessPolicy, AclRule } from '../policy/access-model.ts';
import { type Substitution, substitutionOf } from '../policy/acl-filter.ts';
import type { AccessIdentity, AccessQuestion, Explanation, RoleSource } from './access-explanation.ts';

export interface RemarkContext {
  readonly question: AccessQuestion;
  /** As the question's, with the client id that the account is bound to. */
  readonly identity: AccessIdentity;
  readonly policy: AccessPolicy;
  readonly dialect: AccessDialect;
  readonly answer: Omit<Explanation, 'elsewhere' | 'remarks'>;
  readonly sources: readonly RoleSource[];
  /** Client ids with which the answer would be the opposite. */
  readonly others: readonly { readonly clientId: string; readonly allowed: boolean }[];
}

/** Who else may decide, in words; null: nobody. */
export function elsewhereOf(
  { reason, allowed }: RemarkContext['answer'],
  username: string | null,
  { decidesAlone }: AccessDialect,
): string | null {
  if (decidesAlone) return null;
  switch (reason) {
    case 'UNKNOWN_USER':
      return 'If the name is right: Mosquitto leaves users that dynamic security does not know to other plugins and to a password file; without one the user cannot connect.';
    case 'DISABLED':
    case 'CLIENT_ID':
      return 'A listener that takes the user name from a certificate (use_identity_as_username) does not ask whether the account is disabled or bound to a client id.';
    case 'DEFAULT':
    case 'CONTROL_TOPIC':
      if (!allowed) return 'What no rule allows is left to other plugins; without one it is denied.';
  }
  return username === null ? 'Whether connections without user name are accepted is up to the listener.' : null;
}

/** What the broker gets wrong or leaves out that matters to this answer. */
export function remarksOn(context: RemarkContext): string[] {
  return REMARKS.map((remark) => remark(context)).filter((text) => text !== null);
}

type Remark = (context: RemarkContext) => string | null;

const asksFilter: ReadonlySet<string> = new Set(['SUBSCRIBE', 'UNSUBSCRIBE']);

const brokerItself: Remark = ({ answer: { reason }, question: { topic } }) => {
  if (reason !== 'BROKER') return null;
  return topic.startsWith('$SYS')
    ? 'The broker lets nobody publish to $SYS, except the state of a bridge.'
    : 'Topics that begin with $share can only be subscribed; messages have none.';
};

const neverByDefault: Remark = ({ answer: { reason } }) =>
  reason === 'CONTROL_TOPIC' ? 'The default never allows what begins with $CONTROL; it takes a rule.' : null;

const noSuchAccount: Remark = ({ answer: { reason }, question: { username } }) =>
  reason === 'UNKNOWN_USER' && username !== null
    ? `There is no account "${username}". Is the name spelled as the broker has it, case and all?`
    : null;

const noAnonymousGroup: Remark = ({ question: { username }, policy: { anonymousGroup }, dialect }) => {
  if (username !== null || anonymousGroup !== null) return null;
  return dialect.decidesAlone
    ? 'There is no anonymous group, so nobody can connect without user name.'
    : 'There is no anonymous group, so only the default decides.';
};

const literalPlaces: Remark = ({ dialect, answer }) => {
  const rule = dialect.substitution ? undefined : lookedAtRules(answer).find(({ topic }) => substitutionOf(topic));
  return rule
    ? `This broker takes %c and %u as they stand (Mosquitto before 2.1), so ${named(rule)} stands for no client.`
    : null;
};

const unusableIdentity: Remark = ({ dialect, answer, identity: { clientId, username } }) => {
  if (!dialect.substitution) return null;
  const asks = (place: keyof Substitution) => lookedAtRules(answer).some(({ topic }) => substitutionOf(topic)?.[place]);
  const value =
    isUnusable(clientId) && asks('clientId') ? clientId : isUnusable(username) && asks('username') ? username : null;
  return value === null
    ? null
    : `Rules with %c or %u never match for "${value}": it is empty or holds /, + or #, which have a meaning in topics.`;
};

const isUnusable = (value: string | null): boolean => value !== null && (value === '' || /[/+#]/.test(value));

/** Client ids named in a remark. */
const MAX_IDS = 20;

const otherClientIds: Remark = ({ answer, others }) => {
  if (!answer.conditional) return null;
  const ids = others
    .slice(0, MAX_IDS)
    .map(({ clientId }) => `"${clientId}"`)
    .join(', ');
  const more = others.length > MAX_IDS ? ` and ${others.length - MAX_IDS} more` : '';
  return `With client id ${ids}${more} it is ${answer.allowed ? 'denied' : 'allowed'}; the question names none.`;
};

const dollarByWildcard: Remark = ({ question: { action, topic }, dialect, answer: { decidedBy } }) => {
  if (dialect.guardsDollar || !asksFilter.has(action) || !topic.startsWith('$')) return null;
  const rule = decidedBy?.rule;
  return rule && /^[+#]/.test(rule.topic) && rule.topic !== topic
    ? `Before Mosquitto 2.1 wildcards stand for $SYS, $CONTROL and $share too, so ${named(rule)} decides on "${topic}".`
    : null;
};

const tooWide: Remark = ({ question: { action, topic }, dialect, answer: { decidedBy } }) => {
  if (dialect.guardsDollar || !asksFilter.has(action) || topic.startsWith('$')) return null;
  const rule = decidedBy?.rule;
  return rule && rule.topic !== topic && !filterCovers(rule.topic, topic)
    ? `Before Mosquitto 2.1 a last # is taken off before filters are compared, so ${named(rule)} decides on "${topic}", which is wider.`
    : null;
};

const sharedByFullName: Remark = ({ question: { action, topic } }) =>
  asksFilter.has(action) && topic.startsWith('$share/')
    ? 'A shared subscription is compared with its whole name: a rule for its topics alone does not allow it, one that begins with $share/+/ does.'
    : null;

const notAFilter: Remark = ({ answer }) => {
  const rule = lookedAtRules(answer).find(({ topic }) => filterProblem(topic) !== null);
  return rule ? `${named(rule)} is no valid topic filter (${filterProblem(rule.topic)}).` : null;
};

const missingRoles: Remark = ({ sources, policy }) => {
  const missing = [...new Set(sources.map(({ rolename }) => rolename))].filter((name) => !policy.roles.has(name));
  return missing.length > 0
    ? `There is no role ${missing.map((name) => `"${name}"`).join(', ')}, though it is held.`
    : null;
};

const REMARKS: readonly Remark[] = [
  noSuchAccount,
  brokerItself,
  neverByDefault,
  noAnonymousGroup,
  otherClientIds,
  literalPlaces,
  unusableIdentity,
  dollarByWildcard,
  tooWide,
  sharedByFullName,
  notAFilter,
  missingRoles,
];

const lookedAtRules = ({ lookedAt }: RemarkContext['answer']): AclRule[] =>
  lookedAt.map(({ rule }) => rule).filter((rule) => rule !== null);

const named = ({ aclType, topic }: AclRule): string => `${aclType} "${topic}"`;
