import type { SlicedTask } from '../../../platform/scheduling/sliced-task.ts';
import type {
  AccessIdentity,
  AccessQuery,
  Explanation,
  RoleSource,
} from '../../../protocol/apis/access-control/access-explanation.ts';
import type { AccessDialect, AccessPolicy, AclRule } from '../../../protocol/apis/access-control/access-model.ts';
import { closingProblem } from '../../../protocol/apis/access-control/acl-evaluation.ts';
import { type Substitution, substitutionOf } from '../../../protocol/apis/access-control/acl-filter.ts';
import { ruleWords } from '../../../protocol/apis/access-control/rule-words.ts';
import { filterCovers } from '../../../protocol/mqtt/filter-match.ts';
import { filterProblem } from '../../../protocol/mqtt/topics.ts';
import { RuleSteps } from './rule-matcher.ts';

interface RemarkContext {
  readonly query: AccessQuery;
  /** As in the query; without a client id in the query, the one that the account is bound to. */
  readonly identity: AccessIdentity;
  readonly policy: AccessPolicy;
  readonly dialect: AccessDialect;
  readonly result: Omit<Explanation, 'elsewhere' | 'remarks'>;
  readonly sources: readonly RoleSource[];
  readonly oppositeIds: readonly string[];
  readonly unusual: UnusualRules;
}

interface UnusualRules {
  /** What the evaluated rules contain. */
  readonly uses: Substitution;
  /** The first rule that contains `%c` or `%u`. */
  readonly substituted: AclRule | null;
  /** The first rule that is not a valid filter. */
  readonly invalid: AclRule | null;
}

/** `otherPlugins` is `null` if they are unknown. */
export function elsewhereOf(
  result: RemarkContext['result'],
  username: string | null,
  { isSoleAuthority }: AccessDialect,
  otherPlugins: readonly string[] | null,
): string | null {
  if (isSoleAuthority) return null;
  const texts = [beyondRules(result, username), otherPlugins && namedPlugins(otherPlugins)];
  return texts.filter((text) => text !== null).join(' ') || null;
}

function namedPlugins(names: readonly string[]): string | null {
  if (names.length === 0) return null;
  return `The broker also has other plugins: ${names.map(quoted).join(', ')}. It asks its plugins in the order of its configuration, and the first one that decides counts.`;
}

function beyondRules({ reason, allowed }: RemarkContext['result'], username: string | null): string | null {
  switch (reason) {
    case 'UNKNOWN_USER':
      return 'Dynamic security does not know this user. Other plugins or a password file of Mosquitto may accept it; otherwise the user cannot connect.';
    case 'DISABLED':
    case 'CLIENT_ID':
      return 'A listener with use_identity_as_username takes the user name from the certificate and ignores whether the account is disabled or bound to a client id.';
    case 'DEFAULT':
    case 'CONTROL_TOPIC':
      if (!allowed)
        return 'No rule of dynamic security allows this. Another plugin may allow it; otherwise it is denied.';
  }
  return username === null
    ? 'The listener settings decide whether connections without a user name are accepted.'
    : null;
}

export function* remarksOn(context: Omit<RemarkContext, 'unusual'>): SlicedTask<string[]> {
  const unusual = yield* unusualRulesOf(context.result);
  return REMARKS.map((remark) => remark({ ...context, unusual })).filter((text) => text !== null);
}

function* unusualRulesOf({ lookedAt }: RemarkContext['result']): SlicedTask<UnusualRules> {
  const steps = new RuleSteps();
  const uses = { clientId: false, username: false };
  let substituted: AclRule | null = null;
  let invalid: AclRule | null = null;
  for (const { rule } of lookedAt) {
    if (rule === null) continue;
    const { topic } = rule;
    const substitution = substitutionOf(topic);
    if (substitution !== null) substituted ??= rule;
    uses.clientId ||= substitution?.clientId === true;
    uses.username ||= substitution?.username === true;
    if (invalid === null && filterProblem(topic) !== null) invalid = rule;
    if (steps.isEndedBy(topic.length)) yield;
  }
  return { uses, substituted, invalid };
}

type Remark = (context: RemarkContext) => string | null;

const FILTER_ACTIONS: ReadonlySet<string> = new Set(['SUBSCRIBE', 'UNSUBSCRIBE']);
const MAX_IDS = 20;
const isUnusable = (value: string | null): boolean => value !== null && (value === '' || /[/+#]/.test(value));

const REMARKS: readonly Remark[] = [
  ({ result: { reason }, query: { username } }) =>
    reason === 'UNKNOWN_USER' && username !== null
      ? `The account "${username}" does not exist. Check the spelling; user names are case-sensitive.`
      : null,
  ({ query: { action, topic }, dialect }) => {
    const problem = closingProblem(action, topic, dialect);
    if (problem !== null) return `The broker closes the connection for "${topic}": ${problem}.`;
    const isClosedByNewer = closingProblem(action, topic, { ...dialect, sharedFilters: 'PLAIN_NAME' }) !== null;
    return dialect.isSoleAuthority || !isClosedByNewer
      ? null
      : `Mosquitto 2.1 closes the connection for "${topic}", and so does Mosquitto 2.0.20 or newer if no filter follows the share name.`;
  },
  ({ result: { reason }, query: { action, topic } }) => {
    if (reason !== 'BROKER' || FILTER_ACTIONS.has(action)) return null;
    return topic.startsWith('$SYS')
      ? 'The broker does not accept messages from clients on $SYS topics, except the state of a bridge.'
      : 'Topics that begin with $share can be subscribed to only; messages cannot have them.';
  },
  ({ result: { reason } }) =>
    reason === 'CONTROL_TOPIC'
      ? 'The default access never allows topics that start with $CONTROL; this access requires a rule.'
      : null,
  ({ query: { username }, policy: { anonymousGroup }, dialect }) => {
    if (username !== null || anonymousGroup !== null) return null;
    return dialect.isSoleAuthority
      ? 'The broker has no anonymous group, so clients cannot connect without a user name.'
      : 'The broker has no anonymous group, so only the default access decides.';
  },
  ({ result, oppositeIds }) => {
    if (!result.conditional) return null;
    const ids = oppositeIds.slice(0, MAX_IDS).map(quoted).join(', ');
    const more = oppositeIds.length > MAX_IDS ? ` and ${oppositeIds.length - MAX_IDS} more` : '';
    return `The query has no client id. With client id ${ids}${more} the access is ${result.allowed ? 'denied' : 'allowed'}.`;
  },
  ({ dialect, unusual: { substituted } }) => {
    return substituted !== null && !dialect.substitution
      ? `Mosquitto before 2.1 does not replace %c and %u, so ${nameOf(substituted)} matches for no client id or user name.`
      : null;
  },
  ({ dialect, unusual: { uses }, identity: { clientId, username } }) => {
    if (!dialect.substitution) return null;
    const value =
      isUnusable(clientId) && uses.clientId ? clientId : isUnusable(username) && uses.username ? username : null;
    return value === null
      ? null
      : `Rules with %c or %u never match for "${value}", because it is empty or contains /, + or #.`;
  },
  ({ query: { action, topic }, dialect, result: { decidedBy } }) => {
    if (dialect.wildcardsExcludeDollar || !FILTER_ACTIONS.has(action) || !topic.startsWith('$')) return null;
    const rule = decidedBy?.rule;
    return rule && /^[+#]/.test(rule.topic) && rule.topic !== topic
      ? `Before Mosquitto 2.1 wildcards match $SYS, $CONTROL and $share, too, so ${nameOf(rule)} decides on "${topic}".`
      : null;
  },
  ({ query: { action, topic }, dialect, result: { decidedBy } }) => {
    if (dialect.wildcardsExcludeDollar || !FILTER_ACTIONS.has(action) || topic.startsWith('$')) return null;
    const rule = decidedBy?.rule;
    return rule && rule.topic !== topic && !filterCovers(rule.topic, topic)
      ? `Mosquitto before 2.1 removes a final # before it compares filters, so ${nameOf(rule)} decides on the wider filter "${topic}".`
      : null;
  },
  ({ query: { action, topic } }) =>
    FILTER_ACTIONS.has(action) && topic.startsWith('$share/')
      ? 'A shared subscription is compared by its full name. A rule for its topics alone does not match; a rule that begins with $share/+/ does.'
      : null,
  ({ result: { decidedBy }, unusual: { invalid } }) => {
    if (decidedBy?.verdict === 'INVALID_DENIED' && decidedBy.rule !== null)
      return `${invalidFilter(decidedBy.rule)} Mosquitto 2.1 denies what it compares with such a rule: remove it.`;
    return invalid && invalidFilter(invalid);
  },
  ({ sources, policy }) => {
    const missing = sources.map(({ rolename }) => rolename).filter((name) => !policy.roles.has(name));
    return missing.length > 0
      ? `Missing roles that the client or its groups still hold: ${missing.map(quoted).join(', ')}.`
      : null;
  },
];

const invalidFilter = (rule: AclRule): string =>
  `The filter of the rule for ${ruleWords(rule)} is not a valid topic filter (${filterProblem(rule.topic)}).`;

const quoted = (name: string): string => `"${name}"`;
const nameOf = (rule: AclRule): string => `the rule for ${ruleWords(rule)}`;
