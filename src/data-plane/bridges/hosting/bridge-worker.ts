/** The worker thread of all bridges that run in the gateway, so that a busy bridge does not delay other requests. */
import { serveInstances } from '../../../protocol/hosting/serve-instances.ts';
import type { Bridge } from '../model/bridge.ts';
import { bridgeInstances } from './bridge-instances.ts';
import type { BridgeOptions } from './bridge-options.ts';

/** Starts a bridge by its kind; the module of the kind is loaded with its first bridge. */
const STARTS: Readonly<Record<string, () => Promise<(options: BridgeOptions) => Bridge>>> = {
  'mqtt-bridge': async () => (await import('../mqtt/mqtt-bridge.ts')).startMqttBridge,
  'postgresql-bridge': async () => (await import('../postgresql/postgresql-bridge.ts')).startPostgresqlBridge,
  'webhook-bridge': async () => (await import('../webhook/webhook-bridge.ts')).startWebhookBridge,
};

serveInstances(
  bridgeInstances(async (options) => {
    const start = await STARTS[options.bridgeId]?.();
    if (start === undefined) throw new Error(`unknown kind of bridge: ${options.bridgeId}`);
    return start(options);
  }),
);
