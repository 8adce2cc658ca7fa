import type { ClusterMode } from '../../../generated/sqlite/client.ts';
import { ServiceError } from '../../../platform/errors.ts';
import type { ControlApi } from '../../../protocol/control/envelope.ts';
import { type Fields, fieldsOf, integerOf } from '../../../protocol/control/fields.ts';
import type { ControlCaller } from '../../../protocol/control/plugin.ts';
import type { NodeRaft } from '../model/cluster.ts';

/** Control API of commercial clusters (AsyncAPI of 2.7 and 2.8). `syncmode` is documented only for REST. */
const CLUSTER_API: ControlApi = 'cedalo/ha';

export interface HaNode {
  readonly address: string;
  readonly port: number;
  readonly nodeid: number;
}

interface HaMembership {
  readonly name: string;
  readonly mode: ClusterMode;
  readonly nodes: readonly HaNode[];
  readonly own: number;
}

/** Status that a node reports. Without a response to `isLeader`, the Raft state says whether it is the leader. */
interface HaNodeStatus {
  readonly raft: NodeRaft;
  readonly isLeader: boolean;
  readonly name: string | null;
  readonly members: readonly number[] | null;
}

const MODES = { FULL: 'full', DYNSEC: 'dynsec', HP: 'hp' } as const satisfies Record<ClusterMode, string>;
const STATES = ['UNAVAILABLE', 'FOLLOWER', 'CANDIDATE', 'LEADER'] as const satisfies NodeRaft['state'][];
const ROLES = ['STANDBY', 'VOTER', 'SPARE'] as const satisfies NodeRaft['role'][];

/** Adds the receiving node to a cluster. Errors of all commands: those of the broker. */
export const addMember = (
  controls: ControlCaller,
  command: 'createCluster' | 'joinCluster',
  { name, mode, nodes, own }: HaMembership,
): Promise<unknown> =>
  controls.call(CLUSTER_API, command, {
    clustername: name,
    syncmode: MODES[mode],
    nodes: nodes.map((node) => (node.nodeid === own ? { ...node, mynode: true } : node)),
  });

/** `addNode` and `removeNode` are sent to the leader, `leaveCluster` to the node that leaves. */
export const sendNode = (
  controls: ControlCaller,
  command: 'addNode' | 'removeNode' | 'leaveCluster',
  clustername: string,
  node: HaNode,
): Promise<unknown> => controls.call(CLUSTER_API, command, { clustername, ...node });

export const deleteCluster = (controls: ControlCaller, clustername: string): Promise<unknown> =>
  controls.call(CLUSTER_API, 'deleteCluster', { clustername });

/** Name of the broker's cluster. Empty if the broker does not report it. `null` if the broker is in no cluster. */
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

export async function getNodeStatus(controls: ControlCaller, nodeid: number): Promise<HaNodeStatus> {
  const [raft, leader] = await controls.callAll(CLUSTER_API, [{ command: 'getRaftStatus' }, { command: 'isLeader' }]);
  if (raft === undefined || raft.status === 'rejected') throw raft?.reason;
  const status = fieldsOf(raft.value);
  const reply = leader?.status === 'fulfilled' ? fieldsOf(leader.value) : {};
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
    isLeader: typeof reply.leader === 'boolean' ? reply.leader : state === 'LEADER',
    name: typeof reply.clustername === 'string' ? reply.clustername : null,
    members: members?.map(idOf).filter((id) => id !== null) ?? null,
  };
}

export const isRefusal = (error: unknown): boolean =>
  error instanceof ServiceError &&
  typeof error.info?.brokerError === 'string' &&
  error.code !== 'NOT_SUPPORTED_BY_BROKER';

/** Brokers may send numbers as text. */
const numberOf = (value: unknown): number | null =>
  integerOf(typeof value === 'string' && value.trim() !== '' ? Number(value) : value);
