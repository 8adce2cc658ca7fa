import type { PluginFactory } from '../control/plugin.ts';

export interface GatewayPlugins {
  readonly plugins: readonly PluginFactory[];
  readonly clientIds: readonly string[];
  /** For connections that are not in `clientIds`: the start of each client id, up to its last `-`. */
  readonly clientIdPrefixes?: readonly string[];
}

export const mergeGatewayPlugins = (parts: readonly GatewayPlugins[]): GatewayPlugins => ({
  plugins: parts.flatMap(({ plugins }) => plugins),
  clientIds: parts.flatMap(({ clientIds }) => clientIds),
  clientIdPrefixes: parts.flatMap(({ clientIdPrefixes = [] }) => clientIdPrefixes),
});
