import { builder, onBroker } from '../../../gateway/graphql/builder.ts';
import { EXPLANATION_COST, pageCost, WHOLE_POLICY_COST } from '../../../gateway/graphql/page-cost.ts';
import { walk } from '../../../gateway/graphql/walk-limit.ts';
import { invalid } from '../../../platform/errors.ts';
import type { Explanation, Grantee, LookedAtRule } from '../explain/access-explanation.ts';
import { DEFAULT_MEMBERSHIP_PRIORITY } from '../policy/access-model.ts';
import { HeldRoleInput } from './access-change-inputs.ts';
import {
  AccessClient,
  AccessGroup,
  AccessRole,
  AclRule,
  DefaultAclType,
  OFFSET,
  totalCount,
} from './access-objects-schema.ts';
import { type Viewed, withView } from './access-view.ts';

const AccessAction = builder.enumType('AccessAction', {
  values: {
    PUBLISH: { description: 'The client publishes to a topic.' },
    RECEIVE: { description: 'The client receives a message on a topic.' },
    SUBSCRIBE: { description: 'The client subscribes to a topic filter.' },
    UNSUBSCRIBE: { description: 'The client unsubscribes from a topic filter.' },
  } as const,
});

const RuleVerdict = builder.enumType('RuleVerdict', {
  values: {
    MATCHED: { description: 'The rule matched and decided.' },
    NOT_MATCHED: { description: 'The rule did not match.' },
    UNDECIDABLE: { description: 'The rule has %c or %u, and the query does not have the value.' },
    WILDCARD_DENIED: { description: 'The role denies subscriptions with wildcards; there is no rule.' },
  } as const,
});

export const DecisionReason = builder.enumType('AccessDecisionReason', {
  values: {
    BROKER: { description: 'The broker refuses before it evaluates rules.' },
    RULE: { description: 'A rule decided, or a role that denies wildcards.' },
    DEFAULT: { description: 'No rule matched, so the default ACL decided.' },
    CONTROL_TOPIC: { description: 'No rule matched, and the default ACL never allows $CONTROL topics.' },
    UNKNOWN_USER: {
      description: 'The account does not exist, or the client has no user name and the broker has no anonymous group.',
    },
    DISABLED: { description: 'The account cannot connect.' },
    CLIENT_ID: { description: 'The account cannot connect with this client id.' },
  } as const,
});

export const LookedAtType = builder.objectRef<Viewed<LookedAtRule>>('LookedAtRule').implement({
  ...withView,
  description: 'A rule that the broker evaluates.',
  fields: (t) => ({
    rolename: t.exposeString('rolename'),
    role: t.field({ type: AccessRole, nullable: true, resolve: ({ view, rolename }) => view.role(rolename) }),
    groupname: t.exposeString('group', {
      description: 'The group through which the client holds the role. null: the client holds it directly.',
      nullable: true,
    }),
    group: t.field({
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
    verdict: t.expose('verdict', { type: RuleVerdict }),
  }),
});

const decidedByOf = ({ view, decidedBy }: Viewed<Pick<Explanation, 'decidedBy'>>) =>
  decidedBy && { ...decidedBy, view };

const AccessExplanation = builder.objectRef<Viewed<Explanation>>('AccessExplanation').implement({
  ...withView,
  description: 'The decision of the broker, and why.',
  fields: (t) => ({
    allowed: t.exposeBoolean('allowed', {
      description:
        'Whether a client that is connected with this account is allowed. Whether it can connect is not checked: brokers do not report which accounts have a password.',
    }),
    reason: t.expose('reason', { type: DecisionReason }),
    decidedBy: t.field({ type: LookedAtType, nullable: true, resolve: decidedByOf }),
    defaultAclType: t.expose('defaultAclType', { type: DefaultAclType }),
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
        'Why another plugin, a password file or a certificate may decide otherwise. null: dynamic security alone decides.',
      nullable: true,
    }),
    remarks: t.stringList({
      description: 'Behaviour of the broker that may be unexpected and that affects the decision.',
      resolve: ({ remarks }) => [...remarks],
    }),
    asOf: t.field({ type: 'DateTime', resolve: ({ view }) => new Date(view.snapshot.asOf) }),
  }),
});

const GranteeType = builder.objectRef<Viewed<Grantee>>('Grantee').implement({
  ...withView,
  description: 'A client that is allowed.',
  fields: (t) => ({
    username: t.exposeString('username', { description: 'null: all connections without a user name.', nullable: true }),
    client: t.field({
      type: AccessClient,
      nullable: true,
      resolve: ({ view, username }) => (username === null ? null : view.client(username)),
    }),
    reason: t.expose('reason', { description: 'RULE or DEFAULT.', type: DecisionReason }),
    decidedBy: t.field({ type: LookedAtType, nullable: true, resolve: decidedByOf }),
    conditional: t.exposeBoolean('conditional', { description: 'Whether some client ids are not allowed.' }),
  }),
});

builder.queryFields((t) => ({
  explainAccess: t.field({
    description:
      'Whether a client may do something on a broker, and which rule decides. `withRoles` and `withoutRoles` evaluate hypothetical roles.',
    type: AccessExplanation,
    ...onBroker('VIEWER'),
    complexity: EXPLANATION_COST,
    args: {
      brokerId: t.arg.id({ required: true }),
      username: t.arg.string({ description: 'An account of the broker. Either this or `anonymous`.' }),
      anonymous: t.arg.boolean({ defaultValue: false, description: 'Whether the client has no user name.' }),
      clientId: t.arg.string({ description: 'Required to evaluate rules with %c.' }),
      action: t.arg({ type: AccessAction, required: true }),
      topic: t.arg.string({
        required: true,
        description: 'A topic name; a topic filter with SUBSCRIBE and UNSUBSCRIBE.',
      }),
      withRoles: t.arg({
        type: [HeldRoleInput],
        description: 'Evaluates as if the account held these roles, too. Default priority: -1.',
      }),
      withoutRoles: t.arg.stringList({
        description: 'Evaluates as if the account held none of these roles, directly or through groups.',
      }),
    },
    resolve: (_root, args, { services, viewer }) => {
      const { brokerId, username = null, anonymous, clientId, action, topic, withRoles, withoutRoles } = args;
      if ((username === null) !== (anonymous ?? false)) {
        throw invalid([{ path: 'username', reason: 'exactly one of username and anonymous: true is required' }]);
      }
      return services.accessControl.explain(services.brokers.visible(brokerId, viewer), {
        username,
        clientId: clientId ?? null,
        action,
        topic,
        withRoles: (withRoles ?? []).map(({ rolename, priority }) => ({
          name: rolename,
          priority: priority ?? DEFAULT_MEMBERSHIP_PRIORITY,
        })),
        withoutRoles: withoutRoles ?? [],
      });
    },
  }),
  whoCan: t.connection(
    {
      description:
        'All clients that may do something on a broker. Connections without a user name come first, then accounts by user name.',
      type: GranteeType,
      ...onBroker('VIEWER'),
      complexity: (args) => ({ ...pageCost(args), field: WHOLE_POLICY_COST }),
      args: {
        brokerId: t.arg.id({ required: true }),
        action: t.arg({ type: AccessAction, required: true }),
        topic: t.arg.string({
          required: true,
          description: 'A topic name; a topic filter with SUBSCRIBE and UNSUBSCRIBE.',
        }),
        offset: t.arg.int(OFFSET),
      },
      resolve: (_root, { brokerId, action, topic, ...page }, { services, viewer }) =>
        services.accessControl.whoCan(services.brokers.visible(brokerId, viewer), action, topic, page),
    },
    { name: 'GranteeConnection', fields: (page) => totalCount(page) },
    { name: 'GranteeEdge' },
  ),
}));
