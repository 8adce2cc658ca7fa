import type { PluginFactory } from '../control/plugin.ts';

export interface GatewayPlugins {
  /** Used if the broker does not serve the API itself. */
  readonly plugins: readonly PluginFactory[];
  /** Of the plugins' own connections. */
  readonly clientIds: readonly string[];
  /** Prefixes of the client ids of further connections, up to their last `-`. */
  readonly clientIdPrefixes?: readonly string[];
}

export const mergeGatewayPlugins = (parts: readonly GatewayPlugins[]): GatewayPlugins => ({
  plugins: parts.flatMap(({ plugins }) => plugins),
  clientIds: parts.flatMap(({ clientIds }) => clientIds),
  clientIdPrefixes: parts.flatMap(({ clientIdPrefixes = [] }) => clientIdPrefixes),
});
