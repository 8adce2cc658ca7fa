import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { createWebSocketStream, type WebSocket, WebSocketServer } from 'ws';
import { nodeHttp } from '../../../platform/network/node-http.ts';
import { boundBody, readInSlices } from '../../../platform/network/sliced-reading.ts';
import { SlicedStarts } from '../../../platform/scheduling/sliced-task.ts';

const UPGRADE_TIMEOUT_MS = 10_000;
/** Of several packets in one message. Joining more costs more than it saves, and few clients read much larger ones. */
const MAX_JOINED_BYTES = 16_384;

const BAD_REQUEST = '400 Bad Request';
/** Characters of the path and of the subprotocols that a refusal has. */
const MAX_SHOWN = 200;

const SUBPROTOCOLS = ['mqtt', 'mqttv3.1'] as const;

/** MQTT over WebSocket [MQTT-6.0.0]: subprotocol `mqtt` (`mqttv3.1` for old clients), any path. */
export class WebSocketGate {
  readonly #http = nodeHttp.createServer((request, response) => {
    boundBody(request, response);
    response.writeHead(426, { 'content-type': 'text/plain' }).end('MQTT over WebSocket only\n');
  });
  readonly #waiting = new Map<Socket, NodeJS.Timeout>();
  readonly #turns = new SlicedStarts();

  constructor(
    maxPacketBytes: number,
    onOpen: (socket: Socket, stream: Duplex) => void,
    onRefused: (detail: string, address: string | undefined) => void,
  ) {
    const sockets = new WebSocketServer({
      noServer: true,
      perMessageDeflate: false,
      maxPayload: maxPacketBytes,
      handleProtocols: (offered) => SUBPROTOCOLS.find((name) => offered.has(name)) ?? false,
    });
    this.#http.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
      if (!offersMqtt(request)) {
        onRefused(detailOf(request), socket.remoteAddress);
        socket.on('error', () => socket.destroy());
        socket.end(`HTTP/1.1 ${BAD_REQUEST}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`);
        return;
      }
      sockets.handleUpgrade(request, socket, head, (webSocket) => {
        this.#remove(socket);
        onOpen(socket, streamOf(webSocket));
      });
    });
  }

  readonly take = (socket: Socket): void => {
    this.#waiting.set(
      socket,
      setTimeout(() => socket.destroy(), UPGRADE_TIMEOUT_MS),
    );
    socket.once('close', () => this.#remove(socket));
    this.#http.emit('connection', socket);
    readInSlices(socket, this.#turns);
  };

  close(): void {
    for (const socket of this.#waiting.keys()) socket.destroy();
  }

  #remove(socket: Socket): void {
    clearTimeout(this.#waiting.get(socket));
    this.#waiting.delete(socket);
  }
}

/** Packets that are written together are one message [MQTT-6.0.0-2]. A message takes as much time as many packets. */
function streamOf(webSocket: WebSocket): Duplex {
  const stream = createWebSocketStream(webSocket);
  stream._writev = (chunks, done) => {
    let message: Buffer[] = [];
    let bytes = 0;
    for (const { chunk } of chunks as { readonly chunk: Buffer }[]) {
      if (bytes > 0 && bytes + chunk.length > MAX_JOINED_BYTES) {
        webSocket.send(joined(message));
        message = [];
        bytes = 0;
      }
      message.push(chunk);
      bytes += chunk.length;
    }
    webSocket.send(joined(message), done);
  };
  return stream;
}

const joined = (chunks: readonly Buffer[]): Buffer =>
  chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks);

const offersMqtt = (request: IncomingMessage): boolean => {
  const offered = offeredOf(request).split(',');
  return SUBPROTOCOLS.some((name) => offered.some((each) => each.trim() === name));
};

const offeredOf = ({ headers }: IncomingMessage): string => headers['sec-websocket-protocol'] ?? '';

/** The path without its query, which may contain credentials. */
function detailOf(request: IncomingMessage): string {
  const [path = ''] = (request.url ?? '').split('?', 1);
  const offered = offeredOf(request);
  const protocols = offered === '' ? 'no subprotocol' : `the subprotocols ${quoted(offered)}`;
  return `${BAD_REQUEST}: the request for the path ${quoted(path)} offers ${protocols}`;
}

const quoted = (text: string): string => JSON.stringify(text.slice(0, MAX_SHOWN));
