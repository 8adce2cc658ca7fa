import { enumName, type Route, type RouteInput } from '../../gateway/rest/route.ts';
import { CREATED_ID } from '../../gateway/rest/schemas.ts';
import { epochMs } from '../../gateway/rest/values.ts';
import { NO_END, NO_START } from '../../protocol/apis/license.ts';
import { BROKER_SPELLING, CLOUD_FIELDS, ON_PREMISE_FIELDS, SELF_HOSTED_FIELDS } from '../projects/service-bodies.ts';
import {
  BROKER,
  BROKER_CONNECTION,
  BROKER_INFO,
  BROKERS,
  CLUSTER_MODES,
  inCamelCase,
  LICENSE,
} from './broker-bodies.ts';

const BROKER_KINDS = `
  ... on CloudBroker { ${CLOUD_FIELDS} description isConnected }
  ... on SelfHostedBroker { ${SELF_HOSTED_FIELDS} description isConnected }
  ... on OnPremiseSetup { ${ON_PREMISE_FIELDS} description isConnected }`;

const LIST = `query ($projectId: ID!, $first: Int, $after: String) {
  project(id: $projectId) {
    brokers(first: $first, after: $after) { totalCount nodes { ${BROKER_KINDS} } pageInfo { hasNextPage endCursor } }
  }
}`;

const READ = `query ($projectId: ID!, $brokerId: ID!) {
  project(id: $projectId) { broker(id: $brokerId) { ${BROKER_KINDS} } }
}`;

const LICENSE_FIELDS = 'plan edition issuedBy issuedTo validSince validUntil features';
const LICENSE_DATES = { validSince: epochMs(NO_START), validUntil: epochMs(NO_END) };

const INFO = `query ($projectId: ID!, $brokerId: ID!) {
  project(id: $projectId) {
    broker(id: $brokerId) {
      restInfo {
        id: brokerId
        url
        name
        project_id: projectId
        isConnected
        sysTopics { topics date: asOf }
        sysTopicsHistory { topics date: asOf }
        licenseInfo: license { ${LICENSE_FIELDS} }
      }
    }
  }
}`;

const READ_LICENSE = `query ($projectId: ID!, $brokerId: ID!) {
  project(id: $projectId) { broker(id: $brokerId) { license { ${LICENSE_FIELDS} } } }
}`;

const ADD = 'mutation ($input: AddBrokerInput!) { addBroker(input: $input) { broker { id } } }';
const UPDATE = 'mutation ($input: UpdateBrokerInput!) { updateBroker(input: $input) { broker { id } } }';
const DELETE = 'mutation ($input: DeleteBrokerInput!) { deleteBroker(input: $input) { deletedBrokerId } }';

function brokerInput({ params, body: { clustermode, ha: isCluster, ...body } }: RouteInput): Record<string, unknown> {
  const clusterMode = enumName(CLUSTER_MODES, clustermode as string | null | undefined);
  return { ...inCamelCase(body), projectId: params.projectId, clusterMode, isCluster };
}

const LIST_PATH = '/api/projects/{projectId}/brokers';
const BROKER_PATH = `${LIST_PATH}/{brokerId}`;
const DOCUMENTED = { section: '4.2', tag: 'Brokers' } as const;
const ERRORS = [401, 403, 404, 405, 500] as const;
const NAMES = { isCluster: 'ha' } as const;

export const brokerRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: LIST_PATH,
    ...DOCUMENTED,
    operationId: 'listBrokers',
    summary: 'List the brokers of a project',
    keywords: 'servers instances connections',
    operation: LIST,
    variables: ({ params }) => ({ projectId: params.projectId, first: 1_000 }),
    pick: 'project.brokers.nodes',
    total: 'project.brokers.totalCount',
    spell: BROKER_SPELLING,
    stream: { when: () => true, pageInfo: 'project.brokers.pageInfo', pageSize: 1_000 },
    response: BROKERS,
    errors: ERRORS,
  },
  {
    method: 'POST',
    path: LIST_PATH,
    ...DOCUMENTED,
    operationId: 'addBroker',
    summary: 'Add a broker connection to a project',
    keywords: 'create register connect server',
    description:
      'The service connects to the broker immediately, and reconnects after a connection is lost. Returns the id of the broker.',
    body: BROKER_CONNECTION,
    inputNames: NAMES,
    operation: ADD,
    variables: (input) => ({ input: brokerInput(input) }),
    pick: 'addBroker.broker',
    response: CREATED_ID,
    errors: [400, ...ERRORS],
  },
  {
    method: 'GET',
    path: BROKER_PATH,
    ...DOCUMENTED,
    operationId: 'getBroker',
    summary: 'Read a broker',
    keywords: 'get server connected status',
    operation: READ,
    pick: 'project.broker',
    spell: BROKER_SPELLING,
    response: BROKER,
    errors: ERRORS,
  },
  {
    method: 'PUT',
    path: BROKER_PATH,
    ...DOCUMENTED,
    operationId: 'updateBroker',
    summary: 'Change a broker connection',
    keywords: 'edit update server',
    description: 'Only the given keys change; null clears.',
    body: BROKER_CONNECTION,
    inputNames: NAMES,
    operation: UPDATE,
    variables: (input) => ({ input: { ...brokerInput(input), brokerId: input.params.brokerId } }),
    status: 204,
    errors: [400, ...ERRORS],
  },
  {
    method: 'DELETE',
    path: BROKER_PATH,
    ...DOCUMENTED,
    operationId: 'deleteBroker',
    summary: 'Remove a broker from its project',
    keywords: 'disconnect unregister server',
    operation: DELETE,
    variables: ({ params }) => ({ input: params }),
    status: 204,
    errors: ERRORS,
  },
  {
    method: 'GET',
    path: `${BROKER_PATH}/info`,
    ...DOCUMENTED,
    operationId: 'getBrokerInfo',
    summary: 'Read information that a broker publishes about itself',
    keywords: '$sys metrics statistics version uptime',
    description:
      'Tries to connect if the broker is not connected, at most every 500 ms. If this fails: the last known values, with isConnected false.',
    operation: INFO,
    pick: 'project.broker.restInfo',
    omitNull: ['licenseInfo', 'url'],
    values: {
      'sysTopics.date': epochMs(0),
      'sysTopicsHistory.date': epochMs(0),
      'licenseInfo.validSince': LICENSE_DATES.validSince,
      'licenseInfo.validUntil': LICENSE_DATES.validUntil,
    },
    response: BROKER_INFO,
    errors: ERRORS,
  },
  {
    method: 'GET',
    path: `${BROKER_PATH}/license`,
    ...DOCUMENTED,
    operationId: 'getBrokerLicense',
    summary: 'Read the licence of a broker',
    keywords: 'license edition features plan',
    operation: READ_LICENSE,
    pick: 'project.broker.license',
    values: LICENSE_DATES,
    response: LICENSE,
    errors: [...ERRORS, 503],
  },
];
