import { builder, onBroker } from '../../../gateway/graphql/builder.ts';
import { EXPLANATION_COST, pageCost, WHOLE_POLICY_COST } from '../../../gateway/graphql/page-cost.ts';
import { totalCount } from '../../../gateway/graphql/total-count.ts';
import { invalid } from '../../../platform/errors.ts';
import { pageOf } from '../../../platform/paging.ts';
import { DEFAULT_MEMBERSHIP_PRIORITY } from '../../../protocol/apis/access-control/access-model.ts';
import { HeldRoleInput } from './access-change-inputs.ts';
import { AccessAction, AccessExplanation, GranteeType } from './access-explanation-schema.ts';
import { BROKER_ID, OFFSET } from './access-objects-schema.ts';

const ACTION = 'The operation of the client.';

builder.queryFields((t) => ({
  explainAccess: t.field({
    description:
      'Whether a client may do something on a broker, and which rule decides. `withRoles` and `withoutRoles` evaluate hypothetical roles.',
    type: AccessExplanation,
    ...onBroker('VIEWER'),
    complexity: EXPLANATION_COST,
    args: {
      brokerId: t.arg.id(BROKER_ID),
      username: t.arg.string({ description: 'An account of the broker. Either this or `anonymous`.' }),
      anonymous: t.arg.boolean({ defaultValue: false, description: 'Whether the client has no user name.' }),
      clientId: t.arg.string({ description: 'Required to evaluate rules with %c.' }),
      action: t.arg({ description: ACTION, type: AccessAction, required: true }),
      topic: t.arg.string({
        required: true,
        description: 'A topic name; a topic filter with SUBSCRIBE and UNSUBSCRIBE.',
      }),
      withRoles: t.arg({
        type: [HeldRoleInput],
        description: 'Evaluates as if the account held these roles, too, at most 1,000. Default priority: -1.',
      }),
      withoutRoles: t.arg.stringList({
        description: 'Evaluates as if the account held none of these roles, at most 1,000, directly or through groups.',
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
        withRoles: (withRoles ?? []).map(({ roleName, priority }) => ({
          name: roleName,
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
        brokerId: t.arg.id(BROKER_ID),
        action: t.arg({ description: ACTION, type: AccessAction, required: true }),
        topic: t.arg.string({
          required: true,
          description: 'A topic name; a topic filter with SUBSCRIBE and UNSUBSCRIBE.',
        }),
        offset: t.arg.int(OFFSET),
      },
      resolve: (_root, { brokerId, action, topic, ...page }, { services, viewer }) =>
        services.accessControl.whoCan(services.brokers.visible(brokerId, viewer), action, topic, page),
    },
    {
      name: 'GranteeConnection',
      description: pageOf('clients that are allowed'),
      fields: (page) => totalCount(page),
    },
    { name: 'GranteeEdge', description: 'A client that is allowed, and its cursor.' },
  ),
}));
