import type { ClusterMode } from '../../../generated/sqlite/client.ts';
import { ServiceError } from '../../../platform/errors.ts';
import type { ControlApi } from '../../../protocol/control/envelope.ts';
import type { ControlCaller } from '../../../protocol/control/plugin.ts';
import type { NodeRaft, RaftRole, RaftState } from '../model/cluster-status.ts';

/** The control API of commercial clusters (AsyncAPI of 2.7 and 2.8; `syncmode` of `createCluster` is not in it, and in REST). */
export const CLUSTER_API: ControlApi = 'cedalo/ha';

/** A node as commands name it. */
export interface HaNode {
  readonly address: string;
  readonly port: number;
  readonly nodeid: number;
}

/** What a node is told of the cluster that it becomes a member of; `own` is its number. */
export interface HaMembership {
  readonly name: string;
  readonly mode: ClusterMode;
  readonly nodes: readonly HaNode[];
  readonly own: number;
}

/** What a node says of its cluster; the leader is told by the raft's state where `isLeader` has no answer. */
export interface HaNodeStatus {
  readonly raft: NodeRaft;
  readonly isLeader: boolean;
  /** What it knows the cluster by; null: it does not say. */
  readonly name: string | null;
  /** Numbers of the nodes that it knows; null: it does not say. */
  readonly members: readonly number[] | null;
}

const MODES = { FULL: 'full', DYNSEC: 'dynsec', HP: 'hp' } as const satisfies Record<ClusterMode, string>;
const STATES = ['UNAVAILABLE', 'FOLLOWER', 'CANDIDATE', 'LEADER'] as const satisfies RaftState[];
const ROLES = ['STANDBY', 'VOTER', 'SPARE'] as const satisfies RaftRole[];

/** To the first node. Errors of all: those of the broker. */
export const createCluster = (controls: ControlCaller, cluster: HaMembership): Promise<unknown> =>
  controls.call(CLUSTER_API, 'createCluster', memberFields(cluster));

/** To the node that joins. */
export const joinCluster = (controls: ControlCaller, cluster: HaMembership): Promise<unknown> =>
  controls.call(CLUSTER_API, 'joinCluster', memberFields(cluster));

/** To the leader. */
export const addNode = (controls: ControlCaller, clustername: string, node: HaNode): Promise<unknown> =>
  controls.call(CLUSTER_API, 'addNode', { clustername, ...node });

/** To the leader. */
export const removeNode = (controls: ControlCaller, clustername: string, node: HaNode): Promise<unknown> =>
  controls.call(CLUSTER_API, 'removeNode', { clustername, ...node });

/** To the node that leaves. */
export const leaveCluster = (controls: ControlCaller, clustername: string, node: HaNode): Promise<unknown> =>
  controls.call(CLUSTER_API, 'leaveCluster', { clustername, ...node });

/** To each node. */
export const deleteCluster = (controls: ControlCaller, clustername: string): Promise<unknown> =>
  controls.call(CLUSTER_API, 'deleteCluster', { clustername });

/** The name of the cluster that a broker is in, empty where it does not tell; null: it is in none. */
export async function getCluster(controls: ControlCaller): Promise<string | null> {
  try {
    const data = fieldsOf(await controls.call(CLUSTER_API, 'getCluster'));
    const { clustername, nodes } = fieldsOf(data.cluster ?? data);
    if (typeof clustername === 'string' && clustername !== '') return clustername;
    return Array.isArray(nodes) && nodes.length > 0 ? '' : null;
  } catch (error) {
    if (isRefusal(error)) return null;
    throw error;
  }
}

/** Of the node that is asked, as number `nodeid`. */
export async function getNodeStatus(controls: ControlCaller, nodeid: number): Promise<HaNodeStatus> {
  const [raft, leader] = await controls.callAll(CLUSTER_API, [{ command: 'getRaftStatus' }, { command: 'isLeader' }]);
  if (raft === undefined || raft.status === 'rejected') throw raft?.reason;
  const status = fieldsOf(raft.value);
  const says = leader?.status === 'fulfilled' ? fieldsOf(leader.value) : {};
  const members = Array.isArray(status.nodes) ? status.nodes.map(fieldsOf) : null;
  const idOf = ({ id, nodeid: other }: Fields) => numberOf(id ?? other);
  const own = members?.find((node) => idOf(node) === nodeid);
  const state = STATES[numberOf(status.state) ?? 0] ?? 'UNAVAILABLE';
  return {
    raft: {
      state,
      role: ROLES[numberOf(own?.role) ?? -1] ?? null,
      term: numberOf(status.current_term),
      commitIndex: numberOf(status.commit_index),
      lastApplied: numberOf(status.last_applied),
      lastStored: numberOf(status.last_stored),
    },
    isLeader: typeof says.leader === 'boolean' ? says.leader : state === 'LEADER',
    name: typeof says.clustername === 'string' ? says.clustername : null,
    members: members?.map(idOf).filter((id) => id !== null) ?? null,
  };
}

/** The broker understood a command and did not do it: everything is as it was. */
export const isRefusal = (error: unknown): boolean =>
  error instanceof ServiceError &&
  typeof error.info?.brokerError === 'string' &&
  error.code !== 'NOT_SUPPORTED_BY_BROKER';

function memberFields({ name, mode, nodes, own }: HaMembership) {
  return {
    clustername: name,
    syncmode: MODES[mode],
    nodes: nodes.map((node) => (node.nodeid === own ? { ...node, mynode: true } : node)),
  };
}

type Fields = Readonly<Record<string, unknown>>;

const fieldsOf = (value: unknown): Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {};

/** Numbers may come as text. */
function numberOf(value: unknown): number | null {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  return typeof number === 'number' && Number.isFinite(number) ? number : null;
}
