import type { PluginFactory } from '../control/plugin.ts';

/** The control APIs that the gateway serves for one broker, and the connections that the plugins open to it. */
export interface GatewayPlugins {
  /** Used if the broker does not serve the API itself. */
  readonly plugins: readonly PluginFactory[];
  /** Client ids of the plugins' own connections. */
  readonly clientIds: readonly string[];
  /** Prefixes of the client ids of further connections, up to their last `-`. */
  readonly clientIdPrefixes?: readonly string[];
}

export const mergeGatewayPlugins = (parts: readonly GatewayPlugins[]): GatewayPlugins => ({
  plugins: parts.flatMap(({ plugins }) => plugins),
  clientIds: parts.flatMap(({ clientIds }) => clientIds),
  clientIdPrefixes: parts.flatMap(({ clientIdPrefixes = [] }) => clientIdPrefixes),
});
