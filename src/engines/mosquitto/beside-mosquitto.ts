import type { GatewayPlugins } from '../../domains/brokers/broker-runtimes.ts';
import { brokerPlugin } from './broker-plugin.ts';
import { certificatePlugin } from './certificate-plugin.ts';
import type { MosquittoBroker } from './mosquitto-broker.ts';
import { watchClientId } from './mosquitto-watch.ts';

/** The control APIs that a Mosquitto lacks and this service serves beside it, because it runs it, and the connection that watches it. */
export const besideMosquitto = (brokerId: string, broker: MosquittoBroker): GatewayPlugins => ({
  plugins: [brokerPlugin(broker), certificatePlugin(broker.certificates)],
  clientIds: [watchClientId(brokerId)],
});
