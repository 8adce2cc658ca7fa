import { isFields } from '../../control/fields.ts';
import type { ControlCaller } from '../../control/plugin.ts';

/** The control API that brokers of this service have while they are nodes of a cluster. */
const NODE_API = 'brokergraph/cluster';

/** CUT_OFF: it does not reach what the nodes share, and lets nobody in. */
export type SharedNodeState = 'JOINING' | 'MEMBER' | 'CUT_OFF';

export interface SharedNode {
  readonly clusterId: string;
  readonly nodeId: number;
  readonly state: SharedNodeState;
  /** What the nodes share and it has not applied yet, in batches of changes; null: it does not know. */
  readonly behind: number | null;
}

/** Errors: those of the caller. What is absent or of a wrong type is a node that has not joined. */
export async function getNode(caller: ControlCaller): Promise<SharedNode> {
  const data = await caller.call(NODE_API, 'getNode');
  const { clusterId, nodeId, state, behind } = isFields(data) ? data : {};
  return {
    clusterId: typeof clusterId === 'string' ? clusterId : '',
    nodeId: typeof nodeId === 'number' ? nodeId : 0,
    state: state === 'MEMBER' || state === 'CUT_OFF' ? state : 'JOINING',
    behind: typeof behind === 'number' ? behind : null,
  };
}
