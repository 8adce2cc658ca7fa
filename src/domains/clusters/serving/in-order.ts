import { ServiceError } from '../../../platform/errors.ts';
import { withDeadline } from '../../brokers/deadline.ts';
import { type NodeAnswers, type NodeFailure, ofNode, type ServingNode } from './serving-nodes.ts';

/** Of the time in which a command is to be answered: the rest is for what is asked before. */
const SHARE = 0.6;

/** Nodes that keep no other from its turn: nobody knows when they answer. */
const AWAY: readonly string[] = ['BROKER_UNREACHABLE', 'BROKER_TIMEOUT'];

/**
 * Does something on one node after the other, as long as there is time: what was not begun then is not done. Errors: of the first node,
 * named, where it refuses, as the others would: nothing is done then.
 */
export async function inOrder<T>(
  nodes: readonly ServingNode[],
  timeoutMs: number,
  work: (node: ServingNode) => Promise<T>,
): Promise<NodeAnswers<T>> {
  const answers: { node: ServingNode; answer: T }[] = [];
  const failures: NodeFailure[] = [];
  const until = performance.now() + timeoutMs * SHARE;
  for (const node of nodes) {
    const leftMs = Math.floor(until - performance.now());
    try {
      if (leftMs <= 0)
        throw new ServiceError('BROKER_TIMEOUT', 'The nodes before it took all the time: nothing was sent');
      answers.push({ node, answer: await withDeadline(work(node), leftMs, `node ${node.nodeId}`) });
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      if (answers.length + failures.length === 0 && !AWAY.includes(error.code)) throw ofNode({ node, error });
      failures.push({ node, error });
    }
  }
  return { answers, failures };
}
