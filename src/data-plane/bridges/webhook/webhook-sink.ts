import type { BridgeOptions } from '../hosting/bridge-options.ts';
import { hostsOf } from '../model/bridge-kind.ts';
import type { BridgeMessage } from '../model/bridge-message.ts';
import { type Delivered, type Sink, SinkFailure, type SinkTest } from '../sink/sink.ts';
import { answerFailure, requestFailure } from './webhook-answer.ts';
import { webhookBody } from './webhook-body.ts';
import { TIMEOUT_MS, type WebhookConnectionConfig } from './webhook-config.ts';
import { WebhookRequests, type WebhookResponse } from './webhook-requests.ts';
import { signaturesOf } from './webhook-signature.ts';

/** One endpoint: a POST for each batch, signed again for each attempt. */
export class WebhookSink implements Sink {
  readonly #config: WebhookConnectionConfig;
  readonly #brokerId: string;
  readonly #requests: WebhookRequests;
  #request: AbortController | null = null;

  constructor(config: WebhookConnectionConfig, { brokerId, rules }: Pick<BridgeOptions, 'brokerId' | 'rules'>) {
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
    const headers = {
      'content-type': 'application/json',
      'webhook-id': id,
      'webhook-timestamp': String(timestamp),
      'webhook-signature': signaturesOf(secret, id, timestamp, bytes),
    };
    const { status, retryAfter } = await this.#send(headers, (all, signal) => this.#requests.post(bytes, all, signal));
    const failure = answerFailure(status, retryAfter);
    if (failure) throw failure;
    return { rejected: 0, reason: null };
  }

  /** A redirect depends on the address only; other statuses may be those of the method. */
  async test(): Promise<SinkTest> {
    const { status } = await this.#send({}, (all, signal) => this.#requests.options(all, signal));
    const failure = status >= 300 && status < 400 ? answerFailure(status, null) : null;
    if (failure) throw failure;
    return { responseStatus: status };
  }

  async setAside(_message: BridgeMessage, reason: string): Promise<Delivered> {
    return { rejected: 1, reason };
  }

  async close(): Promise<void> {
    this.#request?.abort(new SinkFailure('UNREACHABLE', 'The connection is closed'));
    this.#requests.close();
  }

  /** Errors: SinkFailure. */
  async #send(
    own: Readonly<Record<string, string>>,
    send: (headers: Readonly<Record<string, string>>, signal: AbortSignal) => Promise<WebhookResponse>,
  ): Promise<WebhookResponse> {
    const { headers, timeoutMs = TIMEOUT_MS } = this.#config;
    const request = new AbortController();
    this.#request = request;
    const timer = setTimeout(
      () => request.abort(new SinkFailure('UNREACHABLE', `The endpoint did not respond within ${timeoutMs} ms`)),
      timeoutMs,
    );
    try {
      return await send({ 'user-agent': 'brokergraph', ...headers, ...own }, request.signal);
    } catch (error) {
      throw request.signal.aborted ? request.signal.reason : requestFailure(error);
    } finally {
      clearTimeout(timer);
      this.#request = null;
    }
  }
}
