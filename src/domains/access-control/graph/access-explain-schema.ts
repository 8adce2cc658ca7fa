import { builder, onBroker } from '../../../gateway/graphql/builder.ts';
import { EXPLANATION_COST, pageCost, WHOLE_POLICY_COST } from '../../../gateway/graphql/page-cost.ts';
import { walk } from '../../../gateway/graphql/walk-limit.ts';
import { invalid } from '../../../platform/errors.ts';
import type { Explanation, Grantee, LookedAtRule } from '../explain/access-explanation.ts';
import { DEFAULT_MEMBERSHIP_PRIORITY } from '../policy/access-model.ts';
import { HeldRoleInput } from './access-change-inputs.ts';
import { AccessClient, AccessGroup, AccessRole, AclRule, DefaultAclType } from './access-objects-schema.ts';
import type { WithView } from './access-view.ts';

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

const DecisionReason = builder.enumType('AccessDecisionReason', {
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

const LookedAtType = builder.objectRef<WithView<LookedAtRule>>('LookedAtRule').implement({
  description: 'A rule that the broker evaluates.',
  fields: (t) => ({
    rolename: t.string({ resolve: ({ object }) => object.rolename }),
    role: t.field({ type: AccessRole, nullable: true, resolve: ({ view, object }) => view.role(object.rolename) }),
    groupname: t.string({
      description: 'The group through which the client holds the role. null: the client holds it directly.',
      nullable: true,
      resolve: ({ object }) => object.group,
    }),
    group: t.field({
      type: AccessGroup,
      nullable: true,
      resolve: ({ view, object }) => (object.group === null ? null : view.group(object.group)),
    }),
    priority: t.int({ description: 'Priority of the role in its holder.', resolve: ({ object }) => object.priority }),
    rule: t.field({
      description: 'null: the role denies subscriptions with wildcards.',
      type: AclRule,
      nullable: true,
      resolve: ({ object }) => object.rule,
    }),
    verdict: t.field({ type: RuleVerdict, resolve: ({ object }) => object.verdict }),
  }),
});

const AccessExplanation = builder.objectRef<WithView<Explanation>>('AccessExplanation').implement({
  description: 'The decision of the broker, and why.',
  fields: (t) => ({
    allowed: t.boolean({
      description:
        'Whether a client that is connected with this account is allowed. Whether it can connect is not checked: brokers do not report which accounts have a password.',
      resolve: ({ object }) => object.allowed,
    }),
    reason: t.field({ type: DecisionReason, resolve: ({ object }) => object.reason }),
    decidedBy: t.field({
      type: LookedAtType,
      nullable: true,
      resolve: ({ view, object }) => object.decidedBy && { view, object: object.decidedBy },
    }),
    defaultAclType: t.field({ type: DefaultAclType, resolve: ({ object }) => object.defaultAclType }),
    defaultAllows: t.boolean({
      description: 'Whether the default ACL allows this kind of access.',
      resolve: ({ object }) => object.defaultAllows,
    }),
    conditional: t.boolean({
      description: 'Whether the decision is the opposite for some client ids, which the remarks name.',
      resolve: ({ object }) => object.conditional,
    }),
    lookedAt: t.field({
      description: 'The evaluated rules in order, up to the deciding one. At most 1,000.',
      type: [LookedAtType],
      resolve: ({ view, object }, _args, context) =>
        walk(context, object.lookedAt).map((rule) => ({ view, object: rule })),
    }),
    lookedAtTotal: t.int({
      description: 'Number of all evaluated rules.',
      resolve: ({ object }) => object.lookedAtTotal,
    }),
    elsewhere: t.string({
      description:
        'Why another plugin, a password file or a certificate may decide otherwise. null: dynamic security alone decides.',
      nullable: true,
      resolve: ({ object }) => object.elsewhere,
    }),
    remarks: t.stringList({
      description: 'Behaviour of the broker that may be unexpected and that affects the decision.',
      resolve: ({ object }) => [...object.remarks],
    }),
    asOf: t.field({ type: 'DateTime', resolve: ({ view }) => new Date(view.snapshot.asOf) }),
  }),
});

const GranteeType = builder.objectRef<WithView<Grantee>>('Grantee').implement({
  description: 'A client that is allowed.',
  fields: (t) => ({
    username: t.string({
      description: 'null: all connections without a user name.',
      nullable: true,
      resolve: ({ object }) => object.username,
    }),
    client: t.field({
      type: AccessClient,
      nullable: true,
      resolve: ({ view, object }) => (object.username === null ? null : view.client(object.username)),
    }),
    reason: t.field({
      description: 'RULE or DEFAULT.',
      type: DecisionReason,
      resolve: ({ object }) => object.reason,
    }),
    decidedBy: t.field({
      type: LookedAtType,
      nullable: true,
      resolve: ({ view, object }) => object.decidedBy && { view, object: object.decidedBy },
    }),
    conditional: t.boolean({
      description: 'Whether some client ids are not allowed.',
      resolve: ({ object }) => object.conditional,
    }),
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
        offset: t.arg.int({ description: 'Number of entries to skip.' }),
      },
      resolve: (_root, { brokerId, action, topic, ...page }, { services, viewer }) =>
        services.accessControl.whoCan(services.brokers.visible(brokerId, viewer), action, topic, page),
    },
    { name: 'GranteeConnection', fields: (grantees) => ({ totalCount: grantees.exposeInt('totalCount') }) },
    { name: 'GranteeEdge' },
  ),
}));
