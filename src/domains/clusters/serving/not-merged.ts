import type { ControlApi } from '../../../protocol/control/envelope.ts';
import type { PluginFactory } from '../../../protocol/control/plugin.ts';
import type { ServingNodes } from './serving-nodes.ts';

/** Why something would be half done on a cluster whose nodes have messages of their own, and what helps. */
export function notMergedReason(what: string, nodes: ServingNodes): string {
  const names = nodes.all().map(({ nodeId, broker }) => `${nodeId}: "${broker.name}" (${broker.id})`);
  return `The nodes of this cluster do not exchange messages, so ${what} of the cluster would see those of one node alone: use the brokers of its nodes (${names.join(', ')})`;
}

/** An API that nobody serves for the cluster, also where the node by which it is reached does. */
export const notMergedPlugin = (api: ControlApi, what: string, nodes: ServingNodes): PluginFactory => ({
  api,
  instead: true,
  create: async () => ({ unavailable: notMergedReason(what, nodes) }),
});
