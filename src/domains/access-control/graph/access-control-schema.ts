import { builder } from '../../../gateway/graphql/builder.ts';
import { BROKER_QUERY_COST, pageCost } from '../../../gateway/graphql/page-cost.ts';
import { knownTimeField } from '../../../gateway/graphql/time-field.ts';
import { totalCount } from '../../../gateway/graphql/total-count.ts';
import { withBroker } from '../../../gateway/graphql/type-scopes.ts';
import { pageOf } from '../../../platform/paging.ts';
import { Broker } from '../../brokers/broker-schema.ts';
import { ConnectedClient } from '../../clients/graph/client-schema.ts';
import { AccessGroupFilter, AccessRoleFilter, AccountFilter, AccountOrder } from './access-filter-schema.ts';
import { AccessGroup, AccessRole, Account, OFFSET } from './access-objects-schema.ts';
import { DefaultAcl } from './access-rules-schema.ts';
import type { AccessView } from './access-view.ts';

const OF_ALL_NODES = 'Of a cluster: whether all its nodes do.';

export const AccessControlSummary = builder.objectRef<AccessView>('AccessControl').implement({
  ...withBroker,
  description: 'Size and age of the access control of a broker, and the features that the broker supports.',
  fields: (t) => ({
    asOf: knownTimeField(t, 'Time at which this state was last confirmed.', ({ snapshot }) => snapshot.asOf),
    changeIndex: t.field({
      type: 'SafeInt',
      description:
        'Number that grows with each change. null: the broker does not count changes (Mosquitto before 2.1).',
      nullable: true,
      resolve: ({ snapshot }) => snapshot.changeIndex,
    }),
    isSettled: t.boolean({
      description: 'Whether this state is consistent. false: it changed during each read.',
      resolve: ({ snapshot }) => snapshot.isSettled,
    }),
    unreadable: t.int({
      description: 'Number of entries that are missing because the response of the broker could not be parsed.',
      resolve: ({ snapshot }) => snapshot.unreadable,
    }),
    accountCount: t.int({ description: 'Number of all accounts.', resolve: ({ policy }) => policy.clients.size }),
    groupCount: t.int({ description: 'Number of all groups.', resolve: ({ policy }) => policy.groups.size }),
    roleCount: t.int({ description: 'Number of all roles.', resolve: ({ policy }) => policy.roles.size }),
    brokerVersion: t.string({
      description: 'Value of $SYS/broker/version. null: unknown.',
      nullable: true,
      resolve: ({ snapshot }) => snapshot.brokerVersion,
    }),
    knowsSubstitution: t.boolean({
      description: `Whether the broker replaces %c and %u in rules with client id and user name. ${OF_ALL_NODES}`,
      resolve: async ({ broker, snapshot }, _args, { services }) =>
        (await services.accessControl.sharedDialect(broker, snapshot.dialect)).substitution,
    }),
    knowsWildcardFlag: t.boolean({
      description: `Whether roles can deny subscriptions with wildcards. ${OF_ALL_NODES}`,
      resolve: async ({ broker, snapshot }, _args, { services }) =>
        (await services.accessControl.sharedDialect(broker, snapshot.dialect)).wildcardFlag,
    }),
    knowsChangeIndex: t.boolean({
      description: 'Whether changes of other clients are noticed immediately. false: after a few seconds.',
      resolve: ({ snapshot }) => snapshot.dialect.changeIndex,
    }),
  }),
});

const FILTERED = 'Number of entries in the filtered list.';

builder.interfaceFields(Broker, (t) => ({
  accessControl: t.field({
    description: 'The state of the access control as a whole.',
    type: AccessControlSummary,
    nullable: true,
    complexity: BROKER_QUERY_COST,
    resolve: (broker, _args, { services }) => services.accessControl.view(broker),
  }),
  accounts: t.connection(
    {
      description: 'The accounts of the broker.',
      type: Account,
      nullable: true,
      complexity: pageCost,
      args: {
        filter: t.arg({ description: 'Returns only matching accounts.', type: AccountFilter }),
        orderBy: t.arg({ description: 'Default: by user name, ascending.', type: AccountOrder }),
        offset: t.arg.int(OFFSET),
      },
      resolve: async (broker, args, { services }) => (await services.accessControl.view(broker)).accounts(args),
    },
    {
      name: 'AccountConnection',
      description: pageOf('accounts'),
      fields: (page) => totalCount(page, FILTERED),
    },
    { name: 'AccountEdge', description: 'An account and its cursor.' },
  ),
  accessGroups: t.connection(
    {
      description: 'The groups of the broker, sorted by name.',
      type: AccessGroup,
      nullable: true,
      complexity: pageCost,
      args: {
        filter: t.arg({ description: 'Returns only matching groups.', type: AccessGroupFilter }),
        offset: t.arg.int(OFFSET),
      },
      resolve: async (broker, args, { services }) => (await services.accessControl.view(broker)).groups(args),
    },
    { name: 'AccessGroupConnection', description: pageOf('groups'), fields: (page) => totalCount(page, FILTERED) },
    { name: 'AccessGroupEdge', description: 'A group and its cursor.' },
  ),
  accessRoles: t.connection(
    {
      description: 'The roles of the broker, sorted by name.',
      type: AccessRole,
      nullable: true,
      complexity: pageCost,
      args: {
        filter: t.arg({ description: 'Returns only matching roles.', type: AccessRoleFilter }),
        offset: t.arg.int(OFFSET),
      },
      resolve: async (broker, args, { services }) => (await services.accessControl.view(broker)).roles(args),
    },
    { name: 'AccessRoleConnection', description: pageOf('roles'), fields: (page) => totalCount(page, FILTERED) },
    { name: 'AccessRoleEdge', description: 'A role and its cursor.' },
  ),
  account: t.field({
    description: 'The account with this user name; `null` if it does not exist.',
    type: Account,
    nullable: true,
    args: { username: t.arg.string({ description: 'The exact user name.', required: true }) },
    resolve: async (broker, { username }, { services }) =>
      (await services.accessControl.view(broker)).account(username),
  }),
  accessGroup: t.field({
    description: 'The group with this name; `null` if it does not exist.',
    type: AccessGroup,
    nullable: true,
    args: { groupName: t.arg.string({ description: 'The exact name of the group.', required: true }) },
    resolve: async (broker, { groupName }, { services }) =>
      (await services.accessControl.view(broker)).group(groupName),
  }),
  accessRole: t.field({
    description: 'The role with this name; `null` if it does not exist.',
    type: AccessRole,
    nullable: true,
    args: { roleName: t.arg.string({ description: 'The exact name of the role.', required: true }) },
    resolve: async (broker, { roleName }, { services }) => (await services.accessControl.view(broker)).role(roleName),
  }),
  defaultAcl: t.field({
    description: 'The decisions on access that no rule matches.',
    type: DefaultAcl,
    nullable: true,
    resolve: (broker, _args, { services }) => services.accessControl.view(broker),
  }),
  anonymousGroup: t.field({
    description: 'The group of connections without a user name. null: the broker has none.',
    type: AccessGroup,
    nullable: true,
    resolve: async (broker, _args, { services }) => {
      const view = await services.accessControl.view(broker);
      const { anonymousGroup } = view.policy;
      return anonymousGroup === null ? null : view.group(anonymousGroup);
    },
  }),
}));

builder.objectField(ConnectedClient, 'account', (t) =>
  t.field({
    description: 'The account of the client. null: the client has no user name, or the account does not exist.',
    type: Account,
    nullable: true,
    resolve: async ({ broker, known }, _args, { services }) =>
      (await services.accessControl.view(broker)).accountOf(known.username),
  }),
);
