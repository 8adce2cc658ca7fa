import type { Socket } from 'node:net';
import { networkOf } from '../../platform/limits/network.ts';

const STALLED_MS = 30_000;
const CHECK_MS = 5_000;
/** A flood of new connections must stay cheap. */
const MAX_EXAMINED = 50;

interface ConnectionsOptions {
  readonly max?: number | undefined;
  readonly maxPerNetwork?: number | undefined;
  readonly onRefused?: ((reason: RefusalReason) => void) | undefined;
  /** Time in which a client receives none of the waiting bytes until its connection is closed. Default: 30,000. */
  readonly stalledMs?: number | undefined;
}

/** FULL: `max` was reached. NETWORK: `maxPerNetwork` was reached. */
export type RefusalReason = 'FULL' | 'NETWORK';

interface Connection {
  readonly socket: Socket;
  readonly network: string;
  /** Requests without a complete response. */
  requests: number;
  isUpgraded: boolean;
  waitingBytes: number;
  /** Time since which the client has received none of them. */
  since: number;
}

/**
 * When a bound is reached, the oldest idle connection of the same network, or of the network with the most connections,
 * is closed in favour of the new one. If none is idle, the new one is closed. A connection is also closed after
 * `stalledMs` if its client receives none of the waiting bytes.
 */
export class Connections {
  readonly #options: ConnectionsOptions;
  readonly #all = new Map<Socket, Connection>();
  readonly #networks = new Map<string, Set<Connection>>();
  readonly #checks: NodeJS.Timeout;
  stalledCount = 0;
  refusedCount = 0;

  constructor(options: ConnectionsOptions) {
    this.#options = options;
    const { stalledMs = STALLED_MS } = options;
    this.#checks = setInterval(() => this.#closeStalled(stalledMs), Math.min(CHECK_MS, stalledMs / 4));
    this.#checks.unref();
  }

  get size(): number {
    return this.#all.size;
  }

  sockets(): Iterable<Socket> {
    return this.#all.keys();
  }

  get(socket: Socket): Connection | undefined {
    return this.#all.get(socket);
  }

  add(socket: Socket): void {
    const network = networkOf(socket.remoteAddress ?? '');
    const reason = this.#refusal(network);
    if (reason !== null) {
      this.refusedCount += 1;
      socket.destroy();
      this.#options.onRefused?.(reason);
      return;
    }
    const connection = { socket, network, requests: 0, isUpgraded: false, waitingBytes: 0, since: 0 };
    this.#all.set(socket, connection);
    const own = this.#networks.get(network) ?? new Set();
    this.#networks.set(network, own.add(connection));
    socket.on('close', () => this.#remove(connection));
  }

  close(): void {
    clearInterval(this.#checks);
  }

  #refusal(network: string): RefusalReason | null {
    const { max = Number.POSITIVE_INFINITY, maxPerNetwork = Number.POSITIVE_INFINITY } = this.#options;
    const own = this.#networks.get(network);
    if (own !== undefined && own.size >= maxPerNetwork && !this.#closeIdle(own)) return 'NETWORK';
    if (this.#all.size >= max && !this.#closeIdle(this.#largest())) return 'FULL';
    return null;
  }

  #largest(): Set<Connection> {
    let largest: Set<Connection> = new Set();
    for (const connections of this.#networks.values()) if (connections.size > largest.size) largest = connections;
    return largest;
  }

  /** Moves busy connections to the end, so that the next call examines others. */
  #closeIdle(connections: Set<Connection>): boolean {
    let examined = 0;
    for (const connection of connections) {
      // A request that was received may wait for its turn.
      if (connection.requests === 0 && !connection.isUpgraded && connection.socket.readableLength === 0) {
        connection.socket.destroy();
        this.#remove(connection);
        return true;
      }
      examined += 1;
      if (examined > Math.min(MAX_EXAMINED, connections.size)) return false;
      connections.delete(connection);
      connections.add(connection);
    }
    return false;
  }

  #remove(connection: Connection): void {
    const { socket, network } = connection;
    this.#all.delete(socket);
    const own = this.#networks.get(network);
    own?.delete(connection);
    if (own?.size === 0) this.#networks.delete(network);
  }

  #closeStalled(stalledMs: number): void {
    const now = performance.now();
    for (const connection of this.#all.values()) {
      const waiting = waitingBytes(connection.socket);
      if (waiting === 0 || waiting !== connection.waitingBytes) {
        connection.waitingBytes = waiting;
        connection.since = now;
      } else if (now - connection.since >= stalledMs) {
        this.stalledCount += 1;
        connection.socket.destroy();
      }
    }
  }
}

/** Node 20 uses the undocumented `writeQueueSize` for `socket.setTimeout`; `writableLength` ignores one large write. */
function waitingBytes(socket: Socket): number {
  const { _handle: handle } = socket as { readonly _handle?: { readonly writeQueueSize?: number } | null };
  return socket.writableLength + (handle?.writeQueueSize ?? 0);
}
