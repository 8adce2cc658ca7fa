import type { ControlApi } from '../../../protocol/control/envelope.ts';
import type { PluginFactory, PluginHost } from '../../../protocol/control/plugin.ts';
import { runCommandOf } from '../../../protocol/control/plugin-arguments.ts';
import type { NodeEntry } from './cluster-nodes.ts';

export interface ClusterCommands {
  readonly commands: Parameters<typeof runCommandOf>[0];
  readonly close?: () => void;
}

/** Creates a gateway plugin that serves an API for all nodes of a cluster, even if the contact node serves the API. */
export const clusterPlugin = (api: ControlApi, open: (host: PluginHost) => ClusterCommands): PluginFactory => ({
  api,
  instead: true,
  create: async (host) => {
    const { commands, close = () => undefined } = open(host);
    return { api, execute: (command) => runCommandOf(commands, command), close };
  },
});

/** Why a cluster whose nodes do not exchange messages does not support a feature, and which brokers to use instead. */
export function unsupportedReason(feature: string, nodes: readonly NodeEntry[]): string {
  const names = nodes.map(({ nodeId, broker }) => `${nodeId}: "${broker.name}" (${broker.id})`);
  return `The nodes of this cluster do not exchange messages, so ${feature} of the cluster would receive the messages of only one node: use the brokers of its nodes (${names.join(', ')})`;
}

/** Reports an API as unavailable for the cluster, even if the contact node supports it. */
export const unsupportedPlugin = (
  api: ControlApi,
  feature: string,
  nodes: () => readonly NodeEntry[],
): PluginFactory => ({
  api,
  instead: true,
  create: async () => ({ unavailable: { code: 'NODES_SEPARATE', text: unsupportedReason(feature, nodes()) } }),
});
