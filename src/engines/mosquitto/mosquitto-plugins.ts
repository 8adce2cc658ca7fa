import type { GatewayPlugins } from '../../protocol/hosting/gateway-plugins.ts';
import { brokerPlugin } from './broker-plugin.ts';
import { certificatePlugin } from './certificate-plugin.ts';
import type { MosquittoBroker } from './mosquitto-broker.ts';
import { watchClientId } from './mosquitto-watch.ts';

/**
 * The control APIs that Mosquitto lacks and that this service provides, because it runs the process, and the client id
 * of its monitor.
 */
export const mosquittoPlugins = (brokerId: string, broker: MosquittoBroker): GatewayPlugins => ({
  plugins: [brokerPlugin(broker), certificatePlugin(broker.certificates)],
  clientIds: [watchClientId(brokerId)],
});
