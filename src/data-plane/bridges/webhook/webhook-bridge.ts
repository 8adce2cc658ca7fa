import type { BridgeOptions } from '../hosting/bridge-options.ts';
import type { Bridge } from '../model/bridge.ts';
import { SinkBridge } from '../sink/sink-bridge.ts';
import { WEBHOOK_BATCH } from './webhook-bridge-kind.ts';
import type { WebhookBridgeConfig, WebhookConnectionConfig } from './webhook-config.ts';
import { WebhookSink } from './webhook-sink.ts';

/**
 * Starts a bridge that sends messages to HTTP endpoints. Each connection of the configuration has its own session with
 * the broker and its own queue, and sends one request at a time. Messages are acknowledged, or deleted from disk, after
 * the response of the endpoint. A request without a response is sent again with the same `webhook-id`.
 */
export function startWebhookBridge(options: BridgeOptions): Bridge<WebhookBridgeConfig> {
  return new SinkBridge<WebhookConnectionConfig>(options, {
    batch: WEBHOOK_BATCH,
    topicsOf: ({ topics, qos = 1 }) => topics.map((filter) => ({ filter, qos }) as const),
    wantsIds: () => true,
    createSink: (config) => new WebhookSink(config, options),
  });
}
