import { type BridgeRules, sinkHosts } from '../model/bridge-kind.ts';
import type { BridgeMessage } from '../model/bridge-message.ts';
import { type Delivered, type Sink, SinkFailure } from '../sink/sink.ts';
import { answerFailure, requestFailure } from './webhook-answer.ts';
import { webhookBody } from './webhook-body.ts';
import { TIMEOUT_MS, type WebhookConnectionConfig } from './webhook-config.ts';
import { WebhookRequests } from './webhook-request.ts';
import { signaturesOf } from './webhook-signature.ts';

interface WebhookSinkOptions {
  readonly brokerId: string;
  readonly rules: BridgeRules;
}

/** One endpoint: a POST for each batch, signed again for each attempt. */
export class WebhookSink implements Sink {
  readonly #config: WebhookConnectionConfig;
  readonly #brokerId: string;
  readonly #requests: WebhookRequests;
  #request: AbortController | null = null;

  constructor(config: WebhookConnectionConfig, { brokerId, rules }: WebhookSinkOptions) {
    this.#config = config;
    this.#brokerId = brokerId;
    this.#requests = new WebhookRequests(config.url, config, sinkHosts(rules, config).lookup);
  }

  /** There is no connection between requests. */
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

  /** There is no other place for the message. */
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
