import type { ControlApi } from '../../../protocol/control/envelope.ts';
import type { PluginFactory, PluginHost } from '../../../protocol/control/plugin.ts';
import { runCommandOf } from '../../../protocol/control/plugin-arguments.ts';

export interface ClusterCommands {
  /** By command name in lower case. */
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
