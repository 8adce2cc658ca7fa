import type { RequestContext } from '../../../gateway/context.ts';
import { builder, type OutputFields } from '../../../gateway/graphql/builder.ts';
import { findsNamedNode, Node } from '../../../gateway/graphql/node.ts';
import { BROKER_QUERY_COST, pageCost } from '../../../gateway/graphql/page-cost.ts';
import { totalCount } from '../../../gateway/graphql/total-count.ts';
import { walk } from '../../../gateway/graphql/walk-limit.ts';
import { type NamedNodeKind, namedNodeId } from '../../../gateway/named-node-id.ts';
import { listConnection, pageOf } from '../../../platform/paging.ts';
import type {
  AccessGroup as AccessGroupData,
  AccessRole as AccessRoleData,
  Account as AccountData,
  Membership,
} from '../../../protocol/apis/access-control/access-model.ts';
import { ClientSource } from '../../clients/graph/client-parts-schema.ts';
import { ConnectedClient } from '../../clients/graph/client-schema.ts';
import type { Holder } from '../reading/access-lists.ts';
import { AclRule } from './access-rules-schema.ts';
import { type AccessView, type AccountAddress, type WithView, withView } from './access-view.ts';

const AccountAddressType = builder.objectRef<AccountAddress>('AccountAddress').implement({
  description: 'The address of a session of an account.',
  fields: (t) => ({
    address: t.exposeString('address', { description: 'IP address. Null if it is unknown.', nullable: true }),
    source: t.expose('source', {
      description: 'Whether the broker reports the session, or this service follows it in the log.',
      type: ClientSource,
    }),
  }),
});

export const Account = builder.objectRef<WithView<AccountData>>('Account');
export const AccessGroup = builder.objectRef<WithView<AccessGroupData>>('AccessGroup');
export const AccessRole = builder.objectRef<WithView<AccessRoleData>>('AccessRole');

interface ViewedMembership {
  readonly view: AccessView;
  readonly membership: Membership;
}

/** Counts the entries, because a query can follow them back to this object. */
function membershipsIn(
  view: AccessView,
  memberships: readonly Membership[],
  context: RequestContext,
): ViewedMembership[] {
  return walk(context, memberships).map((membership) => ({ view, membership }));
}

interface HolderList<Parent> {
  readonly name: string;
  readonly description: string;
  /** The entries of the list, in the plural. */
  readonly entries: string;
  readonly priority: string;
  readonly type: typeof Account | typeof AccessGroup;
  readonly holdersOf: (parent: Parent) => readonly Holder[];
  readonly find: (view: AccessView, name: string) => WithView<AccountData> | WithView<AccessGroupData> | null;
}

/** Pages of the holders of a role or the members of a group. Missing objects are omitted. */
const holderConnection = <Parent extends WithView<unknown>>(
  t: OutputFields<Parent>,
  { name, description, entries, priority, type, holdersOf, find }: HolderList<Parent>,
) =>
  t.connection(
    {
      description,
      type,
      complexity: pageCost,
      args: { offset: t.arg.int(OFFSET) },
      resolve: (parent, args, context) => {
        const { edges, ...page } = listConnection(holdersOf(parent), args, name);
        const found = edges.flatMap(({ cursor, node: { id, ...holder } }) => {
          const node = find(parent.view, id);
          return node === null ? [] : [{ cursor, node, ...holder }];
        });
        return { ...page, edges: walk(context, found) };
      },
    },
    { name: `${name}Connection`, description: pageOf(entries), fields: (page) => totalCount(page) },
    {
      name: `${name}Edge`,
      description: `One of the ${entries}, with its priority and its cursor.`,
      fields: (edge) => ({ priority: edge.exposeInt('priority', { description: priority }) }),
    },
  );

const PRIORITY = 'Higher priorities are evaluated first. Default: -1.';

const HeldRole = builder.objectRef<ViewedMembership>('HeldRole').implement({
  ...withView,
  description: 'A role of an account or group.',
  fields: (t) => ({
    roleName: t.string({ description: 'The name of the role.', resolve: ({ membership }) => membership.name }),
    priority: t.int({ description: PRIORITY, resolve: ({ membership }) => membership.priority }),
    role: t.field({
      description: 'null: the role does not exist anymore.',
      type: AccessRole,
      nullable: true,
      resolve: ({ view, membership }) => view.role(membership.name),
    }),
  }),
});

const JoinedGroup = builder.objectRef<ViewedMembership>('JoinedGroup').implement({
  ...withView,
  description: 'A group that an account belongs to.',
  fields: (t) => ({
    groupName: t.string({ description: 'The name of the group.', resolve: ({ membership }) => membership.name }),
    priority: t.int({ description: PRIORITY, resolve: ({ membership }) => membership.priority }),
    group: t.field({
      description: 'null: the group does not exist anymore.',
      type: AccessGroup,
      nullable: true,
      resolve: ({ view, membership }) => view.group(membership.name),
    }),
  }),
});

const GroupMember = builder.objectRef<{ readonly view: AccessView; readonly holder: Holder }>('GroupMember').implement({
  ...withView,
  description: 'A member of a group.',
  fields: (t) => ({
    username: t.string({ description: 'The user name of the account.', resolve: ({ holder }) => holder.id }),
    priority: t.int({ description: 'Priority of the group in the account.', resolve: ({ holder }) => holder.priority }),
    account: t.field({
      description: 'The account; `null` if it does not exist anymore.',
      type: Account,
      nullable: true,
      resolve: ({ view, holder }) => view.account(holder.id),
    }),
  }),
});

const texts = <T extends WithView<Pick<AccessRoleData, 'textName' | 'textDescription'>>>(t: OutputFields<T>) => ({
  textName: t.string({
    description: 'The display name; `null` if there is none.',
    nullable: true,
    resolve: ({ object }) => object.textName,
  }),
  textDescription: t.string({
    description: 'The note of an administrator; `null` if there is none.',
    nullable: true,
    resolve: ({ object }) => object.textDescription,
  }),
});

const heldRoles = <T extends WithView<Pick<AccessGroupData, 'roles'>>>(t: OutputFields<T>) =>
  t.field({
    description: IN_ORDER,
    complexity: SHORT_LIST_COST,
    type: [HeldRole],
    resolve: ({ view, object }, _args, context) => membershipsIn(view, object.roles, context),
  });

/** Most lists have one or two entries. With the usual factor of 10, a query from brokers to rules would be refused. */
const SHORT_LIST_COST = { field: 1, multiplier: 2 };

const IN_ORDER = 'In the order of evaluation.';
export const BROKER_ID = { description: 'The id of a broker that the caller can see.', required: true } as const;
export const OFFSET = { description: 'Number of entries to skip.' };
const idOf = (name: string) => `The global id, which depends only on the broker and the ${name}.`;

Account.implement({
  ...withView,
  description: 'An account of a broker. Its roles and groups decide what its clients may do.',
  interfaces: [Node],
  fields: (t) => ({
    id: t.id({
      description: idOf('user name'),
      resolve: ({ view, object }) => namedNodeId({ kind: 'account', brokerId: view.broker.id, name: object.username }),
    }),
    username: t.string({
      description: 'The user name in CONNECT, case-sensitive and unique in the broker.',
      resolve: ({ object }) => object.username,
    }),
    clientId: t.string({
      description: 'The only client id that may use the account. null: any client id.',
      nullable: true,
      resolve: ({ object }) => object.clientId,
    }),
    ...texts(t),
    enabled: t.boolean({
      description: 'Whether clients may connect with the account.',
      resolve: ({ object }) => !object.disabled,
    }),
    isGateway: t.boolean({
      description: 'Whether this service connects with the account.',
      resolve: ({ view, object }) => view.broker.username === object.username,
    }),
    roles: heldRoles(t),
    groups: t.field({
      description: IN_ORDER,
      complexity: SHORT_LIST_COST,
      type: [JoinedGroup],
      resolve: ({ view, object }, _args, context) => membershipsIn(view, object.groups, context),
    }),
    connections: t.field({
      description:
        'Connected clients of the account. After a change, clients that the change disconnected may still be listed for a moment. null: the broker cannot list its clients; its capability cedalo/inspect has the reason. `connectedClients { isComplete }` reports whether clients may be missing.',
      type: [ConnectedClient],
      nullable: true,
      resolve: async ({ view, object }, _args, context) => {
        const connections = await view.connections(object.username);
        return connections && [...walk(context, connections)];
      },
    }),
    connectionAddresses: t.field({
      description:
        'The address of each session of the account. If the broker reports them (Mosquitto 2.1; source BROKER), also of sessions that are missing in `connections`: those from before the log was followed, and offline ones. Otherwise of `connections`, and null as there.',
      type: [AccountAddressType],
      nullable: true,
      complexity: BROKER_QUERY_COST,
      resolve: async ({ view, object }, _args, context) => {
        const addresses = await view.addresses(object.username);
        return addresses && [...walk(context, addresses)];
      },
    }),
  }),
});

AccessGroup.implement({
  ...withView,
  description: 'Accounts that hold the same roles.',
  interfaces: [Node],
  fields: (t) => ({
    id: t.id({
      description: idOf('name of the group'),
      resolve: ({ view, object }) =>
        namedNodeId({ kind: 'accessGroup', brokerId: view.broker.id, name: object.groupname }),
    }),
    groupName: t.string({
      description: 'The name of the group, case-sensitive and unique in the broker.',
      resolve: ({ object }) => object.groupname,
    }),
    ...texts(t),
    isAnonymousGroup: t.boolean({
      description: 'Whether connections without a user name belong to the group.',
      resolve: ({ view, object }) => view.policy.anonymousGroup === object.groupname,
    }),
    roles: heldRoles(t),
    members: t.field({
      description: 'All members, sorted by user name. `accounts` returns them in pages.',
      type: [GroupMember],
      complexity: { field: BROKER_QUERY_COST, multiplier: 100 },
      resolve: ({ view, object }, _args, context) => {
        const members = view.members(object.groupname);
        return walk(context, members).map((holder) => ({ view, holder }));
      },
    }),
    accounts: holderConnection(t, {
      name: 'AccessGroupAccounts',
      description: 'Members, sorted by user name.',
      entries: 'members of a group',
      priority: 'Priority of the group in the account.',
      type: Account,
      holdersOf: ({ view, object }) => view.members(object.groupname),
      find: (view, username) => view.account(username),
    }),
  }),
});

AccessRole.implement({
  ...withView,
  description: 'A named list of rules, held by accounts and groups.',
  interfaces: [Node],
  fields: (t) => ({
    id: t.id({
      description: idOf('name of the role'),
      resolve: ({ view, object }) =>
        namedNodeId({ kind: 'accessRole', brokerId: view.broker.id, name: object.rolename }),
    }),
    roleName: t.string({
      description: 'The name of the role, case-sensitive and unique in the broker.',
      resolve: ({ object }) => object.rolename,
    }),
    ...texts(t),
    allowWildcardSubs: t.boolean({
      description:
        'Whether the rules of the role decide on subscriptions with wildcards. false: the role denies them. null: unsupported by the broker.',
      nullable: true,
      resolve: ({ object }) => object.allowWildcardSubs,
    }),
    acls: t.field({
      description: 'In the order of the broker. Of rules with one type and priority, the first matching one decides.',
      complexity: { field: 1, multiplier: 5 },
      type: [AclRule],
      resolve: ({ object }, _args, context) => [...walk(context, object.acls)],
    }),
    accounts: holderConnection(t, {
      name: 'AccessRoleAccounts',
      description: 'Accounts that hold the role directly, sorted by user name.',
      entries: 'accounts that hold a role directly',
      priority: 'Priority of the role in the account.',
      type: Account,
      holdersOf: ({ view, object }) => view.snapshot.lists.holders(object.rolename).accounts,
      find: (view, username) => view.account(username),
    }),
    groups: holderConnection(t, {
      name: 'AccessRoleGroups',
      description: 'Groups that hold the role, sorted by name.',
      entries: 'groups that hold a role',
      priority: 'Priority of the role in the group.',
      type: AccessGroup,
      holdersOf: ({ view, object }) => view.snapshot.lists.holders(object.rolename).groups,
      find: (view, groupname) => view.group(groupname),
    }),
  }),
});

const findsIn = (kind: NamedNodeKind, find: (view: AccessView, name: string) => WithView<unknown> | null) =>
  findsNamedNode(kind, async (broker, name, { services }) => find(await services.accessControl.view(broker), name));

findsIn('account', (view, name) => view.account(name));
findsIn('accessGroup', (view, name) => view.group(name));
findsIn('accessRole', (view, name) => view.role(name));
