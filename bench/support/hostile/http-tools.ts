/** HTTP and WebSocket clients for attackers. */
import { request } from 'node:http';
import type { Socket } from 'node:net';
import { WebSocket } from 'ws';
import type { Target } from './input.ts';
import { openSocket } from './mqtt-tools.ts';

const TIMEOUT_MS = 60_000;
/** Maximum characters of a response that are stored. The rest is read and dropped. */
const SHOWN_CHARACTERS = 4_000;

interface Sent {
  readonly path?: string;
  /** Default: POST with a body, GET without. */
  readonly method?: string;
  readonly token?: string;
  readonly body?: string;
}

/** Sends a request on a new connection. Returns the status and error code; `closed` if there is no response. */
export function send(target: Target, { path = '/graphql', method, token, body }: Sent): Promise<string> {
  return new Promise((resolve) => {
    const sent = request(
      {
        host: target.host,
        port: target.httpPort,
        localAddress: target.from,
        agent: false,
        path,
        method: method ?? (body === undefined ? 'GET' : 'POST'),
        timeout: TIMEOUT_MS,
        headers: {
          'content-type': 'application/json',
          ...(body !== undefined && { 'content-length': Buffer.byteLength(body) }),
          ...(token !== undefined && { authorization: `Bearer ${token}` }),
        },
      },
      (response) => {
        let text = '';
        let size = 0;
        response.on('data', (chunk: Buffer) => {
          size += chunk.length;
          if (text.length < SHOWN_CHARACTERS) text += chunk.toString('latin1');
        });
        response.once('error', () => resolve('closed'));
        response.once('end', () => resolve(described(response.statusCode ?? 0, text, size)));
      },
    );
    sent.once('timeout', () => sent.destroy());
    sent.once('error', () => resolve('closed'));
    sent.end(body);
  });
}

function described(status: number, text: string, size: number): string {
  const code = /"code":"([A-Z_]+)"/.exec(text)?.[1];
  const large = size > 1_000_000 ? ` ${Math.round(size / 1e6)} MB` : '';
  return `${status}${code === undefined ? '' : ` ${code}`}${large}`;
}

export const graphql = (target: Target, query: string, variables?: unknown, token?: string): Promise<string> =>
  send(target, { body: JSON.stringify({ query, variables }), ...(token !== undefined && { token }) });

/** A raw connection to the HTTP port. */
export const httpSocket = ({ host, httpPort, from }: Target): Socket => openSocket(host, httpPort, from);

/** The text of a request, for raw sockets. */
export function requestText(path: string, { token, body = '', length = Buffer.byteLength(body) }: RawRequest): string {
  const lines = [
    `${body === '' && length === 0 ? 'GET' : 'POST'} ${path} HTTP/1.1`,
    'Host: localhost',
    'Content-Type: application/json',
    ...(token === undefined ? [] : [`Authorization: Bearer ${token}`]),
    ...(length > 0 ? [`Content-Length: ${length}`] : []),
  ];
  return `${lines.join('\r\n')}\r\n\r\n${body}`;
}

interface RawRequest {
  readonly token?: string;
  readonly body?: string;
  /** The Content-Length. Default: the length of the body. */
  readonly length?: number;
}

/** Opens a WebSocket and sends `connection_init`. `null` if the connection was refused. */
export function openWebSocket({ host, httpPort, from }: Target, token?: string): Promise<WebSocket | null> {
  const socket = new WebSocket(`ws://${host}:${httpPort}/graphql`, 'graphql-transport-ws', { localAddress: from });
  socket.on('error', () => undefined);
  return new Promise((resolve) => {
    socket.once('close', () => resolve(null));
    socket.once('open', () => {
      const payload = token === undefined ? {} : { authorization: `Bearer ${token}` };
      socket.send(JSON.stringify({ type: 'connection_init', payload }));
      socket.once('message', () => resolve(socket));
    });
  });
}

export const subscribeText = (id: string, query: string, variables: unknown = {}): string =>
  JSON.stringify({ id, type: 'subscribe', payload: { query, variables } });

/** Resolves when the server has closed the socket, or after `milliseconds`. Then terminates the socket. */
export function webSocketClosedWithin(socket: WebSocket, milliseconds: number): Promise<string> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => {
      socket.terminate();
      resolve('still open');
    }, milliseconds);
    const closed = (code: number) => {
      clearTimeout(timer);
      resolve(`closed ${code}`);
    };
    if (socket.readyState === WebSocket.CLOSED) closed(1006);
    else socket.once('close', closed);
  });
}
