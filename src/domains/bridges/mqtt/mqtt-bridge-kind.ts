import { type BridgeKind, hrefOf } from '../model/bridge-kind.ts';
import type { MqttBridgeConfig, MqttConnectionConfig } from './mqtt-bridge-config.ts';
import { mqttBridgeIssues } from './mqtt-bridge-issues.ts';
import { mqttBridgeSchema } from './mqtt-bridge-schema.ts';

/** Bridges to other MQTT brokers, like those of Mosquitto. */
export const mqttBridgeKind: BridgeKind = {
  id: 'mqtt-bridge',
  api: 'cedalo/mqtt-bridge',
  name: 'MQTT bridge',
  schema: mqttBridgeSchema,
  empty: { connections: [] },
  // Called for configurations that fit the schema only.
  check: (config, rules) => mqttBridgeIssues(config as MqttBridgeConfig, rules),
  addressOf: (connection) => hrefOf((connection as MqttConnectionConfig).url),
};
