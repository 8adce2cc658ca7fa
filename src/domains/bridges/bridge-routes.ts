import type { JsonSchema, Route, RouteInput } from '../../gateway/rest/route.ts';
import { BOOLEAN, closed } from '../../gateway/rest/schemas.ts';

const BRIDGES: JsonSchema = {
  type: 'array',
  items: closed(
    {
      id: { type: 'string', description: 'Such as `mqtt-bridge`.' },
      isActive: { ...BOOLEAN, description: 'Whether it is configured.' },
    },
    { title: 'Bridge' },
  ),
};

const BRIDGE_CONFIG: JsonSchema = {
  type: 'object',
  title: 'BridgeConfig',
  description: 'As the schema of the bridge describes. `***` replaces each secret; sent back, it keeps the stored one.',
  examples: [
    {
      connections: [
        {
          name: 'headquarters',
          url: 'mqtts://broker.example.com:8883',
          username: 'plant',
          password: 'a password',
          topics: [{ pattern: 'plant/#', direction: 'out', qos: 1 }],
        },
      ],
    },
  ],
};

const BRIDGE_STATUS: JsonSchema = {
  type: ['array', 'object'],
  title: 'BridgeStatus',
  description:
    'As the bridge reports it: usually one entry for each connection, with `connectionName` and `isConnected`.',
};

const BRIDGES_PATH = '/api/projects/{projectId}/brokers/{brokerId}/bridges';
const READ_ERRORS = [401, 403, 404, 405, 500, 503] as const;
const DOCUMENTED = { section: '4.2', tag: 'Bridges', since: '3.3' } as const;
const PARAMS = { bridgeId: 'The id from the list of bridges.' } as const;
const LIMITED =
  '405 NOT_SUPPORTED_BY_BROKER for a bridge that Mosquitto runs from its configuration file; the message states a solution.';

const read = (selection: string) =>
  `query ($projectId: ID!, $brokerId: ID!, $bridgeId: String!) {
  project(id: $projectId) { broker(id: $brokerId) { bridge(key: $bridgeId) { ${selection} } } }
}`;

const noBridge = ({ params }: RouteInput) => `There is no bridge "${params.bridgeId?.slice(0, 200)}"`;

export const bridgeRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: BRIDGES_PATH,
    ...DOCUMENTED,
    operationId: 'listBridges',
    summary: 'List the bridges of a broker',
    keywords: 'connectors integrations forward',
    description: 'Bridges that this service runs, and bridges of the broker itself.',
    operation: `query ($projectId: ID!, $brokerId: ID!) {
  project(id: $projectId) { broker(id: $brokerId) { bridges { id: key isActive } } }
}`,
    pick: 'project.broker.bridges',
    total: 'project.broker.bridges',
    response: BRIDGES,
    errors: READ_ERRORS,
  },
  {
    method: 'GET',
    path: `${BRIDGES_PATH}/{bridgeId}/config`,
    ...DOCUMENTED,
    params: PARAMS,
    operationId: 'getBridgeConfig',
    summary: 'Read the configuration of a bridge',
    keywords: 'settings connector forward',
    description: `Secrets are replaced by \`***\`. ${LIMITED}`,
    operation: read('config(strict: true)'),
    pick: 'project.broker.bridge.config',
    notFound: noBridge,
    response: BRIDGE_CONFIG,
    errors: READ_ERRORS,
  },
  {
    method: 'PUT',
    path: `${BRIDGES_PATH}/{bridgeId}/config`,
    ...DOCUMENTED,
    params: PARAMS,
    operationId: 'updateBridgeConfig',
    summary: 'Change the configuration of a bridge',
    keywords: 'edit set connector forward postgresql webhook',
    description: `Replaces the whole configuration. A secret given as \`***\` keeps its value. ${LIMITED}`,
    body: BRIDGE_CONFIG,
    operation: 'mutation ($input: UpdateBridgeConfigInput!) { updateBridgeConfig(input: $input) { broker { id } } }',
    variables: ({ params: { bridgeId, ...target }, body }) => ({
      input: { ...target, bridgeKey: bridgeId, config: body },
    }),
    status: 204,
    errors: [400, ...READ_ERRORS],
  },
  {
    method: 'GET',
    path: `${BRIDGES_PATH}/{bridgeId}/status`,
    ...DOCUMENTED,
    params: PARAMS,
    operationId: 'getBridgeStatus',
    summary: 'Read the status of a bridge',
    keywords: 'state health connector',
    operation: read('status'),
    pick: 'project.broker.bridge.status',
    notFound: noBridge,
    response: BRIDGE_STATUS,
    errors: READ_ERRORS,
  },
];
