import type { BridgeMessage } from '../model/bridge-message.ts';
import { type Delivered, type Sink, SinkFailure } from '../sink/sink.ts';
import { answerFailure, requestFailure } from './webhook-answer.ts';
import { webhookBody } from './webhook-body.ts';
import { TIMEOUT_MS, type WebhookConnectionConfig } from './webhook-config.ts';
import { signaturesOf } from './webhook-signature.ts';

/** Of an answer, so that its connection can be used again; longer ones end it. */
const MAX_ANSWER_BYTES = 65_536;

/** One endpoint: a POST for each batch, signed anew at each attempt. */
export class WebhookSink implements Sink {
  readonly #config: WebhookConnectionConfig;
  readonly #brokerId: string;
  #request: AbortController | null = null;

  constructor(config: WebhookConnectionConfig, brokerId: string) {
    this.#config = config;
    this.#brokerId = brokerId;
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

  /** There is no other place for it. */
  async setAside(_message: BridgeMessage, reason: string): Promise<Delivered> {
    return { rejected: 1, reason };
  }

  async close(): Promise<void> {
    this.#request?.abort(new SinkFailure('UNREACHABLE', 'The connection is closed'));
  }

  async #post(body: Buffer<ArrayBuffer>, signed: Readonly<Record<string, string>>) {
    const { url, headers, timeoutMs = TIMEOUT_MS } = this.#config;
    const request = new AbortController();
    this.#request = request;
    const timer = setTimeout(
      () => request.abort(new SinkFailure('UNREACHABLE', `The endpoint did not answer within ${timeoutMs} ms`)),
      timeoutMs,
    );
    try {
      const answer = await fetch(url, {
        method: 'POST',
        body,
        headers: { 'user-agent': 'brokergraph', ...headers, 'content-type': 'application/json', ...signed },
        // An endpoint that is allowed could lead to one that is not.
        redirect: 'manual',
        signal: request.signal,
      });
      await readAway(answer);
      return answerFailure(answer.status, answer.headers.get('retry-after'));
    } catch (error) {
      return error instanceof SinkFailure ? error : requestFailure(error);
    } finally {
      clearTimeout(timer);
      this.#request = null;
    }
  }
}

/** The status says all; what fails here fails after the answer. */
async function readAway({ body }: Response): Promise<void> {
  if (body === null) return;
  const reader = body.getReader();
  try {
    for (let bytes = 0; bytes <= MAX_ANSWER_BYTES; ) {
      const { done, value } = await reader.read();
      if (done) return;
      bytes += value.length;
    }
    await reader.cancel();
  } catch {
    // An answer that is cut off, or never ends, is one all the same.
  }
}
