import type { JsonSchema, Spelling } from '../../gateway/rest/route.ts';
import { BOOLEAN, closed, INTEGER, NUMBER, STRING } from '../../gateway/rest/schemas.ts';
import { ACL_SPELLING } from '../access-control/access-control-bodies.ts';
import { CLUSTER_MODES } from '../brokers/broker-bodies.ts';

export const CLUSTER_STATES = { ACTIVE: 'active', DEGRADED: 'degraded', INACTIVE: 'inactive' } as const;

const oneOf = (spelling: Spelling): JsonSchema => ({ type: 'string', enum: Object.values(spelling) });
const listOf = (items: JsonSchema): JsonSchema => ({ type: 'array', items });

/** The documented interface declares integers as `number`. */
const POSITIVE = { type: 'number', multipleOf: 1, minimum: 1 } as const;
const NODE_ID: JsonSchema = { ...POSITIVE, description: 'Number of the node, unique in the cluster.' };
const REACHED_AT = 'at which the other nodes connect to the node.';
const PORT: JsonSchema = { ...POSITIVE, maximum: 65_535, description: `Port ${REACHED_AT}` };
const ADDRESS: JsonSchema = { type: 'string', minLength: 1, description: `Address ${REACHED_AT}` };
const AS_ENTRY: JsonSchema = { type: 'string', description: 'If given, it must equal the value in the broker entry.' };

const FILES = { client_cert_file: AS_ENTRY, client_key_file: AS_ENTRY, ca_cert_file: AS_ENTRY };
const CONNECTION = { username: AS_ENTRY, ...FILES };
const NODE = { broker_id: STRING, url: AS_ENTRY, nodeid: NODE_ID, name: STRING, address: ADDRESS, port: PORT };

export const NEW_CLUSTER: JsonSchema = closed(
  {
    clustername: { type: 'string', minLength: 1 },
    nodes: listOf(
      closed(
        { ...NODE, ...CONNECTION, password: AS_ENTRY, client_cert: AS_ENTRY, client_key: AS_ENTRY, ca_cert: AS_ENTRY },
        { required: Object.keys(NODE), title: 'BrokerNode' },
      ),
    ),
    syncmode: oneOf(CLUSTER_MODES),
  },
  {
    title: 'NewCluster',
    examples: [
      {
        clustername: 'plant',
        syncmode: 'dynsec',
        nodes: [1, 2].map((nodeid) => ({
          broker_id: `brk_${nodeid}`,
          url: `mqtt://10.0.0.${nodeid}:1883`,
          nodeid,
          name: `node ${nodeid}`,
          address: `10.0.0.${nodeid}`,
          port: 7000,
        })),
      },
    ],
  },
);

export const CLUSTER_NODE: JsonSchema = closed(
  { ...NODE, ...CONNECTION },
  {
    required: [],
    title: 'ClusterNode',
    examples: [{ broker_id: 'brk_3', nodeid: 3, address: '10.0.0.3', port: 7000 }],
  },
);

export const CREATED_CLUSTER: JsonSchema = closed(
  {
    id: STRING,
    url: STRING,
    username: STRING,
    ca_cert: STRING,
    ca_cert_file: STRING,
    client_cert: STRING,
    client_cert_file: STRING,
    client_key_file: STRING,
    verify_ca_cert: { type: 'number', enum: [0, 1] },
  },
  { required: ['id', 'url', 'verify_ca_cert'], title: 'CreatedCluster' },
);

const NODE_ERROR = closed({ code: STRING, message: STRING }, { title: 'ClusterNodeError' });
const NODE_STATE = { broker_id: STRING, nodeid: INTEGER, connected: BOOLEAN, leader: BOOLEAN };
/** The error is omitted if there is none. */
const withError = (required: Readonly<Record<string, JsonSchema>>, optional = {}, more = {}): JsonSchema =>
  closed({ ...required, ...optional, error: NODE_ERROR }, { required: Object.keys(required), ...more });

export const CLUSTER: JsonSchema = closed(
  {
    id: STRING,
    clustername: STRING,
    syncmode: oneOf(CLUSTER_MODES),
    state: oneOf(CLUSTER_STATES),
    nodes: listOf(withError({ ...NODE_STATE, name: STRING, address: STRING, port: INTEGER }, { url: STRING })),
    created_at: STRING,
  },
  { title: 'Cluster' },
);

export const CLUSTERS = listOf(CLUSTER);

const RESULT = {
  id: STRING,
  clustername: STRING,
  status: { type: 'integer', description: 'HTTP status for this cluster alone.' },
  success: BOOLEAN,
} as const;

const DONE: JsonSchema = {
  type: 'boolean',
  description: 'Whether the operation succeeded on this node. `false` if this node or another node failed.',
};
const OUTCOMES = listOf(
  withError({ broker_id: STRING, nodeid: INTEGER, done: DONE }, {}, { title: 'ClusterNodeOutcome' }),
);

export const DELETED_CLUSTERS = listOf(withError({ ...RESULT, nodes: OUTCOMES }, {}, { title: 'DeletedCluster' }));

/** Spelling of the cluster API of commercial brokers. */
export const RAFT_STATES = {
  UNAVAILABLE: 'unavailable',
  FOLLOWER: 'follower',
  CANDIDATE: 'candidate',
  LEADER: 'leader',
} as const;
export const RAFT_ROLES = { STANDBY: 'standby', VOTER: 'voter', SPARE: 'spare' } as const;
export const SYNC_STATES = { EQUAL: 'equal', BEHIND: 'behind', DRIFTED: 'drifted', UNKNOWN: 'unknown' } as const;

export const VERSION_FEATURES = {
  SUBSTITUTION: 'substitution',
  WILDCARD_FLAG: 'wildcard_flag',
  FILTER_MATCHING: 'filter_matching',
} as const;

const RAFT: JsonSchema = closed(
  {
    state: oneOf(RAFT_STATES),
    role: oneOf(RAFT_ROLES),
    current_term: NUMBER,
    commit_index: NUMBER,
    last_applied: NUMBER,
    last_stored: NUMBER,
  },
  { required: ['state'], title: 'NodeRaft' },
);

const DIFFERING_RULE: JsonSchema = closed(
  {
    feature: oneOf(VERSION_FEATURES),
    rolename: STRING,
    acltype: { ...oneOf(ACL_SPELLING), description: 'Missing if the role denies subscriptions with wildcards.' },
    topic: STRING,
  },
  { required: ['feature', 'rolename'], title: 'DifferingRule' },
);

const SYNC: JsonSchema = closed(
  {
    state: oneOf(SYNC_STATES),
    differences: { type: 'integer', description: 'Number of differences from the access control of the cluster.' },
    missing_passwords: { type: 'array', items: STRING },
    differing_rules: {
      ...listOf(DIFFERING_RULE),
      description:
        'At most 100 rules that the node evaluates otherwise than newer nodes, or cannot keep, because of its version. Missing if the version is not known.',
    },
  },
  {
    required: ['state', 'differences', 'missing_passwords'],
    title: 'NodeSync',
    description: 'Only in clusters that this service synchronizes.',
  },
);

const NODE_STATUS = withError(NODE_STATE, { raft: RAFT, sync: SYNC, lag: NUMBER });
export const CLUSTER_STATUSES = listOf(
  withError({ ...RESULT, nodes: listOf(NODE_STATUS) }, {}, { title: 'ClusterStatus' }),
);

export const DELETED: JsonSchema = closed({ success: BOOLEAN }, { title: 'Success' });

const PURGE: JsonSchema = {
  type: 'boolean',
  default: false,
  description: 'Whether to delete the cluster even if a broker is not reachable.',
};
export const PURGE_QUERY: JsonSchema = closed({ purge: PURGE }, { required: [] });
export const DELETE_QUERY: JsonSchema = closed(
  {
    clustername: {
      type: 'string',
      description:
        'If given, it must equal the name of the cluster. Protects against deleting another cluster by mistake.',
    },
    purge: PURGE,
  },
  { required: [] },
);
