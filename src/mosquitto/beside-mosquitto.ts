import type { PluginFactory } from '../control/plugin.ts';
import { brokerPlugin } from './broker-plugin.ts';
import { certificatePlugin } from './certificate-plugin.ts';
import type { MosquittoBroker } from './mosquitto-broker.ts';

/** The control APIs that a Mosquitto lacks and this service serves beside it, because it runs it. */
export const besideMosquitto = (broker: MosquittoBroker): readonly PluginFactory[] => [
  brokerPlugin(broker),
  certificatePlugin(broker.certificates),
];
