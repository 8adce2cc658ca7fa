import type { BrokerLimits } from '../limits.ts';
import { type Connection, KEEP_ALIVE_TIMEOUT } from './connection.ts';

/** Maximum delay. */
const PRECISION_MS = 1_000;
/** [MQTT-3.1.2-24] Share of the Keep Alive after which the connection is closed, per second. */
const KEEP_ALIVE_MS = 1_500;

/**
 * Closes connections that are silent for too long: before CONNECT, and by their Keep Alive. One timer is for all.
 * A connection that is silent for a second gets TCP keep-alive, which takes three system calls.
 */
export class KeepAlive {
  readonly #timer: NodeJS.Timeout;

  /** `onNoConnect`: called for a connection that is closed before CONNECT. */
  constructor(
    open: Iterable<Connection>,
    { connectTimeoutMs }: BrokerLimits,
    onNoConnect: (connection: Connection) => void,
  ) {
    this.#timer = setInterval(() => sweep(open, connectTimeoutMs, onNoConnect), PRECISION_MS).unref();
  }

  close(): void {
    clearInterval(this.#timer);
  }
}

function sweep(
  open: Iterable<Connection>,
  connectTimeoutMs: number,
  onNoConnect: (connection: Connection) => void,
): void {
  const now = performance.now();
  for (const connection of open) {
    const silentMs = now - connection.counters.lastPacketAt;
    const limit = limitOf(connection, connectTimeoutMs);
    if (limit === 0 || silentMs <= limit) {
      if (silentMs > PRECISION_MS) connection.enableTcpKeepAlive();
      continue;
    }
    if (connection.request.protocolVersion === 0) onNoConnect(connection);
    connection.closedBy ??= KEEP_ALIVE_TIMEOUT;
    connection.destroy();
  }
}

/** 0: no limit, also while the client waits for CONNACK. */
function limitOf({ isReady, request }: Connection, connectTimeoutMs: number): number {
  if (isReady) return request.keepalive * KEEP_ALIVE_MS;
  return request.protocolVersion === 0 ? connectTimeoutMs : 0;
}
