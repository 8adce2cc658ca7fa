import { builder, onBroker } from '../../../gateway/graphql/builder.ts';
import { EXPLANATION_COST, pageCost, WHOLE_POLICY_COST } from '../../../gateway/graphql/page-cost.ts';
import { walk } from '../../../gateway/graphql/walk-limit.ts';
import { invalid } from '../../../platform/errors.ts';
import type { Explanation, Grantee, LookedAtRule } from '../explain/access-explanation.ts';
import { DEFAULT_MEMBERSHIP_PRIORITY } from '../policy/access-model.ts';
import { HeldRoleInput } from './access-change-inputs.ts';
import { AccessClient, AccessGroup, AccessRole, AclRule, DefaultAclType } from './access-objects-schema.ts';
import type { Seen } from './access-view.ts';

const AccessAction = builder.enumType('AccessAction', {
  values: {
    PUBLISH: { description: 'The client publishes to a topic.' },
    RECEIVE: { description: 'The client is sent a message of a topic.' },
    SUBSCRIBE: { description: 'The client subscribes to a filter.' },
    UNSUBSCRIBE: { description: 'The client unsubscribes from a filter.' },
  } as const,
});

const RuleVerdict = builder.enumType('RuleVerdict', {
  values: {
    MATCHED: { description: 'It decided.' },
    NOT_MATCHED: {},
    UNDECIDABLE: { description: 'It has %c or %u, and the question does not say what stands for it.' },
    WILDCARD_DENIED: { description: 'The role forbids subscriptions with wildcards; there is no rule.' },
  } as const,
});

const DecisionReason = builder.enumType('AccessDecisionReason', {
  values: {
    BROKER: { description: 'The broker itself refuses, whatever the rules.' },
    RULE: { description: 'A rule decided, or a role that forbids wildcards.' },
    DEFAULT: { description: 'No rule matched.' },
    CONTROL_TOPIC: { description: 'No rule matched, and the default never allows topics below $CONTROL.' },
    UNKNOWN_USER: {
      description: 'There is no such account, or no anonymous group where that alone lets in without user name.',
    },
    DISABLED: { description: 'The account cannot connect.' },
    CLIENT_ID: { description: 'The account cannot connect with this client id.' },
  } as const,
});

const LookedAtType = builder.objectRef<Seen<LookedAtRule>>('LookedAtRule').implement({
  description: 'A rule that the broker looks at.',
  fields: (t) => ({
    rolename: t.string({ resolve: ({ object }) => object.rolename }),
    role: t.field({ type: AccessRole, nullable: true, resolve: ({ view, object }) => view.role(object.rolename) }),
    groupname: t.string({
      description: 'The group through which the role is held; null: the client holds it itself.',
      nullable: true,
      resolve: ({ object }) => object.group,
    }),
    group: t.field({
      type: AccessGroup,
      nullable: true,
      resolve: ({ view, object }) => (object.group === null ? null : view.group(object.group)),
    }),
    priority: t.int({ description: 'Of the role in its holder.', resolve: ({ object }) => object.priority }),
    rule: t.field({
      description: 'Null: the role forbids wildcards.',
      type: AclRule,
      nullable: true,
      resolve: ({ object }) => object.rule,
    }),
    verdict: t.field({ type: RuleVerdict, resolve: ({ object }) => object.verdict }),
  }),
});

const AccessExplanation = builder.objectRef<Seen<Explanation>>('AccessExplanation').implement({
  description: 'What the broker answers, and why.',
  fields: (t) => ({
    allowed: t.boolean({
      description:
        'Of a client that is connected as this account; whether somebody can connect as it is not asked: brokers do not tell which accounts have a password.',
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
      description: 'What the default says of this kind of access.',
      resolve: ({ object }) => object.defaultAllows,
    }),
    conditional: t.boolean({
      description: 'With another client id the answer is the opposite; the remarks say more.',
      resolve: ({ object }) => object.conditional,
    }),
    lookedAt: t.field({
      description: 'In the order in which the broker looks, up to the one that decided; the first 1000.',
      type: [LookedAtType],
      resolve: ({ view, object }, _args, context) =>
        walk(context, object.lookedAt).map((rule) => ({ view, object: rule })),
    }),
    lookedAtTotal: t.int({
      description: 'How many were looked at.',
      resolve: ({ object }) => object.lookedAtTotal,
    }),
    elsewhere: t.string({
      description:
        'Why another plugin, a password file or a certificate may decide otherwise; for people. Null: nobody else decides.',
      nullable: true,
      resolve: ({ object }) => object.elsewhere,
    }),
    remarks: t.stringList({
      description: 'What the broker gets wrong or leaves out that matters here; for people.',
      resolve: ({ object }) => [...object.remarks],
    }),
    asOf: t.field({ type: 'DateTime', resolve: ({ view }) => new Date(view.snapshot.asOf) }),
  }),
});

const GranteeType = builder.objectRef<Seen<Grantee>>('Grantee').implement({
  description: 'Somebody who is allowed.',
  fields: (t) => ({
    username: t.string({
      description: 'Null: everybody who connects without user name.',
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
      description: 'Not with every client id.',
      resolve: ({ object }) => object.conditional,
    }),
  }),
});

builder.queryFields((t) => ({
  explainAccess: t.field({
    description:
      'Whether a client may do something on a broker, and which rule decides. `withRoles` and `withoutRoles` ask what would be if.',
    type: AccessExplanation,
    ...onBroker('VIEWER'),
    complexity: EXPLANATION_COST,
    args: {
      brokerId: t.arg.id({ required: true }),
      username: t.arg.string({ description: 'An account of the broker. Either this or `anonymous`.' }),
      anonymous: t.arg.boolean({ defaultValue: false, description: 'Somebody who connects without user name.' }),
      clientId: t.arg.string({ description: 'Without it rules with %c cannot be decided.' }),
      action: t.arg({ type: AccessAction, required: true }),
      topic: t.arg.string({
        required: true,
        description: 'A topic; with SUBSCRIBE and UNSUBSCRIBE a filter.',
      }),
      withRoles: t.arg({ type: [HeldRoleInput], description: 'If it held these too; without a priority: -1.' }),
      withoutRoles: t.arg.stringList({ description: 'If it held none of these, itself or through groups.' }),
    },
    resolve: (_root, args, { services, viewer }) => {
      const { brokerId, username = null, anonymous, clientId, action, topic, withRoles, withoutRoles } = args;
      if ((username === null) !== (anonymous ?? false)) {
        throw invalid([{ path: 'username', reason: 'is needed, or anonymous: true, and not both' }]);
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
      description: 'Everybody who may do something on a broker: without user name first, then by user name.',
      type: GranteeType,
      ...onBroker('VIEWER'),
      complexity: (args) => ({ ...pageCost(args), field: WHOLE_POLICY_COST }),
      args: {
        brokerId: t.arg.id({ required: true }),
        action: t.arg({ type: AccessAction, required: true }),
        topic: t.arg.string({
          required: true,
          description: 'A topic; with SUBSCRIBE and UNSUBSCRIBE a filter.',
        }),
        offset: t.arg.int({ description: 'Entries left out at the start.' }),
      },
      resolve: (_root, { brokerId, action, topic, ...page }, { services, viewer }) =>
        services.accessControl.whoCan(services.brokers.visible(brokerId, viewer), action, topic, page),
    },
    {
      name: 'GranteeConnection',
      fields: (connection) => ({ totalCount: connection.exposeInt('totalCount') }),
    },
    { name: 'GranteeEdge' },
  ),
}));
