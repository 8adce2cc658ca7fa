import { builder, type InputFields } from '../../../gateway/graphql/builder.ts';
import { describedEnum } from '../../../gateway/graphql/described-enum.ts';
import { orderInput } from '../../../gateway/graphql/sort-order.ts';
import { MAX_CLIENT_IDS } from '../client-selection.ts';
import type { ClientOrder } from '../inspect/client-order.ts';
import { ClientProtocol, ClientProtocolVersion } from './client-parts-schema.ts';

const FilterMode = builder.enumType('FilterMode', {
  description: 'How the value of a filter is compared with a text. Each mode is case-sensitive.',
  values: {
    CONTAINS: { value: 'contains', description: 'The text contains the value.' },
    EQUALS: { value: 'equals', description: 'The text equals the value.' },
    STARTS_WITH: { value: 'startsWith', description: 'The text starts with the value.' },
    ENDS_WITH: { value: 'endsWith', description: 'The text ends with the value.' },
  } as const,
});

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

const UNREPORTED = 'NOT_SUPPORTED_BY_BROKER if the broker reports the number of no client. Not in subscriptions.';

export const ConnectedClientFilter = builder.inputType('ConnectedClientFilter', {
  description:
    'Clients that match all given conditions. A client whose value is unknown does not match a condition on it, and the list is then not complete (`isComplete`, `undecidedCount`).',
  fields: (t) => ({
    ...filterFields(t),
    value: t.string({ description: 'Compared with the user name and the client id; one of them must match.' }),
    isConnected: t.boolean({
      description: 'true: only connected clients. false: only persistent sessions that are offline.',
    }),
    username: t.string({ description: 'Only clients of this user name.' }),
    groupName: t.string({
      description:
        'Only clients of the accounts that are members of this group of the access control. Clients without a user name are members of the anonymous group. NOT_FOUND if the broker has no such group, NOT_SUPPORTED_BY_BROKER if it has no dynamic security. In subscriptions, a GAP and a new SNAPSHOT follow each change of the members.',
    }),
    clientIds: t.idList({ description: `Only clients of these client ids. At most ${MAX_CLIENT_IDS}.` }),
    address: t.string({ description: 'IP address, or network such as `10.0.0.0/8`.' }),
    protocol: t.field({ description: 'The protocol of the connection.', type: ClientProtocol }),
    protocolVersion: t.field({ description: 'The version of MQTT.', type: ClientProtocolVersion }),
    nodeId: t.int({
      description: 'The node of the client, in a cluster whose nodes have clients of their own.',
    }),
    minQueuedMessages: t.int({
      description: `Only clients with at least this number of queued messages (\`queues.messagesOut\`). ${UNREPORTED}`,
    }),
    minDroppedMessages: t.int({
      description: `Only clients of which the broker dropped at least this number of messages (\`numDropped\`). ${UNREPORTED}`,
    }),
  }),
});

const ConnectedClientSortField = describedEnum<ClientOrder['field']>(
  'ConnectedClientSortField',
  'Sort field of a list of clients. Clients with equal values are in the order of their client ids.',
  {
    CLIENT_ID: 'Client id, by code units.',
    USERNAME: 'User name, by code units. Clients without one are last.',
    CONNECTED_AT: 'Time of the last connect.',
    ADDRESS: 'IP address by number, IPv4 before IPv6.',
    QUEUED_MESSAGES: 'Number of queued messages (`queues.messagesOut`) at the time of the request.',
    DROPPED_MESSAGES: 'Number of dropped messages (`numDropped`) at the time of the request.',
  },
);

export const ConnectedClientOrder = orderInput('ConnectedClientOrder', ConnectedClientSortField);
