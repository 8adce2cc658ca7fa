import type { GatewayPlugins } from '../../domains/brokers/broker-runtimes.ts';

/** All that several run beside one broker. */
export const allBeside = (hosted: readonly GatewayPlugins[]): GatewayPlugins => ({
  plugins: hosted.flatMap(({ plugins }) => plugins),
  clientIds: hosted.flatMap(({ clientIds }) => clientIds),
  clientIdPrefixes: hosted.flatMap(({ clientIdPrefixes = [] }) => clientIdPrefixes),
});
