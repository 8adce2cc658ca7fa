import { createServer, type Server, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { ListenerWanted } from '../../../domains/brokers/broker-engine.ts';
import { portCandidates } from '../../../domains/brokers/port-candidates.ts';
import { Connection, type ListenerInfo } from '../core/connection.ts';
import { type HandshakeLimits, TlsGate } from './tls-gate.ts';
import { WebSocketGate } from './websocket-gate.ts';

export interface Listener {
  readonly info: ListenerInfo;
  /** `null` if the listener has no TLS. It has no server certificate at first. */
  readonly tls: TlsGate | null;
  close(): void;
}

/** Serves a new connection; the stream carries MQTT packets. */
type Accept = (connection: Connection, stream: Duplex) => void;

interface ListenerOptions extends HandshakeLimits {
  /** All listeners of the broker. Their configured ports are not used as replacements for a port in use. */
  readonly all?: readonly ListenerWanted[];
  readonly maxConnections: number;
  readonly maxPacketBytes: number;
  readonly accept: Accept;
  /** Called when the listener could not accept a connection (too many open files). It continues to listen. */
  readonly onError: (error: Error) => void;
  /** Called for each client that TLS refuses. */
  readonly onRefused: (listener: ListenerInfo, reason: string) => void;
}

/**
 * Starts a listener for MQTT over TCP or WebSocket, with or without TLS: TCP connection -> TLS (`TlsGate`) -> WebSocket
 * (`WebSocketGate`) -> MQTT. The gates limit unfinished handshakes; `maxConnections` limits all connections.
 */
export async function startListener(wanted: ListenerWanted, options: ListenerOptions): Promise<Listener> {
  const { protocol, tls, requireCertificate } = wanted;
  const { maxConnections, maxPacketBytes, accept, onError, onRefused } = options;
  const isWeb = protocol === 'WEBSOCKET';
  // HTTP responds also after the client has closed its side.
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

/** Listens on the first free port, and returns it. */
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

/** Resolves with the error if the port is in use. */
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
