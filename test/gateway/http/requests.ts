/** A request with header fields that `fetch` does not allow. */
import { once } from 'node:events';
import { type IncomingHttpHeaders, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

export interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** The body as it was sent. */
  readonly bytes: Buffer;
}

interface RequestParts {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
  /** Source address, such as `127.0.0.9`: another network. */
  readonly from?: string;
}

export function send(
  port: number,
  path: string,
  { method = 'GET', headers = {}, body, from }: RequestParts = {},
): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const options = {
      host: '127.0.0.1',
      port,
      path,
      method,
      headers,
      agent: false,
      ...(from && { localAddress: from }),
    };
    const req = request(options, (res) => {
      const chunks: Buffer[] = [];
      res.on('data', (chunk: Buffer) => chunks.push(chunk));
      res.on('end', () => {
        const bytes = Buffer.concat(chunks);
        resolve({ status: res.statusCode ?? 0, headers: res.headers, text: bytes.toString(), bytes });
      });
      res.on('error', reject);
    });
    req.on('error', reject);
    req.end(body);
  });
}

/** A raw connection. Its errors are ignored: the service may close it. */
export async function connection(port: number, from?: string): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', ...(from && { localAddress: from }) });
  socket.on('error', () => undefined);
  onTestFinished(() => void socket.destroy());
  await once(socket, 'connect');
  return socket;
}

/** Everything received until the connection closes or `isWhole` returns true. */
export async function received(socket: Socket, isWhole: (text: string) => boolean = () => false): Promise<string> {
  let text = '';
  socket.setEncoding('latin1');
  return new Promise((resolve) => {
    socket.on('data', (piece: string) => {
      text += piece;
      if (isWhole(text)) resolve(text);
    });
    socket.once('close', () => resolve(text));
  });
}
