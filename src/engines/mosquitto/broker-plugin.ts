import { requestTopic } from '../../protocol/control/envelope.ts';
import { listenerList } from '../../protocol/control/listener-list.ts';
import type { PluginFactory } from '../../protocol/control/plugin.ts';
import { runCommandOf } from '../../protocol/control/plugin-arguments.ts';
import type { MosquittoBroker } from './mosquitto-broker.ts';

/**
 * `broker` beside a Mosquitto that this service runs, from its settings: 2.0 does not serve it. A TLS listener is told also while it has
 * no certificate and so is not open.
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
