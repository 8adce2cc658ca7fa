import { createServer, type Server, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { ListenerWanted } from '../../../domains/brokers/broker-engine.ts';
import { portCandidates } from '../../../domains/brokers/port-candidates.ts';
import { Connection, type ListenerInfo } from '../core/connection.ts';
import { type HandshakeLimits, TlsGate } from './tls-gate.ts';
import { WebSocketGate } from './websocket-gate.ts';

export interface Listener {
  readonly info: ListenerInfo;
  /** Null: no TLS. Without a server certificate until it is given one. */
  readonly tls: TlsGate | null;
  close(): void;
}

/** Takes over a new connection; the stream carries MQTT packets. */
export type Accept = (connection: Connection, stream: Duplex) => void;

export interface ListenerOptions extends HandshakeLimits {
  /** All listeners of the broker: a port that another one wants is left to it. */
  readonly all?: readonly ListenerWanted[];
  readonly maxConnections: number;
  readonly maxPacketBytes: number;
  readonly accept: Accept;
  /** The listener could not take a connection (out of file descriptors); it goes on listening. */
  readonly onError: (error: Error) => void;
  /** Somebody was not let in by TLS. May be called for each connection that comes. */
  readonly onRefused: (listener: ListenerInfo, reason: string) => void;
}

/**
 * MQTT over TCP or WebSocket, behind TLS or not: TCP connections -> TLS (`TlsGate`) -> WebSocket (`WebSocketGate`) -> MQTT. What is not MQTT
 * yet is bounded by these gates, and every connection, whatever it has come to, by `maxConnections`.
 */
export async function startListener(wanted: ListenerWanted, options: ListenerOptions): Promise<Listener> {
  const { protocol, tls, requireCertificate } = wanted;
  const { maxConnections, maxPacketBytes, accept, onError, onRefused } = options;
  const isWeb = protocol === 'WEBSOCKET';
  // HTTP answers also after the client has ended its side.
  const halfOpen = { allowHalfOpen: isWeb };
  const server = createServer({ ...halfOpen, noDelay: true, keepAlive: true, keepAliveInitialDelay: 60_000 });
  server.maxConnections = maxConnections;
  const { host, number } = wanted;
  const port = await listen(server, wanted, options.all ?? []);
  const info: ListenerInfo = { number, host, port, protocol: isWeb ? 'MQTT-WS' : 'MQTT', tls, requireCertificate };
  const serve = (socket: Socket, stream: Duplex = socket) => accept(new Connection(stream, socket, info), stream);
  const web = isWeb ? new WebSocketGate(maxPacketBytes, serve) : null;
  const enter = web ? web.take : (socket: Socket) => serve(socket);
  const refused = (reason: string) => onRefused(info, reason);
  const gate = tls ? new TlsGate({ requireCertificate, limits: options, onSecure: enter, onRefused: refused }) : null;
  server.on('error', onError);
  server.on('connection', gate ? gate.take : enter);
  const close = () => {
    server.close();
    gate?.close();
    web?.close();
  };
  return { info, tls: gate, close };
}

/** The port. */
async function listen(server: Server, wanted: ListenerWanted, all: readonly ListenerWanted[]): Promise<number> {
  let taken: Error | null = null;
  for (const port of portCandidates(wanted, all)) {
    taken = await tryListen(server, wanted.host, port);
    if (!taken) break;
  }
  if (taken) throw taken;
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the listener has no port');
  return address.port;
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
