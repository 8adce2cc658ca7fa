import { enumName, type Route, type RouteInput } from '../../gateway/rest/route.ts';
import { epochMs } from '../../gateway/rest/values.ts';
import { capitalized } from '../../platform/text/capitalized.ts';
import {
  CLIENT_DETAIL_QUERY,
  CLIENT_DISCONNECT,
  CLIENT_INSPECT_QUERY,
  CLIENT_SUBSCRIBE,
  CLIENT_UNSUBSCRIBE,
  CONNECTED_CLIENT_DETAIL,
  CONNECTED_CLIENTS,
  DISCONNECTED,
  SEND_RETAIN,
} from './client-bodies.ts';

const SUMMARY =
  'username clientid: clientId address protocol protocolVersion connected: isConnected lastConnect: lastConnectedAt lastDisconnect: lastDisconnectedAt';
const DATES = { lastConnect: epochMs(), lastDisconnect: epochMs() };

const LIST = `query ($projectId: ID!, $brokerId: ID!, $first: Int, $after: String, $offset: Int, $filter: ConnectedClientFilter, $verbose: Boolean!) {
  project(id: $projectId) {
    broker(id: $brokerId) {
      connectedClients(first: $first, after: $after, offset: $offset, filter: $filter) {
        totalCount
        nodes {
          ${SUMMARY}
          queues @include(if: $verbose) { bytesOut bytesMax messagesOut messagesMax pagedMessagesOut pagedMessagesMax }
        }
        pageInfo { hasNextPage endCursor }
      }
    }
  }
}`;

const DETAIL = `query ($projectId: ID!, $brokerId: ID!, $clientId: String!) {
  project(id: $projectId) {
    broker(id: $brokerId) {
      connectedClient(clientId: $clientId) {
        ${SUMMARY}
        numSubscriptions
        numPublished
        numSubscribed
        numDropped
        bytesPublished
        bytesSubscribed
        keepalive
        cleanSession
        tls { clientCertificate version ciphers }
        listener { port bind_address: bindAddress }
        will { topic qos retain payload properties delayInterval }
        subscriptions
        subscriptionsReason
        queues {
          bytesIn bytesOut bytesMax messagesIn messagesMax messagesInQos12 messagesOut messagesOutQos12
          pagedMessagesOut pagedMessagesMax
        }
        inflight { bytesIn bytesOut bytesMax messagesIn messagesInMax messagesOut messagesOutMax messagesMax }
      }
    }
  }
}`;

const FILTER_MODES = {
  CONTAINS: 'contains',
  EQUALS: 'equals',
  STARTS_WITH: 'startsWith',
  ENDS_WITH: 'endsWith',
} as const;
const PROTOCOLS = {
  ClientProtocol: { MQTT: 'MQTT', MQTT_SN: 'MQTT-SN', MQTT_WS: 'MQTT-WS' },
  ClientProtocolVersion: { V3_1: 'v3.1', V3_1_1: 'v3.1.1', V5: 'v5' },
} as const;

const BROKER = '/api/projects/{projectId}/brokers/{brokerId}';
const INSPECT = `${BROKER}/client-inspect`;
const CONTROL = `${BROKER}/client-control`;
const ERRORS = [401, 403, 404, 405, 500, 503] as const;

const mutation = (field: string) =>
  `mutation ($input: ${capitalized(field)}Input!) { ${field}(input: $input) { clientId } }`;

const INSPECTED = { section: '4.8', tag: 'Client inspect', since: '3.3' } as const;
const CONTROLLED = {
  method: 'PUT',
  section: '4.6',
  since: '3.3',
  tag: 'Client control',
  errors: [400, ...ERRORS],
} as const;

const LIMITED = '405 NOT_SUPPORTED_BY_BROKER if the broker does not support it; the message names the remedy.';

const wantsAll = ({ query }: RouteInput) => query.count === undefined || query.count === -1;

function filterOf({ query: { filterValue, filterMode } }: RouteInput): Record<string, unknown> | undefined {
  if (filterValue === undefined || filterValue === '') return undefined;
  return { value: filterValue, mode: enumName(FILTER_MODES, (filterMode as string | undefined) ?? 'contains') };
}

function optionsOf(options: unknown): Record<string, unknown> {
  const { no_local, retain_as_published, send_retain } = (options ?? {}) as Readonly<Record<string, unknown>>;
  const sendRetain = send_retain === 'null' ? null : send_retain;
  return { noLocal: no_local, retainAsPublished: retain_as_published, sendRetain: enumName(SEND_RETAIN, sendRetain) };
}

export const clientRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: INSPECT,
    ...INSPECTED,
    operationId: 'listConnectedClients',
    summary: 'List the clients of a broker',
    keywords: 'devices sessions online connections',
    description:
      'Connected clients, and persistent sessions with `connected` false. Fields that the broker does not know are omitted.',
    query: CLIENT_INSPECT_QUERY,
    operation: LIST,
    variables: (input) => ({
      ...input.params,
      first: wantsAll(input) ? 1_000 : input.query.count,
      offset: input.query.offset,
      filter: filterOf(input),
      verbose: input.query.verbose !== false,
    }),
    pick: 'project.broker.connectedClients.nodes',
    total: 'project.broker.connectedClients.totalCount',
    omitNull: ['*', 'queues.*', '!lastDisconnect'],
    values: DATES,
    spell: PROTOCOLS,
    nameKey: 'clientid',
    stream: { when: wantsAll, pageInfo: 'project.broker.connectedClients.pageInfo', pageSize: 1_000 },
    response: CONNECTED_CLIENTS,
    errors: ERRORS,
  },
  {
    method: 'GET',
    path: `${INSPECT}/detail`,
    ...INSPECTED,
    operationId: 'getConnectedClient',
    summary: 'Read all known fields of one client',
    keywords: 'get device session details',
    query: CLIENT_DETAIL_QUERY,
    operation: DETAIL,
    variables: ({ params, query }) => ({ ...params, clientId: query.clientid }),
    pick: 'project.broker.connectedClient',
    notFound: ({ query }) => `There is no client "${query.clientid}"`,
    omitNull: ['*', 'queues.*', 'inflight.*', 'tls.*', 'listener.*', 'will.*', '!lastDisconnect'],
    values: DATES,
    spell: PROTOCOLS,
    response: CONNECTED_CLIENT_DETAIL,
    errors: ERRORS,
  },
  {
    ...CONTROLLED,
    path: `${CONTROL}/disconnect`,
    operationId: 'disconnectClient',
    summary: 'Disconnect a client',
    keywords: 'kick drop close terminate device session',
    description: `400 IN_USE if only the whole account can be disconnected, and other clients use it: \`info.clients\` lists them. ${LIMITED}`,
    body: CLIENT_DISCONNECT,
    operation: mutation('disconnectClient'),
    variables: ({ params, body: { clientid, force } }) => ({ input: { ...params, clientId: clientid, force } }),
    pick: null,
    response: DISCONNECTED,
  },
  {
    ...CONTROLLED,
    path: `${CONTROL}/subscribe`,
    operationId: 'subscribeClient',
    summary: 'Subscribe a client to a topic',
    keywords: 'add subscription device',
    description: LIMITED,
    body: CLIENT_SUBSCRIBE,
    operation: mutation('subscribeClient'),
    variables: ({ params, body: { clientid, topic, qos, options } }) => ({
      input: { ...params, clientId: clientid, topic, qos, ...optionsOf(options) },
    }),
    status: 204,
  },
  {
    ...CONTROLLED,
    path: `${CONTROL}/unsubscribe`,
    operationId: 'unsubscribeClient',
    summary: 'Unsubscribe a client from a topic',
    keywords: 'remove subscription device',
    description: LIMITED,
    body: CLIENT_UNSUBSCRIBE,
    operation: mutation('unsubscribeClient'),
    variables: ({ params, body: { clientid, topic } }) => ({ input: { ...params, clientId: clientid, topic } }),
    status: 204,
  },
];
