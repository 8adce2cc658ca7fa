import { swapClusterId } from '../../gateway/cluster-id.ts';
import { enumName, type Route, type RouteInput } from '../../gateway/rest/route.ts';
import { ACL_SPELLING } from '../access-control/access-control-bodies.ts';
import { CLUSTER_MODES, inCamelCase } from '../brokers/broker-bodies.ts';
import {
  CLUSTER,
  CLUSTER_NODE,
  CLUSTER_STATES,
  CLUSTER_STATUSES,
  CLUSTERS,
  CREATED_CLUSTER,
  DELETE_QUERY,
  DELETED,
  DELETED_CLUSTERS,
  NEW_CLUSTER,
  PURGE_QUERY,
  RAFT_ROLES,
  RAFT_STATES,
  SYNC_STATES,
  VERSION_FEATURES,
} from './cluster-bodies.ts';

const ERROR = 'error { code message }';

const ITEM = `
  id: brokerId clustername: name syncmode: mode state
  nodes { broker_id: brokerId nodeid: nodeId name address port url connected: isReachable leader: isLeader ${ERROR} }
  created_at: createdAt`;

const LIST = `query ($projectId: ID!, $first: Int, $after: String) {
  project(id: $projectId) {
    clusters(first: $first, after: $after) { totalCount nodes { ${ITEM} } pageInfo { hasNextPage endCursor } }
  }
}`;

const READ = `query ($projectId: ID!, $clusterId: ID!) {
  project(id: $projectId) { cluster(id: $clusterId) { ${ITEM} } }
}`;

const STATUS = `query ($projectId: ID!) {
  project(id: $projectId) {
    clusterHealth {
      id: brokerId clustername: name status success: hasSucceeded ${ERROR}
      nodes {
        broker_id: brokerId nodeid: nodeId connected: isReachable leader: isLeader
        raft { state role current_term: term commit_index: commitIndex last_applied: lastApplied last_stored: lastStored }
        sync {
          state differences: differenceCount missing_passwords: missingPasswords
          differing_rules: differingRules { feature rolename: roleName acltype: aclType topic }
        }
        lag ${ERROR}
      }
    }
  }
}`;

const CREATE = `mutation ($input: CreateClusterInput!) {
  createCluster(input: $input) {
    connection {
      id: brokerId url username ca_cert: caCert ca_cert_file: caCertFile client_cert: clientCert
      client_cert_file: clientCertFile client_key_file: clientKeyFile verify_ca_cert: verifyCaCert
    }
  }
}`;

const JOIN = 'mutation ($input: JoinClusterInput!) { joinCluster(input: $input) { cluster { id } } }';
const LEAVE = 'mutation ($input: LeaveClusterInput!) { leaveCluster(input: $input) { cluster { id } } }';
const DELETE = 'mutation ($input: DeleteClusterInput!) { deleteCluster(input: $input) { success: hasSucceeded } }';

const OUTCOMES = `nodes { broker_id: brokerId nodeid: nodeId done: isDone ${ERROR} }`;
const DELETE_ALL = `mutation ($input: DeleteClustersInput!) {
  deleteClusters(input: $input) { results { id: brokerId clustername: name status success: hasSucceeded ${ERROR} ${OUTCOMES} } }
}`;

/** In paths, a cluster has the id of its broker entry. */
const targetOf = ({ params: { clusterId = '', ...params } }: RouteInput) => ({
  ...params,
  clusterId: swapClusterId(clusterId),
});

const nodeOf = ({ nodeid: nodeId, ...node }: Readonly<Record<string, unknown>>) => ({ ...inCamelCase(node), nodeId });

const clusterOf = ({ params, body }: RouteInput) => ({
  input: {
    ...params,
    name: body.clustername,
    mode: enumName(CLUSTER_MODES, body.syncmode),
    nodes: (body.nodes as Readonly<Record<string, unknown>>[]).map(nodeOf),
  },
});

const LIST_PATH = '/api/projects/{projectId}/clusters';
const CLUSTER_PATH = `${LIST_PATH}/{clusterId}`;
const DOCUMENTED = { section: '4.4', tag: 'Clusters' } as const;
const SPELL = { ClusterMode: CLUSTER_MODES, ClusterState: CLUSTER_STATES } as const;
const NAMES = { name: 'clustername', mode: 'syncmode' } as const;
const ALL = { first: 1_000 } as const;

export const clusterRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: LIST_PATH,
    ...DOCUMENTED,
    operationId: 'listClusters',
    summary: 'List the clusters of a project',
    keywords: 'high availability',
    operation: LIST,
    variables: ({ params }) => ({ ...params, ...ALL }),
    pick: 'project.clusters.nodes',
    total: 'project.clusters.totalCount',
    stream: { when: () => true, pageInfo: 'project.clusters.pageInfo', pageSize: ALL.first },
    spell: SPELL,
    omitNull: ['nodes.error', 'nodes.url'],
    response: CLUSTERS,
    errors: [401, 403, 404, 405, 500],
  },
  {
    method: 'POST',
    path: LIST_PATH,
    ...DOCUMENTED,
    operationId: 'createCluster',
    summary: 'Create a cluster',
    keywords: 'high availability',
    description:
      'Creates a cluster of brokers of the project. Returns the broker entry that represents the cluster, without secrets.',
    body: NEW_CLUSTER,
    inputNames: NAMES,
    operation: CREATE,
    variables: clusterOf,
    pick: 'createCluster.connection',
    values: { verify_ca_cert: Number },
    omitNull: ['*'],
    response: CREATED_CLUSTER,
    errors: [400, 401, 403, 404, 405, 500, 503],
  },
  {
    method: 'DELETE',
    path: LIST_PATH,
    ...DOCUMENTED,
    operationId: 'deleteClusters',
    summary: 'Delete all clusters of a project',
    keywords: 'remove purge',
    description: 'Each deletion succeeds or fails separately.',
    query: PURGE_QUERY,
    operation: DELETE_ALL,
    variables: ({ params, query }) => ({ input: { ...params, ...query } }),
    pick: 'deleteClusters.results',
    total: 'deleteClusters.results',
    status: 207,
    omitNull: ['error', 'nodes.error'],
    response: DELETED_CLUSTERS,
    revisions: { query: { purge: { since: '3.3' } } },
    errors: [401, 403, 404, 500],
  },
  {
    method: 'GET',
    path: `${LIST_PATH}/status`,
    ...DOCUMENTED,
    operationId: 'getClusterStatus',
    summary: 'Read the raft status of each cluster',
    keywords: 'health state leader lag',
    operation: STATUS,
    pick: 'project.clusterHealth',
    total: 'project.clusterHealth',
    status: 207,
    spell: {
      RaftState: RAFT_STATES,
      RaftRole: RAFT_ROLES,
      NodeSyncState: SYNC_STATES,
      VersionFeature: VERSION_FEATURES,
      AclType: ACL_SPELLING,
    },
    omitNull: [
      ...['error', 'nodes.error', 'nodes.raft', 'nodes.sync', 'nodes.lag', 'nodes.raft.*'],
      ...['nodes.sync.differing_rules', 'nodes.sync.differing_rules.*'],
    ],
    response: CLUSTER_STATUSES,
    errors: [401, 403, 404, 500],
  },
  {
    method: 'GET',
    path: CLUSTER_PATH,
    ...DOCUMENTED,
    operationId: 'getCluster',
    summary: 'Read a cluster',
    keywords: 'get nodes members',
    operation: READ,
    variables: targetOf,
    pick: 'project.cluster',
    spell: SPELL,
    omitNull: ['nodes.error', 'nodes.url'],
    response: CLUSTER,
    errors: [401, 403, 404, 500],
  },
  {
    method: 'DELETE',
    path: CLUSTER_PATH,
    ...DOCUMENTED,
    operationId: 'deleteCluster',
    summary: 'Delete a cluster',
    keywords: 'remove dissolve purge',
    description:
      'The brokers are not deleted. If one of them is not reachable, the response is 503 and nothing is changed, unless `purge` is true.',
    query: DELETE_QUERY,
    inputNames: NAMES,
    operation: DELETE,
    variables: (input) => {
      const { clustername: name, purge } = input.query;
      return { input: { ...targetOf(input), name, purge } };
    },
    pick: 'deleteCluster',
    response: DELETED,
    revisions: { query: { purge: { since: '3.3' } } },
    errors: [400, 401, 403, 404, 500, 503],
  },
  {
    method: 'PUT',
    path: `${CLUSTER_PATH}/join`,
    ...DOCUMENTED,
    operationId: 'joinCluster',
    summary: 'Add a node to a cluster',
    keywords: 'member',
    body: CLUSTER_NODE,
    operation: JOIN,
    variables: (input) => ({ input: { ...targetOf(input), ...nodeOf(input.body) } }),
    status: 204,
    errors: [400, 401, 403, 404, 405, 500, 503],
  },
  {
    method: 'PUT',
    path: `${CLUSTER_PATH}/leave`,
    ...DOCUMENTED,
    operationId: 'leaveCluster',
    summary: 'Remove a node from a cluster',
    keywords: 'member',
    body: CLUSTER_NODE,
    operation: LEAVE,
    variables: (input) => {
      const { broker_id: brokerId, nodeid: nodeId, url } = input.body;
      return { input: { ...targetOf(input), brokerId, nodeId, url } };
    },
    status: 204,
    errors: [400, 401, 403, 404, 405, 500, 503],
  },
];
