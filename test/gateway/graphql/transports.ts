/** One operation over each transport, and its result without what only the transport decides. */
import { createClient } from 'graphql-ws';
import WebSocket from 'ws';
import type { PublicError, PublicResult } from '../../../src/gateway/graphql/public-error.ts';

export interface Operation {
  readonly query: string;
  readonly variables?: Readonly<Record<string, unknown>>;
}

/** `url`: the HTTP URL of the graph. `null`: no credentials. */
type Send = (url: string, operation: Operation, token: string | null) => Promise<PublicResult>;

export const TRANSPORTS = {
  POST: (url, operation, token) => byPost(url, operation, token, 'application/json'),
  GET: (url, operation, token) => byGet(url, operation, token, 'application/json'),
  WebSocket: overWebSocket,
  'SSE by POST': (url, operation, token) => byPost(url, operation, token, 'text/event-stream'),
  'SSE by GET': (url, operation, token) => byGet(url, operation, token, 'text/event-stream'),
  // The origin makes Yoga serve the request, see `jsonPostType`.
  'POST from another origin': (url, operation, token) =>
    byPost(url, operation, token, 'application/json', { origin: OTHER_ORIGIN }),
} as const satisfies Record<string, Send>;

export type Transport = keyof typeof TRANSPORTS;

/** The server must have it in `corsOrigins`. */
export const OTHER_ORIGIN = 'https://app.example';

const headersOf = (token: string | null): Record<string, string> =>
  token === null ? {} : { authorization: `Bearer ${token}` };

async function byPost(url: string, operation: Operation, token: string | null, accept: string, more = {}) {
  const headers = { ...headersOf(token), 'content-type': 'application/json', accept, ...more };
  return resultOf(await fetch(url, { method: 'POST', headers, body: JSON.stringify(operation) }));
}

async function byGet(url: string, { query, variables = {} }: Operation, token: string | null, accept: string) {
  const search = new URLSearchParams({ query, variables: JSON.stringify(variables) });
  return resultOf(await fetch(`${url}?${search}`, { headers: { ...headersOf(token), accept } }));
}

/** The first event of a stream, or the body. */
async function resultOf(response: Response): Promise<PublicResult> {
  if (response.headers.get('content-type') !== 'text/event-stream') return shown(await response.json());
  let text = '';
  for await (const chunk of (response.body as ReadableStream).pipeThrough(new TextDecoderStream())) {
    text += chunk;
    const first = /event: next\ndata: ([^\n]*)\n\n/.exec(text)?.[1];
    if (first !== undefined) return shown(JSON.parse(first));
  }
  throw new Error(`The stream has no event: ${text}`);
}

/** The first result. Errors that refuse the operation are a result without data, as they are by HTTP. */
async function overWebSocket(url: string, operation: Operation, token: string | null): Promise<PublicResult> {
  const client = createClient({
    url: url.replace('http', 'ws'),
    webSocketImpl: WebSocket,
    connectionParams: headersOf(token),
    retryAttempts: 0,
  });
  try {
    const { value } = await client.iterate({ ...operation, variables: { ...operation.variables } }).next();
    return shown(value as PublicResult);
  } catch (errors) {
    if (!Array.isArray(errors)) throw errors;
    return shown({ errors });
  } finally {
    await client.dispose();
  }
}

/** The error of a bug contains the id of its request. */
export function shown({ data, errors }: PublicResult): PublicResult {
  const withoutId = (error: PublicError): PublicError =>
    error.extensions.code === 'INTERNAL_ERROR' ? { ...error, extensions: { code: 'INTERNAL_ERROR' } } : error;
  return { ...(data !== undefined && { data }), ...(errors && { errors: errors.map(withoutId) }) };
}
