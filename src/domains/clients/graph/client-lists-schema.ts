import type { ArgBuilder } from '@pothos/core';
import { builder } from '../../../gateway/graphql/builder.ts';
import { BROKER_QUERY_COST, pageCost } from '../../../gateway/graphql/page-cost.ts';
import { pageOf } from '../../../gateway/paging.ts';
import { Broker } from '../../brokers/broker-schema.ts';
import { ConnectedClient } from './client-schema.ts';

const FilterMode = builder.enumType('FilterMode', {
  description: 'How the value of a filter is compared with a text. Each mode is case-sensitive.',
  values: {
    CONTAINS: { value: 'contains', description: 'The text contains the value.' },
    EQUALS: { value: 'equals', description: 'The text equals the value.' },
    STARTS_WITH: { value: 'startsWith', description: 'The text starts with the value.' },
    ENDS_WITH: { value: 'endsWith', description: 'The text ends with the value.' },
  } as const,
});

type InputFields = PothosSchemaTypes.InputFieldBuilder<(typeof builder)['$inferSchemaTypes'], 'InputObject'>;

export const filterFields = (t: InputFields) => ({
  value: t.string({ description: 'The value of the comparison. An empty value matches each entry.', required: true }),
  mode: t.field({
    description: 'The relation between a text and `value`.',
    type: FilterMode,
    defaultValue: 'contains' as const,
  }),
});

export const ClientFilter = builder.inputType('ClientFilter', {
  description: 'Compared with the user name and the client id; one of them must match.',
  fields: filterFields,
});

/** Arguments of lists of clients. */
export const clientConditions = (arg: ArgBuilder<(typeof builder)['$inferSchemaTypes']>) => ({
  filter: arg({ type: ClientFilter, description: 'Only clients whose user name or client id matches.' }),
  isConnected: arg.boolean({
    description: 'true: only connected clients. false: only persistent sessions that are offline.',
  }),
  username: arg.string({ description: 'Only clients of this user name.' }),
});

builder.interfaceFields(Broker, (t) => ({
  connectedClients: t.connection(
    {
      description:
        'Connected clients, and persistent sessions (`isConnected` false), in the order of client ids. In a cluster whose nodes have clients of their own: the clients of all nodes; an id may occur once per node.',
      type: ConnectedClient,
      nullable: true,
      complexity: pageCost,
      args: {
        ...clientConditions(t.arg),
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
          description: 'false if clients that connected before `since` may be missing.',
        }),
        since: connection.field({
          description: 'The time since which clients are followed; null if the broker lists them itself.',
          type: 'DateTime',
          nullable: true,
          resolve: ({ since }) => (since === null ? null : new Date(since)),
        }),
        asOf: connection.field({
          description: 'The time at which the list was last confirmed.',
          type: 'DateTime',
          resolve: ({ asOf }) => new Date(asOf),
        }),
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
