import { builder } from '../../../gateway/graphql/builder.ts';
import { BROKER_QUERY_COST, pageCost } from '../../../gateway/graphql/page-cost.ts';
import { Broker } from '../../brokers/broker-schema.ts';
import { FilterMode } from '../../clients/graph/client-lists-schema.ts';
import { ConnectedClient } from '../../clients/graph/client-schema.ts';
import { AccessClient, AccessGroup, AccessRole, DefaultAcl } from './access-objects-schema.ts';
import type { AccessView } from './access-view.ts';

const AccessControlSummary = builder.objectRef<AccessView>('AccessControl').implement({
  description: 'How much there is, how old that is, and what the broker knows.',
  fields: (t) => ({
    asOf: t.field({
      description: 'When it was last known to be so.',
      type: 'DateTime',
      resolve: ({ snapshot }) => new Date(snapshot.asOf),
    }),
    changeIndex: t.float({
      description: 'Grows with each change. Null: the broker does not count them (Mosquitto before 2.1).',
      nullable: true,
      resolve: ({ snapshot }) => snapshot.changeIndex,
    }),
    isSettled: t.boolean({
      description: 'False: it changed whenever it was read, so parts of it may be of different moments.',
      resolve: ({ snapshot }) => snapshot.isSettled,
    }),
    unreadable: t.int({
      description: 'Entries missing here because the broker tells them in a way that nobody can read.',
      resolve: ({ snapshot }) => snapshot.unreadable,
    }),
    clientCount: t.int({ resolve: ({ policy }) => policy.clients.size }),
    groupCount: t.int({ resolve: ({ policy }) => policy.groups.size }),
    roleCount: t.int({ resolve: ({ policy }) => policy.roles.size }),
    brokerVersion: t.string({
      description: 'As the broker tells it. Null: it does not.',
      nullable: true,
      resolve: ({ snapshot }) => snapshot.brokerVersion,
    }),
    knowsSubstitution: t.boolean({
      description: '%c and %u in topics of rules stand for client id and user name; else they are taken literally.',
      resolve: ({ snapshot }) => snapshot.dialect.substitution,
    }),
    knowsWildcardFlag: t.boolean({
      description: 'Roles may forbid subscriptions with wildcards.',
      resolve: ({ snapshot }) => snapshot.dialect.wildcardFlag,
    }),
    knowsChangeIndex: t.boolean({
      description: 'Changes by others are noticed at once; else after a few seconds.',
      resolve: ({ snapshot }) => snapshot.dialect.changeIndex,
    }),
  }),
});

const ClientFilterTarget = builder.enumType('AccessClientFilterTarget', {
  values: {
    USERNAME: { value: 'username' },
    CLIENT_ID: { value: 'clientid' },
    TEXT_NAME: { value: 'textname' },
    TEXT_DESCRIPTION: { value: 'textdescription' },
    ROLENAME: { value: 'rolename', description: 'A role that it holds itself.' },
    GROUPNAME: { value: 'groupname', description: 'A group that it is in.' },
  } as const,
});
const GroupFilterTarget = builder.enumType('AccessGroupFilterTarget', {
  values: {
    GROUPNAME: { value: 'groupname' },
    TEXT_NAME: { value: 'textname' },
    TEXT_DESCRIPTION: { value: 'textdescription' },
    ROLENAME: { value: 'rolename', description: 'A role that it holds.' },
    USERNAME: { value: 'username', description: 'A client that is in it.' },
  } as const,
});
const RoleFilterTarget = builder.enumType('AccessRoleFilterTarget', {
  values: {
    ROLENAME: { value: 'rolename' },
    TEXT_NAME: { value: 'textname' },
    TEXT_DESCRIPTION: { value: 'textdescription' },
    TOPIC: { value: 'topic', description: 'The topic of one of its rules.' },
  } as const,
});

const FILTER = 'Compared with one text of each entry, case and all.';
const AccessClientFilter = builder.inputType('AccessClientFilter', {
  description: FILTER,
  fields: (t) => ({
    value: t.string({ required: true }),
    mode: t.field({ type: FilterMode, defaultValue: 'contains' }),
    target: t.field({ type: ClientFilterTarget, defaultValue: 'username' }),
  }),
});
const AccessGroupFilter = builder.inputType('AccessGroupFilter', {
  description: FILTER,
  fields: (t) => ({
    value: t.string({ required: true }),
    mode: t.field({ type: FilterMode, defaultValue: 'contains' }),
    target: t.field({ type: GroupFilterTarget, defaultValue: 'groupname' }),
  }),
});
const AccessRoleFilter = builder.inputType('AccessRoleFilter', {
  description: FILTER,
  fields: (t) => ({
    value: t.string({ required: true }),
    mode: t.field({ type: FilterMode, defaultValue: 'contains' }),
    target: t.field({ type: RoleFilterTarget, defaultValue: 'rolename' }),
  }),
});

const offset = { description: 'Entries left out at the start.' };
const total = { description: 'Of the whole filtered list.' };

builder.interfaceFields(Broker, (t) => ({
  accessControl: t.field({
    type: AccessControlSummary,
    nullable: true,
    complexity: BROKER_QUERY_COST,
    resolve: (broker, _args, { services }) => services.accessControl.view(broker),
  }),
  accessClients: t.connection(
    {
      description: 'The accounts of the broker, by user name.',
      type: AccessClient,
      nullable: true,
      complexity: pageCost,
      args: {
        username: t.arg.string({
          description: 'Only this account; NOT_FOUND when there is none. The other arguments do not matter then.',
        }),
        filter: t.arg({ type: AccessClientFilter }),
        offset: t.arg.int(offset),
      },
      resolve: (broker, { username, ...args }, { services }) =>
        username == null
          ? services.accessControl.clients(broker, args)
          : services.accessControl.onlyClient(broker, username),
    },
    {
      name: 'AccessClientConnection',
      fields: (connection) => ({ totalCount: connection.exposeInt('totalCount', total) }),
    },
    { name: 'AccessClientEdge' },
  ),
  accessGroups: t.connection(
    {
      description: 'By name.',
      type: AccessGroup,
      nullable: true,
      complexity: pageCost,
      args: { filter: t.arg({ type: AccessGroupFilter }), offset: t.arg.int(offset) },
      resolve: (broker, args, { services }) => services.accessControl.groups(broker, args),
    },
    {
      name: 'AccessGroupConnection',
      fields: (connection) => ({ totalCount: connection.exposeInt('totalCount', total) }),
    },
    { name: 'AccessGroupEdge' },
  ),
  accessRoles: t.connection(
    {
      description: 'By name.',
      type: AccessRole,
      nullable: true,
      complexity: pageCost,
      args: { filter: t.arg({ type: AccessRoleFilter }), offset: t.arg.int(offset) },
      resolve: (broker, args, { services }) => services.accessControl.roles(broker, args),
    },
    {
      name: 'AccessRoleConnection',
      fields: (connection) => ({ totalCount: connection.exposeInt('totalCount', total) }),
    },
    { name: 'AccessRoleEdge' },
  ),
  accessClient: t.field({
    description: 'Null when the broker has no such account.',
    type: AccessClient,
    nullable: true,
    args: { username: t.arg.string({ required: true }) },
    resolve: async (broker, { username }, { services }) => (await services.accessControl.view(broker)).client(username),
  }),
  accessGroup: t.field({
    description: 'Null when the broker has no such group.',
    type: AccessGroup,
    nullable: true,
    args: { groupname: t.arg.string({ required: true }) },
    resolve: async (broker, { groupname }, { services }) =>
      (await services.accessControl.view(broker)).group(groupname),
  }),
  accessRole: t.field({
    description: 'Null when the broker has no such role.',
    type: AccessRole,
    nullable: true,
    args: { rolename: t.arg.string({ required: true }) },
    resolve: async (broker, { rolename }, { services }) => (await services.accessControl.view(broker)).role(rolename),
  }),
  defaultAcl: t.field({
    type: DefaultAcl,
    nullable: true,
    resolve: async (broker, _args, { services }) => (await services.accessControl.view(broker)).policy.defaultAcl,
  }),
  anonymousGroup: t.field({
    description: 'The group of connections without user name; null: none.',
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
    description: 'What it connected with. Null: without user name, or the access control does not know the name.',
    type: AccessClient,
    nullable: true,
    resolve: async ({ broker, known }, _args, { services }) =>
      (await services.accessControl.view(broker)).account(known.username),
  }),
);
