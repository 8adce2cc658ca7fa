import { createServer, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { listenOnPort } from '../../../platform/network/free-ports.ts';
import type { ListenerWanted } from '../../../protocol/hosting/broker-engine.ts';
import { Connection, type ListenerInfo } from '../clients/connection.ts';
import { type HandshakeLimits, TlsGate } from './tls-gate.ts';
import { WebSocketGate } from './websocket-gate.ts';

export interface Listener {
  readonly info: ListenerInfo;
  /** `null` if the listener has no TLS. It has no server certificate at first. */
  readonly tls: TlsGate | null;
  close(): void;
}

/** A connection that was refused before MQTT. */
export interface RefusedSocket {
  readonly by: 'TLS' | 'WEBSOCKET' | 'CONNECTIONS';
  /** `null` if the connection is closed already. */
  readonly address: string | null;
}

export interface ListenerOptions extends HandshakeLimits {
  readonly maxConnections: number;
  readonly maxPacketBytes: number;
  readonly accept: (connection: Connection, stream: Duplex) => void;
  /** Called when the listener could not accept a connection (too many open files). It continues to listen. */
  readonly onError: (error: Error) => void;
  readonly onRefused: (listener: ListenerInfo, reason: string, refused: RefusedSocket) => void;
}

/** TCP connection -> TLS (`TlsGate`) -> WebSocket (`WebSocketGate`) -> MQTT. The gates limit unfinished handshakes. */
export async function startListener(wanted: ListenerWanted, options: ListenerOptions): Promise<Listener> {
  const { protocol, tls, requireCertificate } = wanted;
  const { maxConnections, maxPacketBytes, accept, onError, onRefused } = options;
  const isWeb = protocol === 'WEBSOCKET';
  // HTTP responds also after the client has closed its side.
  const server = createServer({ allowHalfOpen: isWeb, noDelay: true });
  server.maxConnections = maxConnections;
  const port = await listenOnPort(server, wanted);
  const info: ListenerInfo = { ...wanted, port, protocol: isWeb ? 'MQTT-WS' : 'MQTT' };
  const serve = (socket: Socket, stream: Duplex = socket) => accept(new Connection(stream, socket, info), stream);
  const refused = (by: RefusedSocket['by']) => (reason: string, address: string | undefined) =>
    onRefused(info, reason, { by, address: address ?? null });
  const web = isWeb ? new WebSocketGate(maxPacketBytes, serve, refused('WEBSOCKET')) : null;
  const enter = web ? web.take : (socket: Socket) => serve(socket);
  const gate = tls
    ? new TlsGate({ requireCertificate, limits: options, onSecure: enter, onRefused: refused('TLS') })
    : null;
  server.on('error', onError);
  server.on('drop', (dropped) => refused('CONNECTIONS')('too many connections', dropped?.remoteAddress));
  server.on('connection', gate ? gate.take : enter);
  const close = () => {
    server.close();
    gate?.close();
    web?.close();
  };
  return { info, tls: gate, close };
}
