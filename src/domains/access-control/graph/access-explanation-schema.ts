import { builder } from '../../../gateway/graphql/builder.ts';
import { errorField } from '../../../gateway/graphql/change-error.ts';
import { describedEnum } from '../../../gateway/graphql/described-enum.ts';
import { knownTimeField } from '../../../gateway/graphql/time-field.ts';
import { walk } from '../../../gateway/graphql/walk-limit.ts';
import type { Explanation, Grantee, LookedAtRule } from '../../../protocol/apis/access-control/access-explanation.ts';
import type { ClusterExplanation, NodeDecision } from '../explain/node-decisions.ts';
import { AccessGroup, AccessRole, Account } from './access-objects-schema.ts';
import { AclRule, DefaultAclType } from './access-rules-schema.ts';
import { type Viewed, withView } from './access-view.ts';

export const AccessAction = describedEnum(
  'AccessAction',
  'An operation of MQTT that access control allows or denies.',
  {
    PUBLISH: 'The client publishes to a topic.',
    RECEIVE: 'The client receives a message on a topic.',
    SUBSCRIBE: 'The client subscribes to a topic filter.',
    UNSUBSCRIBE: 'The client unsubscribes from a topic filter.',
  },
);

const RuleVerdict = describedEnum('RuleVerdict', 'The result of the evaluation of a rule.', {
  MATCHED: 'The rule matched and decided.',
  NOT_MATCHED: 'The rule did not match.',
  UNDECIDABLE: 'The rule has %c or %u, and the query does not have the value.',
  WILDCARD_DENIED: 'The role denies subscriptions with wildcards; there is no rule.',
  INVALID_DENIED:
    'The rule is not a valid topic filter. Mosquitto 2.1 denies what it compares with it, even if the rule allows.',
});

export const DecisionReason = describedEnum('AccessDecisionReason', 'The part of the access control that decided.', {
  BROKER: 'The broker refuses before it evaluates rules, or closes the connection for an invalid shared subscription.',
  RULE: 'A rule decided, or a role that denies wildcards.',
  DEFAULT: 'No rule matched, so the default ACL decided.',
  CONTROL_TOPIC: 'No rule matched, and the default ACL never allows $CONTROL topics.',
  UNKNOWN_USER: 'The account does not exist, or the client has no user name and the broker has no anonymous group.',
  DISABLED: 'The account cannot connect.',
  CLIENT_ID: 'The account cannot connect with this client id.',
});

export const LookedAtType = builder.objectRef<Viewed<LookedAtRule>>('LookedAtRule').implement({
  ...withView,
  description: 'A rule that the broker evaluates.',
  fields: (t) => ({
    roleName: t.exposeString('rolename', { description: 'The name of the role that has the rule.' }),
    role: t.field({
      description: 'The role that has the rule; `null` if it does not exist.',
      type: AccessRole,
      nullable: true,
      resolve: ({ view, rolename }) => view.role(rolename),
    }),
    groupName: t.exposeString('group', {
      description: 'The group through which the client holds the role. null: the client holds it directly.',
      nullable: true,
    }),
    group: t.field({
      description: 'The group of `groupName`; `null` if the client holds the role directly.',
      type: AccessGroup,
      nullable: true,
      resolve: ({ view, group }) => (group === null ? null : view.group(group)),
    }),
    priority: t.exposeInt('priority', { description: 'Priority of the role in its holder.' }),
    rule: t.expose('rule', {
      description: 'null: the role denies subscriptions with wildcards.',
      type: AclRule,
      nullable: true,
    }),
    verdict: t.expose('verdict', { description: 'Whether the rule matched.', type: RuleVerdict }),
  }),
});

const NodeDecisionType = builder.objectRef<NodeDecision>('AccessNodeDecision').implement({
  description: 'The decision of one node of a cluster.',
  fields: (t) => ({
    nodeId: t.exposeInt('nodeId', { description: 'Number of the node.' }),
    brokerId: t.exposeID('brokerId', { description: 'The broker of the node.' }),
    allowed: t.exposeBoolean('allowed', {
      description: 'Whether the node allows the access. null: its access control cannot be read, see `error`.',
      nullable: true,
    }),
    reason: t.expose('reason', {
      description: 'Why the access is allowed or denied. null: unknown.',
      type: DecisionReason,
      nullable: true,
    }),
    error: errorField(t, 'Why the decision is not known; otherwise `null`.'),
  }),
});

const decidedByOf = ({ view, decidedBy }: Viewed<Pick<Explanation, 'decidedBy'>>) =>
  decidedBy && { ...decidedBy, view };

export const AccessExplanation = builder.objectRef<Viewed<ClusterExplanation>>('AccessExplanation').implement({
  ...withView,
  description: 'The decision of the broker, and why.',
  fields: (t) => ({
    allowed: t.exposeBoolean('allowed', {
      description:
        'Whether a client that is connected with this account is allowed. Whether it can connect is not checked: brokers do not report which accounts have a password.',
    }),
    reason: t.expose('reason', { description: 'Why the access is allowed or denied.', type: DecisionReason }),
    decidedBy: t.field({
      description: 'The first matching rule, or the role that denies wildcards; `null` if no rule matched.',
      type: LookedAtType,
      nullable: true,
      resolve: decidedByOf,
    }),
    defaultAclType: t.expose('defaultAclType', {
      description: 'The default that decides on this action if no rule matches.',
      type: DefaultAclType,
    }),
    defaultAllows: t.exposeBoolean('defaultAllows', {
      description: 'Whether the default ACL allows this kind of access.',
    }),
    conditional: t.exposeBoolean('conditional', {
      description: 'Whether the decision is the opposite for some client ids, which the remarks name.',
    }),
    lookedAt: t.field({
      description: 'The evaluated rules in order, up to the deciding one. At most 1,000.',
      type: [LookedAtType],
      resolve: ({ view, lookedAt }, _args, context) => walk(context, lookedAt).map((rule) => ({ ...rule, view })),
    }),
    lookedAtTotal: t.exposeInt('lookedAtTotal', { description: 'Number of all evaluated rules.' }),
    elsewhere: t.exposeString('elsewhere', {
      description:
        'Why another plugin, a password file or a certificate may decide otherwise. Names the other plugins if the broker lists them. null: no reason is known.',
      nullable: true,
    }),
    remarks: t.stringList({
      description: 'Behaviour of the broker that may be unexpected and that affects the decision.',
      resolve: ({ remarks }) => [...remarks],
    }),
    nodes: t.field({
      description:
        'The decision of each node, by number, if this service synchronizes the nodes of a cluster. Else empty. Brokers of different versions may decide differently.',
      type: [NodeDecisionType],
      resolve: ({ nodes }) => [...nodes],
    }),
    asOf: knownTimeField(
      t,
      'Time at which the evaluated access control was last confirmed.',
      ({ view }) => view.snapshot.asOf,
    ),
  }),
});

export const GranteeType = builder.objectRef<Viewed<Grantee>>('Grantee').implement({
  ...withView,
  description: 'A client that is allowed.',
  fields: (t) => ({
    username: t.exposeString('username', { description: 'null: all connections without a user name.', nullable: true }),
    account: t.field({
      description: 'The account; `null` for connections without a user name.',
      type: Account,
      nullable: true,
      resolve: ({ view, username }) => (username === null ? null : view.account(username)),
    }),
    reason: t.expose('reason', { description: 'RULE or DEFAULT.', type: DecisionReason }),
    decidedBy: t.field({
      description: 'The rule that allows the access; `null` if the default ACL allows it.',
      type: LookedAtType,
      nullable: true,
      resolve: decidedByOf,
    }),
    conditional: t.exposeBoolean('conditional', { description: 'Whether some client ids are not allowed.' }),
  }),
});
