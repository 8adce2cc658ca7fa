import { builder } from '../../../gateway/graphql/builder.ts';
import { BROKER_QUERY_COST, pageCost, SORT_COST } from '../../../gateway/graphql/page-cost.ts';
import { knownTimeField, timeField } from '../../../gateway/graphql/time-field.ts';
import { pageOf } from '../../../platform/paging.ts';
import { Broker } from '../../brokers/broker-schema.ts';
import { ConnectedClientFilter, ConnectedClientOrder } from './client-filter-schema.ts';
import { ConnectedClient } from './client-schema.ts';

builder.interfaceFields(Broker, (t) => ({
  connectedClients: t.connection(
    {
      description:
        'Connected clients, and persistent sessions (`isConnected` false). Clients whose sort value is unknown are last. In a cluster whose nodes have clients of their own: the clients of all nodes; an id may occur once per node.',
      type: ConnectedClient,
      nullable: true,
      complexity: (args) => ({ ...pageCost(args), field: args.orderBy == null ? 1 : SORT_COST }),
      args: {
        filter: t.arg({ type: ConnectedClientFilter, description: 'Default: all clients.' }),
        orderBy: t.arg({ type: ConnectedClientOrder, description: 'Default: by client id, ascending.' }),
        offset: t.arg.int({ description: 'Number of clients to skip.' }),
      },
      resolve: (broker, args, { services }) => services.clients.page(broker, args),
    },
    {
      name: 'ConnectedClientConnection',
      description: `${pageOf('clients')} Only \`first\` and \`after\` are supported.`,
      fields: (connection) => ({
        totalCount: connection.exposeInt('totalCount', { description: 'Size of the whole filtered list.' }),
        isComplete: connection.exposeBoolean('isComplete', {
          description:
            'false if clients may be missing, if the state of clients is unknown, or if `undecidedCount` is not 0.',
        }),
        undecidedCount: connection.exposeInt('undecidedCount', {
          description:
            'Number of clients that are not in the list and may match the filter, because a value that it needs is unknown. `unknownFields` of a client has the reasons.',
        }),
        incompleteReason: connection.exposeString('incompleteReason', {
          description: 'Why `isComplete` is false; null if it is true, or if the broker does not report why.',
          nullable: true,
        }),
        since: timeField(
          connection,
          'The time since which clients are followed; null if the broker lists them itself.',
          ({ since }) => since,
        ),
        asOf: knownTimeField(connection, 'The time at which the list was last confirmed.', ({ asOf }) => asOf),
      }),
    },
    { name: 'ConnectedClientEdge', description: 'A client and its cursor.' },
  ),
  connectedClient: t.field({
    type: ConnectedClient,
    nullable: true,
    description: 'One client; null if the broker has no such client.',
    complexity: BROKER_QUERY_COST,
    args: {
      clientId: t.arg.string({ description: 'The exact MQTT client id.', required: true }),
      nodeId: t.arg.int({
        description:
          'Number of the node whose client is returned, in a cluster whose nodes have clients of their own. Default: the node where the client is connected, or connected last.',
      }),
    },
    resolve: (broker, { clientId, nodeId }, { services }) => services.clients.find(broker, clientId, nodeId),
  }),
}));
