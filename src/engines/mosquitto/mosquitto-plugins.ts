import { requestTopic } from '../../protocol/control/envelope.ts';
import { listenerList } from '../../protocol/control/listener-list.ts';
import type { PluginFactory } from '../../protocol/control/plugin.ts';
import type { GatewayPlugins } from '../../protocol/hosting/gateway-plugins.ts';
import { tablePlugin } from '../table-plugin.ts';
import { certificatePlugin } from './certificate-plugin.ts';
import type { MosquittoBroker } from './mosquitto-broker.ts';
import { watchClientId } from './mosquitto-watch.ts';

/** The control APIs that Mosquitto lacks and that this service provides, and the client id of its monitor. */
export const mosquittoPlugins = (brokerId: string, broker: MosquittoBroker): GatewayPlugins => ({
  plugins: [brokerPlugin(broker), certificatePlugin(broker.certificates)],
  clientIds: [watchClientId(brokerId)],
});

/** `broker`, which Mosquitto 2.0 does not provide. A TLS listener is also listed while it has no certificate. */
const brokerPlugin = (broker: MosquittoBroker): PluginFactory => ({
  api: 'broker',
  create: async () =>
    tablePlugin('broker', {
      listplugins: () => ({
        plugins: [{ name: 'dynamic-security', 'control-endpoints': [requestTopic('dynamic-security')] }],
      }),
      listlisteners: () => listenerList(broker.listeners),
    }),
});
