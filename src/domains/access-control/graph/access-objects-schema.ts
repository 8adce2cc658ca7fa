import type { RequestContext } from '../../../gateway/context.ts';
import { builder } from '../../../gateway/graphql/builder.ts';
import { Node } from '../../../gateway/graphql/node.ts';
import { BROKER_QUERY_COST, pageCost } from '../../../gateway/graphql/page-cost.ts';
import { walk } from '../../../gateway/graphql/walk-limit.ts';
import { namedNodeId } from '../../../gateway/named-node-id.ts';
import type { PageArguments } from '../../../gateway/paging.ts';
import { ConnectedClient } from '../../clients/graph/client-schema.ts';
import type {
  AccessClient as AccessClientData,
  AccessGroup as AccessGroupData,
  AccessRole as AccessRoleData,
  AclRule as AclRuleData,
  DefaultAcl as DefaultAclData,
  DefaultAclType as DefaultAclTypeName,
  Membership,
} from '../policy/access-model.ts';
import { DEFAULT_ACL_TYPES } from '../policy/access-model.ts';

import { type AccessView, type Holder, holderPage, type Seen } from './access-view.ts';

export const AclType = builder.enumType('AclType', {
  description: 'What a rule of a role is about.',
  values: {
    PUBLISH_CLIENT_SEND: { value: 'publishClientSend', description: 'A client publishes.' },
    PUBLISH_CLIENT_RECEIVE: { value: 'publishClientReceive', description: 'A client is sent a message.' },
    SUBSCRIBE_LITERAL: { value: 'subscribeLiteral', description: 'A client subscribes to exactly this filter.' },
    SUBSCRIBE_PATTERN: {
      value: 'subscribePattern',
      description: 'A client subscribes to a filter that this one covers.',
    },
    UNSUBSCRIBE_LITERAL: {
      value: 'unsubscribeLiteral',
      description: 'A client unsubscribes from exactly this filter.',
    },
    UNSUBSCRIBE_PATTERN: {
      value: 'unsubscribePattern',
      description: 'A client unsubscribes from a filter that this one covers.',
    },
  } as const,
});

export const DefaultAclType = builder.enumType('DefaultAclType', {
  description: 'What a default is about.',
  values: {
    PUBLISH_CLIENT_SEND: { value: 'publishClientSend' },
    PUBLISH_CLIENT_RECEIVE: { value: 'publishClientReceive' },
    SUBSCRIBE: { value: 'subscribe' },
    UNSUBSCRIBE: { value: 'unsubscribe' },
  } as const,
});

export const AclRule = builder.objectRef<AclRuleData>('AclRule').implement({
  description: 'A rule of a role; its type and topic name it there.',
  fields: (t) => ({
    aclType: t.expose('aclType', { type: AclType }),
    topic: t.exposeString('topic', { description: 'A topic, or a filter with wildcards.' }),
    priority: t.exposeInt('priority', { description: 'Higher is looked at first; the first that matches decides.' }),
    allow: t.exposeBoolean('allow'),
  }),
});

interface DefaultAclEntryData {
  readonly aclType: DefaultAclTypeName;
  readonly allow: boolean;
}

const DefaultAclEntry = builder.objectRef<DefaultAclEntryData>('DefaultAclEntry').implement({
  fields: (t) => ({ aclType: t.expose('aclType', { type: DefaultAclType }), allow: t.exposeBoolean('allow') }),
});

export const DefaultAcl = builder.objectRef<DefaultAclData>('DefaultAcl').implement({
  description: 'What happens where no rule matches. Topics below $CONTROL are never allowed by it.',
  fields: (t) => ({
    publishClientSend: t.exposeBoolean('publishClientSend'),
    publishClientReceive: t.exposeBoolean('publishClientReceive'),
    subscribe: t.exposeBoolean('subscribe'),
    unsubscribe: t.exposeBoolean('unsubscribe'),
    acls: t.field({
      description: 'The same as the REST interface documents it: a list of lists of entries.',
      type: t.listRef(t.listRef(DefaultAclEntry)),
      resolve: (acl) => [DEFAULT_ACL_TYPES.map((aclType) => ({ aclType, allow: acl[aclType] }))],
    }),
  }),
});

export const AccessClient = builder.objectRef<Seen<AccessClientData>>('AccessClient');
export const AccessGroup = builder.objectRef<Seen<AccessGroupData>>('AccessGroup');
export const AccessRole = builder.objectRef<Seen<AccessRoleData>>('AccessRole');

interface SeenMembership {
  readonly view: AccessView;
  readonly membership: Membership;
}

/** Counted, since they lead to objects that lead back here. */
function seen(view: AccessView, memberships: readonly Membership[], context: RequestContext): SeenMembership[] {
  return walk(context, memberships).map((membership) => ({ view, membership }));
}

/** A page of holders, counted as `seen` does. */
function holders<T>(
  all: readonly Holder[],
  args: PageArguments,
  context: RequestContext,
  find: (name: string) => T | null,
) {
  const page = holderPage(all, args, find);
  return { ...page, edges: walk(context, page.edges) };
}

const HeldRole = builder.objectRef<SeenMembership>('HeldRole').implement({
  description: 'A role in its holder.',
  fields: (t) => ({
    rolename: t.string({ resolve: ({ membership }) => membership.name }),
    priority: t.int({
      description: 'Higher is looked at first; -1 where nobody said.',
      resolve: ({ membership }) => membership.priority,
    }),
    role: t.field({
      description: 'Null when the broker has no such role any more.',
      type: AccessRole,
      nullable: true,
      resolve: ({ view, membership }) => view.role(membership.name),
    }),
  }),
});

const JoinedGroup = builder.objectRef<SeenMembership>('JoinedGroup').implement({
  description: 'A group that a client is in.',
  fields: (t) => ({
    groupname: t.string({ resolve: ({ membership }) => membership.name }),
    priority: t.int({
      description: 'Higher is looked at first; -1 where nobody said.',
      resolve: ({ membership }) => membership.priority,
    }),
    group: t.field({
      description: 'Null when the broker has no such group any more.',
      type: AccessGroup,
      nullable: true,
      resolve: ({ view, membership }) => view.group(membership.name),
    }),
  }),
});

const GroupMember = builder.objectRef<{ readonly view: AccessView; readonly holder: Holder }>('GroupMember').implement({
  description: 'A client in a group.',
  fields: (t) => ({
    username: t.string({ resolve: ({ holder }) => holder.id }),
    priority: t.int({
      description: 'Of the group in the client.',
      resolve: ({ holder }) => holder.priority,
    }),
    client: t.field({
      type: AccessClient,
      nullable: true,
      resolve: ({ view, holder }) => view.client(holder.id),
    }),
  }),
});

/** Most hold one or two; counted as ten each, a walk from brokers to rules would be refused. */
const FEW = { field: 1, multiplier: 2 };

const offset = { description: 'Entries left out at the start.' };

AccessClient.implement({
  description: 'An account of a broker: who may connect, and which roles and groups decide on what it may do.',
  interfaces: [Node],
  fields: (t) => ({
    id: t.id({
      resolve: ({ view, object }) =>
        namedNodeId({ kind: 'accessClient', brokerId: view.broker.id, name: object.username }),
    }),
    username: t.string({ resolve: ({ object }) => object.username }),
    clientId: t.string({
      description: 'The only client id that may use the account; null: any.',
      nullable: true,
      resolve: ({ object }) => object.clientId,
    }),
    textName: t.string({ nullable: true, resolve: ({ object }) => object.textName }),
    textDescription: t.string({ nullable: true, resolve: ({ object }) => object.textDescription }),
    enabled: t.boolean({ description: 'False: it cannot connect.', resolve: ({ object }) => !object.disabled }),
    isGateway: t.boolean({
      description: 'This service connects with it.',
      resolve: ({ view, object }) => view.broker.username === object.username,
    }),
    roles: t.field({
      description: 'In the order in which the broker looks at them.',
      complexity: FEW,
      type: [HeldRole],
      resolve: ({ view, object }, _args, context) => seen(view, object.roles, context),
    }),
    groups: t.field({
      description: 'In the order in which the broker looks at them.',
      complexity: FEW,
      type: [JoinedGroup],
      resolve: ({ view, object }, _args, context) => seen(view, object.groups, context),
    }),
    connections: t.field({
      description:
        'Who is connected with it, as last seen: right after a change it may still name whom that disconnected. Null: nobody can tell, the capability cedalo/inspect of the broker says why. `connectedClients { isComplete }` tells whether somebody may be missing.',
      type: [ConnectedClient],
      nullable: true,
      resolve: async ({ view, object }, _args, context) => {
        const connections = await view.connections(object.username);
        return connections && [...walk(context, connections)];
      },
    }),
  }),
});

AccessGroup.implement({
  description: 'Clients that hold roles together.',
  interfaces: [Node],
  fields: (t) => ({
    id: t.id({
      resolve: ({ view, object }) =>
        namedNodeId({ kind: 'accessGroup', brokerId: view.broker.id, name: object.groupname }),
    }),
    groupname: t.string({ resolve: ({ object }) => object.groupname }),
    textName: t.string({ nullable: true, resolve: ({ object }) => object.textName }),
    textDescription: t.string({ nullable: true, resolve: ({ object }) => object.textDescription }),
    isAnonymousGroup: t.boolean({
      description: 'Connections without user name belong to it.',
      resolve: ({ view, object }) => view.policy.anonymousGroup === object.groupname,
    }),
    roles: t.field({
      description: 'In the order in which the broker looks at them.',
      complexity: FEW,
      type: [HeldRole],
      resolve: ({ view, object }, _args, context) => seen(view, object.roles, context),
    }),
    members: t.field({
      description: 'All of its clients, by user name; `clients` has them in pages.',
      type: [GroupMember],
      complexity: { field: BROKER_QUERY_COST, multiplier: 100 },
      resolve: ({ view, object }, _args, context) => {
        const members = view.members(object.groupname);
        return walk(context, members).map((holder) => ({ view, holder }));
      },
    }),
    clients: t.connection(
      {
        description: 'By user name.',
        type: AccessClient,
        complexity: pageCost,
        args: { offset: t.arg.int(offset) },
        resolve: ({ view, object }, args, context) =>
          holders(view.members(object.groupname), args, context, (username) => view.client(username)),
      },
      {
        name: 'AccessGroupClientsConnection',
        fields: (connection) => ({ totalCount: connection.exposeInt('totalCount') }),
      },
      {
        name: 'AccessGroupClientsEdge',
        fields: (edge) => ({ priority: edge.exposeInt('priority', { description: 'Of the group in the client.' }) }),
      },
    ),
  }),
});

AccessRole.implement({
  description: 'Rules under a name, held by clients and groups.',
  interfaces: [Node],
  fields: (t) => ({
    id: t.id({
      resolve: ({ view, object }) =>
        namedNodeId({ kind: 'accessRole', brokerId: view.broker.id, name: object.rolename }),
    }),
    rolename: t.string({ resolve: ({ object }) => object.rolename }),
    textName: t.string({ nullable: true, resolve: ({ object }) => object.textName }),
    textDescription: t.string({ nullable: true, resolve: ({ object }) => object.textDescription }),
    allowWildcardSubs: t.boolean({
      description:
        'False: a subscription with a wildcard is denied as soon as the broker looks at this role. Null: the broker does not know this.',
      nullable: true,
      resolve: ({ object }) => object.allowWildcardSubs,
    }),
    acls: t.field({
      description: 'As the broker lists them; of one type and priority the first that matches decides.',
      complexity: { field: 1, multiplier: 5 },
      type: [AclRule],
      resolve: ({ object }, _args, context) => [...walk(context, object.acls)],
    }),
    clients: t.connection(
      {
        description: 'That hold it themselves, by user name.',
        type: AccessClient,
        complexity: pageCost,
        args: { offset: t.arg.int(offset) },
        resolve: ({ view, object }, args, context) =>
          holders(view.holders(object.rolename).clients, args, context, (username) => view.client(username)),
      },
      {
        name: 'AccessRoleClientsConnection',
        fields: (connection) => ({ totalCount: connection.exposeInt('totalCount') }),
      },
      {
        name: 'AccessRoleClientsEdge',
        fields: (edge) => ({ priority: edge.exposeInt('priority', { description: 'Of the role in the client.' }) }),
      },
    ),
    groups: t.connection(
      {
        description: 'That hold it, by name.',
        type: AccessGroup,
        complexity: pageCost,
        args: { offset: t.arg.int(offset) },
        resolve: ({ view, object }, args, context) =>
          holders(view.holders(object.rolename).groups, args, context, (groupname) => view.group(groupname)),
      },
      {
        name: 'AccessRoleGroupsConnection',
        fields: (connection) => ({ totalCount: connection.exposeInt('totalCount') }),
      },
      {
        name: 'AccessRoleGroupsEdge',
        fields: (edge) => ({ priority: edge.exposeInt('priority', { description: 'Of the role in the group.' }) }),
      },
    ),
  }),
});
