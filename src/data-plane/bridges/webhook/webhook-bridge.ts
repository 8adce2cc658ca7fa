import type { BridgeOptions } from '../hosting/bridge-options.ts';
import type { Bridge } from '../model/bridge.ts';
import { hostsOf } from '../model/bridge-kind.ts';
import type { BridgeMessage } from '../model/bridge-message.ts';
import { type Delivered, type Sink, SinkFailure } from '../sink/sink.ts';
import { SinkBridge } from '../sink/sink-bridge.ts';
import { answerFailure, requestFailure } from './webhook-answer.ts';
import { webhookBody } from './webhook-body.ts';
import { WEBHOOK_BATCH } from './webhook-bridge-kind.ts';
import { TIMEOUT_MS, type WebhookBridgeConfig, type WebhookConnectionConfig } from './webhook-config.ts';
import { WebhookRequests } from './webhook-requests.ts';
import { signaturesOf } from './webhook-signature.ts';

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

/** One endpoint: a POST for each batch, signed again for each attempt. */
class WebhookSink implements Sink {
  readonly #config: WebhookConnectionConfig;
  readonly #brokerId: string;
  readonly #requests: WebhookRequests;
  #request: AbortController | null = null;

  constructor(config: WebhookConnectionConfig, { brokerId, rules }: BridgeOptions) {
    this.#config = config;
    this.#brokerId = brokerId;
    this.#requests = new WebhookRequests(config.url, config, hostsOf(rules, config).lookup);
  }

  async open(): Promise<void> {}

  onLost(): void {}

  async deliver(batch: readonly BridgeMessage[]): Promise<Delivered> {
    const { name, secret, payload = 'text' } = this.#config;
    const { id, bytes } = webhookBody(batch, { brokerId: this.#brokerId, connection: name, payload });
    const timestamp = Math.floor(Date.now() / 1_000);
    const failure = await this.#post(bytes, {
      'webhook-id': id,
      'webhook-timestamp': String(timestamp),
      'webhook-signature': signaturesOf(secret, id, timestamp, bytes),
    });
    if (failure) throw failure;
    return { rejected: 0, reason: null };
  }

  async setAside(_message: BridgeMessage, reason: string): Promise<Delivered> {
    return { rejected: 1, reason };
  }

  async close(): Promise<void> {
    this.#request?.abort(new SinkFailure('UNREACHABLE', 'The connection is closed'));
    this.#requests.close();
  }

  async #post(body: Buffer, signed: Readonly<Record<string, string>>) {
    const { headers, timeoutMs = TIMEOUT_MS } = this.#config;
    const request = new AbortController();
    this.#request = request;
    const timer = setTimeout(
      () => request.abort(new SinkFailure('UNREACHABLE', `The endpoint did not respond within ${timeoutMs} ms`)),
      timeoutMs,
    );
    try {
      const all = { 'user-agent': 'brokergraph', ...headers, 'content-type': 'application/json', ...signed };
      const { status, retryAfter } = await this.#requests.post(body, all, request.signal);
      return answerFailure(status, retryAfter);
    } catch (error) {
      return request.signal.aborted ? request.signal.reason : requestFailure(error);
    } finally {
      clearTimeout(timer);
      this.#request = null;
    }
  }
}
