import { requestTopic } from '../../protocol/control/envelope.ts';
import { listenerList } from '../../protocol/control/listener-list.ts';
import type { PluginFactory } from '../../protocol/control/plugin.ts';
import { runCommandOf } from '../../protocol/control/plugin-arguments.ts';
import type { MosquittoBroker } from './mosquitto-broker.ts';

/**
 * The `broker` API of a Mosquitto that this service runs, from its settings, because Mosquitto 2.0 does not provide it.
 * A TLS listener is also listed while it has no certificate and is not open.
 */
export const brokerPlugin = (broker: MosquittoBroker): PluginFactory => ({
  api: 'broker',
  create: async () => ({
    api: 'broker',
    execute: (command) =>
      runCommandOf(
        {
          listplugins: () => ({
            plugins: [{ name: 'dynamic-security', 'control-endpoints': [requestTopic('dynamic-security')] }],
          }),
          listlisteners: () => listenerList(broker.listeners),
        },
        command,
      ),
    close: () => undefined,
  }),
});
