/** Runs one MQTT bridge: `node bridge-process.mjs <options and configuration as JSON>`. Sends each status. */
import { startMqttBridge } from '../../../../src/data-plane/bridges/mqtt/mqtt-bridge.ts';

const { options, config } = JSON.parse(process.argv[2]);
const bridge = startMqttBridge({
  ...options,
  onFault: (error) => {
    throw error;
  },
});
bridge.onStatus(() => process.send(bridge.status()));
process.on('disconnect', () => process.exit());
await bridge.apply(config);
