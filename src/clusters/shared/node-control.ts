import { isFields } from '../../control/fields.ts';
import type { ControlCaller } from '../../control/plugin.ts';

/** The control API that brokers of this service have while they are nodes of a cluster. */
const NODE_API = 'brokergraph/cluster';

/** What brokers of this service have for the time before and after that. */
const MEMBERSHIP_API = 'brokergraph/membership';

/** CUT_OFF: it does not reach what the nodes share, and lets nobody in. */
export type SharedNodeState = 'JOINING' | 'MEMBER' | 'CUT_OFF';

export interface SharedNode {
  readonly clusterId: string;
  readonly nodeId: number;
  readonly state: SharedNodeState;
  /** What the nodes share and it has not applied yet, in batches of changes; null: it does not know. */
  readonly behind: number | null;
  /** It still has what it had before, for when not all nodes join. */
  readonly isCopyKept: boolean;
  /** Why it is cut off; null: it does not say. */
  readonly problem: string | null;
}

/** Errors: those of the caller. What is absent or of a wrong type is a node that has not joined. */
export async function getNode(caller: ControlCaller): Promise<SharedNode> {
  const data = await caller.call(NODE_API, 'getNode');
  const { clusterId, nodeId, state, behind, isCopyKept, problem } = isFields(data) ? data : {};
  return {
    clusterId: typeof clusterId === 'string' ? clusterId : '',
    nodeId: typeof nodeId === 'number' ? nodeId : 0,
    state: state === 'MEMBER' || state === 'CUT_OFF' ? state : 'JOINING',
    behind: typeof behind === 'number' ? behind : null,
    isCopyKept: isCopyKept === true,
    problem: typeof problem === 'string' ? problem : null,
  };
}

/** What a broker has is kept on its disk, until `forgetCopy`, or until it is by itself again and takes it back. `isSeed`: it keeps it anyway. */
export const keepCopy = (caller: ControlCaller, isSeed: boolean): Promise<unknown> =>
  caller.call(MEMBERSHIP_API, 'keepCopy', { isSeed });

export const forgetCopy = (caller: ControlCaller): Promise<unknown> => caller.call(MEMBERSHIP_API, 'forgetCopy');

/** A broker that never became a node begins anew with what it had. */
export const bringBack = (caller: ControlCaller): Promise<unknown> => caller.call(MEMBERSHIP_API, 'bringBack');
