/** Responses without a handler: what the server of a port refuses itself. */
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

interface ErrorBody {
  readonly message: string;
  readonly code: string;
  readonly status: number;
  readonly info?: object;
}

export function writeJson(res: ServerResponse, status: number, body: object): void {
  res.writeHead(status, { 'content-type': 'application/json; charset=utf-8' }).end(`${JSON.stringify(body)}\n`);
}

/** Responds on a connection without a ServerResponse and closes it. `status` has the number and the reason phrase. */
export function refuseConnection(socket: Duplex, status: string, body?: ErrorBody): void {
  const text = body === undefined ? '' : `${JSON.stringify(body)}\n`;
  const type = body === undefined ? '' : 'Content-Type: application/json; charset=utf-8\r\n';
  const head = [
    `HTTP/1.1 ${status}`,
    'Connection: close',
    `X-Request-Id: ${randomUUID()}`,
    `${type}Content-Length: ${Buffer.byteLength(text)}\r\n\r\n`,
  ];
  socket.end(head.join('\r\n') + text, () => socket.destroy());
}

type ParserError = Error & { readonly code?: string };

/** Responds to bytes that are not a request, instead of Node, whose response has no body. */
export function refuseMalformed(error: ParserError, socket: Duplex): void {
  const { _httpMessage: current } = socket as { readonly _httpMessage?: ServerResponse | null };
  // A response that has started can only be cut off.
  if (error.code === 'ECONNRESET' || !socket.writable || current?.headersSent === true) {
    socket.destroy();
    return;
  }
  const [status, body] = refusalOf(error);
  refuseConnection(socket, status, body);
}

/** Only `100-continue` is known (RFC 9110, section 10.1.1). Node's own response has no body. */
export function refuseExpectation(_req: IncomingMessage, res: ServerResponse): void {
  res.setHeader('connection', 'close');
  res.setHeader('x-request-id', randomUUID());
  writeJson(res, 417, { message: 'Expect can only be 100-continue', code: 'INVALID', status: 417 });
}

function refusalOf({ code }: ParserError): [status: string, body: ErrorBody] {
  if (code === 'HPE_HEADER_OVERFLOW') {
    const message = 'The request line and the header fields are too long: send at most 16 KiB';
    return ['431 Request Header Fields Too Large', { message, code: 'HEADERS_TOO_LARGE', status: 431 }];
  }
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    const message = 'The request was not received in time';
    return ['408 Request Timeout', { message, code: 'REQUEST_TIMEOUT', status: 408 }];
  }
  if (code === 'HPE_CHUNK_EXTENSIONS_OVERFLOW') {
    return ['413 Payload Too Large', { message: 'The chunk extensions are too long', code: 'TOO_LARGE', status: 413 }];
  }
  return ['400 Bad Request', { message: 'The bytes are not an HTTP/1.1 request', code: 'INVALID', status: 400 }];
}
