import type { Agent, IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as requestHttps } from 'node:https';
import type { LookupFunction } from 'node:net';
import { boundInterim, boundPieces } from '../../../platform/network/http-bounds.ts';
import { nodeHttp } from '../../../platform/network/node-http.ts';
import { keepCertificate } from '../../../platform/network/tls-failure.ts';
import { type TlsMaterial, tlsOptions } from '../sink/tls-material.ts';

/** Maximum bytes of a response body that are read. A longer body closes the connection. */
const MAX_RESPONSE_BYTES = 65_536;

export interface WebhookResponse {
  readonly status: number;
  readonly retryAfter: string | null;
  /** The first bytes of the body, at most `bodyBytes`. */
  readonly body: Buffer;
}

/**
 * Sends requests to one endpoint, one at a time, over a persistent connection. Redirects are not followed, because they
 * could lead to a host that is not allowed.
 */
export class WebhookRequests {
  readonly #url: URL;
  readonly #agent: Agent;
  readonly #bodyBytes: number;

  /** `bodyBytes`: of the body of each response. Default: none. */
  constructor(url: string, tls: TlsMaterial, lookup: LookupFunction | undefined, bodyBytes = 0) {
    this.#url = new URL(url);
    this.#bodyBytes = bodyBytes;
    const options = { keepAlive: true, maxSockets: 1, ...(lookup === undefined ? {} : { lookup }) };
    this.#agent = this.#isTls ? new HttpsAgent({ ...options, ...tlsOptions(tls) }) : new nodeHttp.Agent(options);
  }

  /** Resolves with the status and headers, also if the body is incomplete. Errors: that of the socket; AbortError. */
  post(body: Buffer, headers: Readonly<Record<string, string>>, signal: AbortSignal): Promise<WebhookResponse> {
    return this.#send('POST', body, headers, signal);
  }

  /** A request that changes nothing (RFC 9110, 9.2.1), as `post`. */
  options(headers: Readonly<Record<string, string>>, signal: AbortSignal): Promise<WebhookResponse> {
    return this.#send('OPTIONS', Buffer.alloc(0), headers, signal);
  }

  close(): void {
    this.#agent.destroy();
  }

  get #isTls(): boolean {
    return this.#url.protocol === 'https:';
  }

  #send(
    method: string,
    body: Buffer,
    headers: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<WebhookResponse> {
    return new Promise((resolve, reject) => {
      const start = this.#isTls ? requestHttps : nodeHttp.request;
      const length = { 'content-length': String(body.length) };
      const request = start(this.#url, {
        method,
        agent: this.#agent,
        signal,
        headers: { ...headers, ...length },
      });
      request.on('error', reject);
      request.on('socket', keepCertificate);
      boundInterim(request);
      request.on('response', (response) => {
        const { statusCode: status = 0, headers: received } = response;
        // Later errors are those of the body.
        request.off('error', reject).on('error', () => undefined);
        const retryAfter = received['retry-after'] ?? null;
        readBody(response, this.#bodyBytes, (start) => resolve({ status, retryAfter, body: start }));
      });
      request.end(body);
    });
  }
}

function readBody(response: IncomingMessage, bodyBytes: number, done: (start: Buffer) => void): void {
  let bytes = 0;
  const read: Buffer[] = [];
  boundPieces(response);
  response.on('error', () => undefined);
  response.on('close', () => done(Buffer.concat(read)));
  response.on('data', (chunk: Buffer) => {
    if (bytes < bodyBytes) read.push(chunk.subarray(0, bodyBytes - bytes));
    bytes += chunk.length;
    if (bytes > MAX_RESPONSE_BYTES) response.destroy();
  });
}
