import { Agent as HttpAgent, type IncomingMessage, request as requestHttp } from 'node:http';
import { Agent as HttpsAgent, request as requestHttps } from 'node:https';
import type { LookupFunction } from 'node:net';
import { type TlsMaterial, tlsOptions } from '../sink/tls-material.ts';

/**
 * Maximum bytes of a response body that are read, so that its connection can be reused. A longer one closes the
 * connection.
 */
const MAX_ANSWER_BYTES = 65_536;

interface WebhookAnswer {
  readonly status: number;
  /** The header. */
  readonly retryAfter: string | null;
}

/**
 * Sends requests to one endpoint, one at a time, over a persistent connection. Redirects are not followed, because they
 * could lead to a host that is not allowed.
 */
export class WebhookRequests {
  readonly #url: URL;
  readonly #agent: HttpAgent;

  constructor(url: string, tls: TlsMaterial, lookup: LookupFunction | undefined) {
    this.#url = new URL(url);
    const options = { keepAlive: true, maxSockets: 1, ...(lookup === undefined ? {} : { lookup }) };
    this.#agent = this.#isTls ? new HttpsAgent({ ...options, ...tlsOptions(tls) }) : new HttpAgent(options);
  }

  /** Resolves with the status and headers, also if the body is incomplete. Errors: that of the socket; AbortError. */
  post(body: Buffer, headers: Readonly<Record<string, string>>, signal: AbortSignal): Promise<WebhookAnswer> {
    return new Promise((resolve, reject) => {
      const start = this.#isTls ? requestHttps : requestHttp;
      const length = { 'content-length': String(body.length) };
      const request = start(this.#url, {
        method: 'POST',
        agent: this.#agent,
        signal,
        headers: { ...headers, ...length },
      });
      request.on('error', reject);
      request.on('response', (answer) => {
        const { statusCode: status = 0, headers: received } = answer;
        // Later errors are those of the body.
        request.off('error', reject).on('error', () => undefined);
        readAway(answer, () => resolve({ status, retryAfter: received['retry-after'] ?? null }));
      });
      request.end(body);
    });
  }

  /** Closes the idle connection. */
  close(): void {
    this.#agent.destroy();
  }

  get #isTls(): boolean {
    return this.#url.protocol === 'https:';
  }
}

function readAway(answer: IncomingMessage, done: () => void): void {
  let bytes = 0;
  answer.on('error', () => undefined);
  answer.on('close', done);
  answer.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > MAX_ANSWER_BYTES) answer.destroy();
  });
}
