import { createServer, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { createWebSocketStream, WebSocketServer } from 'ws';
import { boundBody, readInSlices } from '../../../platform/network/sliced-reading.ts';

const UPGRADE_TIMEOUT_MS = 10_000;

const SUBPROTOCOLS = ['mqtt', 'mqttv3.1'] as const;

/** MQTT over WebSocket [MQTT-6.0.0]: subprotocol `mqtt` (`mqttv3.1` for old clients), paths `/` and `/mqtt`. */
export class WebSocketGate {
  readonly #http = createServer((request, response) => {
    boundBody(request, response);
    response.writeHead(426, { 'content-type': 'text/plain' }).end('MQTT over WebSocket only\n');
  });
  readonly #waiting = new Map<Socket, NodeJS.Timeout>();

  constructor(
    maxPacketBytes: number,
    onOpen: (socket: Socket, stream: Duplex) => void,
    onRefused: (response: string, address: string | undefined) => void,
  ) {
    const sockets = new WebSocketServer({
      noServer: true,
      perMessageDeflate: false,
      maxPayload: maxPacketBytes,
      handleProtocols: (offered) => SUBPROTOCOLS.find((name) => offered.has(name)) ?? false,
    });
    this.#http.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
      const refusal = refusalOf(request);
      if (refusal) {
        onRefused(refusal, socket.remoteAddress);
        socket.on('error', () => socket.destroy());
        socket.end(`HTTP/1.1 ${refusal}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`);
        return;
      }
      sockets.handleUpgrade(request, socket, head, (webSocket) => {
        this.#remove(socket);
        onOpen(socket, createWebSocketStream(webSocket));
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
    readInSlices(socket);
  };

  close(): void {
    for (const socket of this.#waiting.keys()) socket.destroy();
  }

  #remove(socket: Socket): void {
    clearTimeout(this.#waiting.get(socket));
    this.#waiting.delete(socket);
  }
}

function refusalOf({ url = '/', headers }: IncomingMessage): string | null {
  const path = url.split('?', 1)[0];
  if (path !== '/' && path !== '/mqtt') return '404 Not Found';
  const offered = (headers['sec-websocket-protocol'] ?? '').split(',').map((name) => name.trim());
  return SUBPROTOCOLS.some((name) => offered.includes(name)) ? null : '400 Bad Request';
}
