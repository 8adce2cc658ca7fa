import type { Socket } from 'node:net';
import type { Server, TLSSocket } from 'node:tls';
import type { BrokerLimits } from '../limits.ts';
import { createTlsServer, failureOf, refusalOf, type TlsError, type TlsMaterial } from './tls-server.ts';

export type HandshakeLimits = Pick<BrokerLimits, 'maxHandshakes' | 'handshakeTimeoutMs'>;

interface TlsGateOptions {
  readonly requireCertificate: boolean;
  readonly limits: HandshakeLimits;
  readonly onSecure: (socket: TLSSocket) => void;
  readonly onRefused: (reason: string, address: string | undefined) => void;
}

interface Handshake {
  readonly socket: Socket;
  readonly since: number;
  readonly timer: NodeJS.Timeout;
  /** The TLS server of the handshake; `null` before the handshake has started. */
  server: Server | null;
}

/** Age in milliseconds from which an unfinished handshake may be replaced if there are too many. */
const REPLACEABLE_AFTER_MS = 1_000;

export interface PreparedTls {
  readonly material: TlsMaterial;
  readonly server: Server;
}

const NO_CERTIFICATE = 'it has no server certificate';
const NO_MATERIAL: TlsMaterial = { server: null, authorities: [] };

/**
 * Performs the handshakes of one TLS listener. States of a connection: SILENT -> WAITING (bytes have arrived) ->
 * STARTED -> done, or closed. A handshake costs a signature, so one starts per iteration of the event loop. At
 * `maxHandshakes` a new handshake replaces the first SILENT or STARTED one that is older than a second, or is refused.
 *
 * `use` changes the certificates for new handshakes; open connections stay. If the authorities change, started
 * handshakes are closed, so that a removed authority admits no more clients.
 */
export class TlsGate {
  readonly #options: TlsGateOptions;
  readonly #handshakes = new Map<string, Handshake>();
  readonly #waiting = new Set<Handshake>();
  #current: PreparedTls;
  #turn: NodeJS.Immediate | null = null;

  constructor(options: TlsGateOptions) {
    this.#options = options;
    this.#current = this.prepare(NO_MATERIAL);
  }

  /** Throws OpenSSL's error if the material cannot be used. */
  prepare(material: TlsMaterial): PreparedTls {
    const server = createTlsServer(material, this.#options.requireCertificate);
    server.on('secureConnection', (socket) => this.#done(socket));
    server.on('tlsClientError', (error: TlsError, socket) => {
      // The error of a closed connection has no information, unless it is an alert of the client.
      if (keyOf(socket) === null && !socket.authorizationError && error.reason === undefined) return;
      this.#options.onRefused(material.server ? failureOf(socket, error) : NO_CERTIFICATE, addressOf(socket));
    });
    return { material, server };
  }

  use(prepared: PreparedTls): void {
    const previous = this.#current;
    this.#current = prepared;
    if (previous.material.authorities.join() === prepared.material.authorities.join()) return;
    for (const { server, socket } of [...this.#handshakes.values()]) if (server !== null) socket.destroy();
  }

  readonly take = (socket: Socket): void => {
    socket.on('error', () => {});
    const key = keyOf(socket);
    if (key === null || !this.#hasRoom(socket)) {
      socket.destroy();
      return;
    }
    const { handshakeTimeoutMs } = this.#options.limits;
    const timer = setTimeout(() => {
      this.#options.onRefused(`it took longer than ${handshakeTimeoutMs} ms`, socket.remoteAddress);
      socket.destroy();
    }, handshakeTimeoutMs);
    const handshake: Handshake = { socket, since: Date.now(), timer, server: null };
    this.#handshakes.set(key, handshake);
    socket.once('close', () => this.#remove(key, handshake));
    socket.once('readable', () => {
      // The client has closed the connection without sending anything.
      if (socket.readableLength === 0) socket.destroy();
      else this.#queue(handshake);
    });
  };

  close(): void {
    for (const { socket } of [...this.#handshakes.values()]) socket.destroy();
  }

  #hasRoom({ remoteAddress }: Socket): boolean {
    const { limits, onRefused } = this.#options;
    if (this.#handshakes.size < limits.maxHandshakes) return true;
    onRefused(`there are ${limits.maxHandshakes} handshakes already`, remoteAddress);
    const latest = Date.now() - REPLACEABLE_AFTER_MS;
    for (const [key, handshake] of this.#handshakes) {
      if (handshake.since > latest) return false;
      if (this.#waiting.has(handshake)) continue;
      handshake.socket.destroy();
      this.#remove(key, handshake);
      return true;
    }
    return false;
  }

  #queue(handshake: Handshake): void {
    this.#waiting.add(handshake);
    this.#turn ??= setImmediate(() => this.#startNext());
  }

  #startNext(): void {
    this.#turn = null;
    const [handshake] = this.#waiting;
    if (!handshake) return;
    this.#waiting.delete(handshake);
    if (this.#waiting.size > 0) this.#turn = setImmediate(() => this.#startNext());
    if (handshake.socket.destroyed) return;
    handshake.server = this.#current.server;
    // The documented way to serve an existing connection by TLS.
    handshake.server.emit('connection', handshake.socket);
  }

  #done(socket: TLSSocket): void {
    const key = keyOf(socket);
    const handshake = key === null ? undefined : this.#handshakes.get(key);
    const reason = handshake ? refusalOf(socket) : 'it is closed';
    if (key !== null && handshake) this.#remove(key, handshake);
    if (reason === null) {
      this.#options.onSecure(socket);
      return;
    }
    if (handshake) this.#options.onRefused(reason, socket.remoteAddress);
    socket.destroy();
  }

  #remove(key: string, handshake: Handshake): void {
    clearTimeout(handshake.timer);
    this.#waiting.delete(handshake);
    if (this.#handshakes.get(key) === handshake) this.#handshakes.delete(key);
  }
}

/** Node 20 to 26 know the address of a closed connection only in its TCP socket, whose address `take` has read. */
const addressOf = (socket: TLSSocket): string | undefined =>
  socket.remoteAddress ?? (socket as { readonly _parent?: Socket })._parent?.remoteAddress;

/** Identifies a connection: a TLS socket and its TCP socket have the same addresses. `null` if it is closed. */
function keyOf({ localAddress, remoteAddress, remotePort }: Socket): string | null {
  return remoteAddress === undefined ? null : `${localAddress} ${remoteAddress} ${remotePort}`;
}
