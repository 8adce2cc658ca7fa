import type { Bridge } from '../model/bridge.ts';
import type { BridgeOptions } from './bridge-options.ts';

/** How each kind is started; what it needs is loaded with its first bridge. */
const STARTS: Readonly<Record<string, () => Promise<(options: BridgeOptions) => Bridge>>> = {
  'mqtt-bridge': async () => (await import('../mqtt/mqtt-bridge.ts')).startMqttBridge,
  'postgresql-bridge': async () => (await import('../postgresql/postgresql-bridge.ts')).startPostgresqlBridge,
  'webhook-bridge': async () => (await import('../webhook/webhook-bridge.ts')).startWebhookBridge,
};

/** The bridge of the kind that the options name. */
export async function startBridge(options: BridgeOptions): Promise<Bridge> {
  const load = STARTS[options.bridgeId];
  if (load === undefined) throw new Error(`No kind of bridge is called ${options.bridgeId}`);
  const start = await load();
  return start(options);
}
