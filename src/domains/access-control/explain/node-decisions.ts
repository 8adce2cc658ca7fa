import type { ServiceError } from '../../../platform/errors.ts';
import type { DecisionReason, Explanation } from '../../../protocol/apis/access-control/access-explanation.ts';

/** The decision of one node of a cluster whose nodes share their access control. */
export interface NodeDecision {
  readonly nodeId: number;
  readonly brokerId: string;
  /** `null` if the access control of the node cannot be read. */
  readonly allowed: boolean | null;
  readonly reason: DecisionReason | null;
  readonly error: ServiceError | null;
}

/** The explanation of the node that is read, and the decisions of all nodes. Without a cluster, `nodes` is empty. */
export interface ClusterExplanation extends Explanation {
  readonly nodes: readonly NodeDecision[];
}

export function nodeRemarks({ allowed }: Pick<Explanation, 'allowed'>, nodes: readonly NodeDecision[]): string[] {
  const other = nodes.filter((node) => node.allowed === !allowed);
  const unknown = nodes.filter((node) => node.allowed === null);
  return [
    ...(other.length > 0
      ? [`Nodes decide differently: the access is ${allowed ? 'denied' : 'allowed'} on ${numbers(other)}.`]
      : []),
    ...(unknown.length > 0 ? [`The decision is not known of ${numbers(unknown)}.`] : []),
  ];
}

const numbers = (nodes: readonly NodeDecision[]): string =>
  `node${nodes.length > 1 ? 's' : ''} ${nodes.map(({ nodeId }) => nodeId).join(', ')}`;
