import { createServer as createHttpServer, type IncomingMessage } from 'node:http';
import { createServer, type Server, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { createWebSocketStream, WebSocketServer } from 'ws';
import type { ListenerWanted } from '../brokers/broker-engine.ts';
import { Connection, type ListenerInfo } from './core/connection.ts';

export interface Listener {
  readonly info: ListenerInfo;
  close(): void;
}

/** Takes over a new connection; the stream carries MQTT packets. */
export type Accept = (connection: Connection, stream: Duplex) => void;

export interface ListenerOptions {
  readonly maxConnections: number;
  readonly maxPacketBytes: number;
  readonly accept: Accept;
  /** The listener could not take a connection (out of file descriptors); it goes on listening. */
  readonly onError: (error: Error) => void;
}

/** How many ports after a taken one are tried before any free one is taken. */
const PORTS_TRIED = 20;

export function startListener(wanted: ListenerWanted, options: ListenerOptions): Promise<Listener> {
  if (wanted.tls) throw new Error('this broker does not serve TLS');
  return wanted.protocol === 'MQTT' ? listenMqtt(wanted, options) : listenWebSocket(wanted, options);
}

/** MQTT over TCP. TLS belongs here too: the same with tls.createServer. */
async function listenMqtt(address: ListenerWanted, options: ListenerOptions): Promise<Listener> {
  const server = createServer({ noDelay: true, keepAlive: true, keepAliveInitialDelay: 60_000 });
  server.maxConnections = options.maxConnections;
  const info: ListenerInfo = { ...(await listen(server, address)), protocol: 'MQTT' };
  server.on('error', options.onError);
  server.on('connection', (socket: Socket) => options.accept(new Connection(socket, socket, info), socket));
  return { info, close: () => server.close() };
}

/** MQTT over WebSocket [MQTT-6.0.0]: subprotocol `mqtt` (`mqttv3.1` for old clients), paths `/` and `/mqtt`. */
async function listenWebSocket(address: ListenerWanted, options: ListenerOptions): Promise<Listener> {
  const sockets = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    maxPayload: options.maxPacketBytes,
    handleProtocols: (offered) => SUBPROTOCOLS.find((name) => offered.has(name)) ?? false,
  });
  const server = createHttpServer({ noDelay: true, requestTimeout: 10_000 }, (_request, response) => {
    response.writeHead(426, { 'content-type': 'text/plain' }).end('MQTT over WebSocket only\n');
  });
  server.maxConnections = options.maxConnections;
  server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
    const refusal = refusalOf(request);
    if (refusal) {
      socket.on('error', () => socket.destroy());
      socket.end(`HTTP/1.1 ${refusal}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`);
      return;
    }
    sockets.handleUpgrade(request, socket, head, (webSocket) => {
      const stream = createWebSocketStream(webSocket);
      options.accept(new Connection(stream, socket, info), stream);
    });
  });
  const info: ListenerInfo = { ...(await listen(server, address)), protocol: 'MQTT-WS' };
  server.on('error', options.onError);
  return {
    info,
    close: () => {
      server.close();
      server.closeIdleConnections();
    },
  };
}

const SUBPROTOCOLS = ['mqtt', 'mqttv3.1'] as const;

function refusalOf({ url = '/', headers }: IncomingMessage): string | null {
  const path = url.split('?', 1)[0];
  if (path !== '/' && path !== '/mqtt') return '404 Not Found';
  const offered = (headers['sec-websocket-protocol'] ?? '').split(',').map((name) => name.trim());
  return SUBPROTOCOLS.some((name) => offered.includes(name)) ? null : '400 Bad Request';
}

/** Where the port is taken, the next free one: those right after it first, since people look there. */
async function listen(server: Server, { host, port }: ListenerWanted): Promise<{ port: number; host: string }> {
  const last = Math.min(port + PORTS_TRIED, 65_535);
  for (let candidate = port; ; candidate = candidate < last ? candidate + 1 : 0) {
    const taken = await tryListen(server, host, candidate);
    if (!taken) break;
    if (candidate === 0) throw taken;
  }
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the listener has no port');
  return { port: address.port, host };
}

/** Resolves with the error when the port is taken. */
function tryListen(server: Server, host: string, port: number): Promise<Error | null> {
  return new Promise((resolve, reject) => {
    const onError = (error: NodeJS.ErrnoException) => {
      server.off('listening', onListening);
      if (error.code === 'EADDRINUSE') resolve(error);
      else reject(error);
    };
    const onListening = () => {
      server.off('error', onError);
      resolve(null);
    };
    server.once('error', onError);
    server.once('listening', onListening);
    server.listen({ host, port });
  });
}
