import type { Socket } from 'node:net';
import type { Server, TLSSocket } from 'node:tls';
import { createTlsServer, failureOf, refusalOf, type TlsMaterial } from './tls-server.ts';

export interface HandshakeLimits {
  /** Connections of one listener whose handshake is not done. */
  readonly maxHandshakes: number;
  /** From the TCP connection to the end of the handshake. */
  readonly handshakeTimeoutMs: number;
}

export interface TlsGateOptions {
  readonly requireCertificate: boolean;
  readonly limits: HandshakeLimits;
  readonly onSecure: (socket: TLSSocket) => void;
  /** Somebody was not let in. May be called for each connection that comes. */
  readonly onRefused: (reason: string) => void;
}

interface Handshake {
  readonly socket: Socket;
  /** Epoch milliseconds. */
  readonly since: number;
  readonly timer: NodeJS.Timeout;
  /** Who shakes hands with it; null: nobody yet. */
  server: Server | null;
}

/** Who has not gone on for so long gives way to others when there are too many. */
const PATIENCE_MS = 1_000;

/** What can be used, because OpenSSL has read it. */
export interface PreparedTls {
  readonly material: TlsMaterial;
  readonly server: Server;
}

const NOTHING: TlsMaterial = { server: null, authorities: [] };

/**
 * The handshakes of one TLS listener. States of a connection: SILENT -> WAITING (its first bytes came) -> BEGUN -> done, or closed.
 *
 * A handshake costs a signature, so one begins per turn of the event loop: however many come, what others send is read in between. At
 * `maxHandshakes` the first SILENT or BEGUN one that is older than a second gives way to a new one, and without any the new one is refused.
 *
 * `use` changes the certificates: open connections stay, new handshakes see the new ones. Where the authorities change, handshakes that have
 * begun are ended, so that nobody comes in by one that is gone.
 */
export class TlsGate {
  readonly #options: TlsGateOptions;
  readonly #handshakes = new Map<string, Handshake>();
  /** Their first bytes are here, and it is the turn of those before them. */
  readonly #waiting = new Set<Handshake>();
  #used: PreparedTls;
  #turn: NodeJS.Immediate | null = null;

  constructor(options: TlsGateOptions) {
    this.#options = options;
    this.#used = this.prepare(NOTHING);
  }

  /** Errors: OpenSSL's, where the material cannot be used. */
  prepare(material: TlsMaterial): PreparedTls {
    const server = createTlsServer(material, this.#options);
    server.on('secureConnection', (socket) => this.#done(socket));
    server.on('tlsClientError', (error, socket) => {
      // That of one which is gone says no more than that, whoever ended it.
      if (keyOf(socket) === null && !socket.authorizationError) return;
      this.#options.onRefused(material.server ? failureOf(socket, error) : 'it has no server certificate');
    });
    return { material, server };
  }

  use(prepared: PreparedTls): void {
    const before = this.#used;
    this.#used = prepared;
    if (before.material.authorities.join() === prepared.material.authorities.join()) return;
    for (const { server, socket } of [...this.#handshakes.values()]) if (server !== null) socket.destroy();
  }

  readonly take = (socket: Socket): void => {
    // `close` follows.
    socket.on('error', () => {});
    const key = keyOf(socket);
    if (key === null || !this.#hasRoom()) {
      socket.destroy();
      return;
    }
    const { handshakeTimeoutMs } = this.#options.limits;
    const timer = setTimeout(() => {
      this.#options.onRefused(`it took longer than ${handshakeTimeoutMs} ms`);
      socket.destroy();
    }, handshakeTimeoutMs);
    const handshake: Handshake = { socket, since: Date.now(), timer, server: null };
    this.#handshakes.set(key, handshake);
    socket.once('close', () => this.#left(key, handshake));
    socket.once('readable', () => {
      // Nothing came but the end.
      if (socket.readableLength === 0) socket.destroy();
      else this.#queue(handshake);
    });
  };

  close(): void {
    for (const { socket } of [...this.#handshakes.values()]) socket.destroy();
  }

  #hasRoom(): boolean {
    const { limits, onRefused } = this.#options;
    if (this.#handshakes.size < limits.maxHandshakes) return true;
    onRefused(`there are ${limits.maxHandshakes} handshakes already`);
    const before = Date.now() - PATIENCE_MS;
    for (const [key, handshake] of this.#handshakes) {
      if (handshake.since > before) return false;
      if (this.#waiting.has(handshake)) continue;
      handshake.socket.destroy();
      this.#left(key, handshake);
      return true;
    }
    return false;
  }

  #queue(handshake: Handshake): void {
    this.#waiting.add(handshake);
    this.#turn ??= setImmediate(() => this.#begin());
  }

  #begin(): void {
    this.#turn = null;
    const [handshake] = this.#waiting;
    if (!handshake) return;
    this.#waiting.delete(handshake);
    if (this.#waiting.size > 0) this.#turn = setImmediate(() => this.#begin());
    if (handshake.socket.destroyed) return;
    handshake.server = this.#used.server;
    // The documented way to have a connection of one's own served by TLS.
    handshake.server.emit('connection', handshake.socket);
  }

  #done(socket: TLSSocket): void {
    const key = keyOf(socket);
    const handshake = key === null ? undefined : this.#handshakes.get(key);
    const reason = handshake ? refusalOf(socket) : 'it is gone';
    if (key !== null && handshake) this.#left(key, handshake);
    if (reason === null) {
      this.#options.onSecure(socket);
      return;
    }
    if (handshake) this.#options.onRefused(reason);
    socket.destroy();
  }

  #left(key: string, handshake: Handshake): void {
    clearTimeout(handshake.timer);
    this.#waiting.delete(handshake);
    if (this.#handshakes.get(key) === handshake) this.#handshakes.delete(key);
  }
}

/** A TLS socket does not tell which TCP socket it came from, but both have the addresses of the connection. Null: it is gone. */
function keyOf({ localAddress, remoteAddress, remotePort }: Socket): string | null {
  return remoteAddress === undefined ? null : `${localAddress} ${remoteAddress} ${remotePort}`;
}
