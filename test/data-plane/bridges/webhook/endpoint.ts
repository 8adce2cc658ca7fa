import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer, type ServerOptions } from 'node:https';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

interface SentMessage {
  readonly id: string;
  readonly topic: string;
  readonly payload?: string;
  readonly payloadBase64?: string;
  readonly json?: unknown;
  readonly [field: string]: unknown;
}

export interface SentRequest {
  readonly path: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly messages: readonly SentMessage[];
  /** Performance clock, milliseconds. */
  readonly at: number;
}

/** Answers one request; what it returns is the status, undefined: it answers by itself. */
type Answer = (request: SentRequest, response: ServerResponse, index: number) => number | undefined;

export interface Endpoint {
  readonly url: string;
  readonly requests: readonly SentRequest[];
  /** Of those that were answered with 2xx, in order. */
  readonly taken: readonly SentMessage[];
  /** How many were there at once, at most. */
  readonly mostAtOnce: number;
  stop(): Promise<void>;
}

/** A real HTTP server on a free port, stopped when the test ends. `tls`: with https. */
export async function startEndpoint(
  answer: Answer = () => 200,
  port = 0,
  tls: ServerOptions | null = null,
): Promise<Endpoint> {
  const requests: SentRequest[] = [];
  const taken: SentMessage[] = [];
  let atOnce = 0;
  let mostAtOnce = 0;
  const serve = async (incoming: IncomingMessage, response: ServerResponse) => {
    atOnce += 1;
    mostAtOnce = Math.max(mostAtOnce, atOnce);
    response.on('close', () => {
      atOnce -= 1;
    });
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString();
    const messages = text === '' ? [] : JSON.parse(text).data.messages;
    const request = { path: incoming.url, headers: incoming.headers, text, messages, at: performance.now() };
    requests.push(request);
    const status = answer(request, response, requests.length - 1);
    if (status === undefined) return;
    if (status < 300) taken.push(...messages);
    response.writeHead(status).end('an answer');
  };
  const onRequest = (incoming: IncomingMessage, response: ServerResponse) => {
    serve(incoming, response).catch(() => response.destroy());
  };
  const server = (tls === null ? createServer(onRequest) : createTlsServer(tls, onRequest)).listen(port, '127.0.0.1');
  await once(server, 'listening');
  const stop = async () => {
    if (!server.listening) return;
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await closed;
  };
  onTestFinished(stop);
  return {
    url: `${tls === null ? 'http' : 'https'}://127.0.0.1:${(server.address() as AddressInfo).port}/hooks?from=test`,
    requests,
    taken,
    get mostAtOnce() {
      return mostAtOnce;
    },
    stop,
  };
}
