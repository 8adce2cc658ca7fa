import type { BrokerLimits } from '../limits.ts';
import type { Connection } from './connection.ts';

/** Maximum delay. */
const PRECISION_MS = 1_000;
/** [MQTT-3.1.2-24] Share of the Keep Alive after which the connection is closed, per second. */
const KEEP_ALIVE_MS = 1_500;

/** Closes connections that are silent for too long: before CONNECT, and by their Keep Alive. One timer is for all. */
export class KeepAlive {
  readonly #timer: NodeJS.Timeout;

  constructor(open: Iterable<Connection>, { connectTimeoutMs }: BrokerLimits) {
    this.#timer = setInterval(() => sweep(open, connectTimeoutMs), PRECISION_MS).unref();
  }

  close(): void {
    clearInterval(this.#timer);
  }
}

function sweep(open: Iterable<Connection>, connectTimeoutMs: number): void {
  const now = performance.now();
  for (const connection of open) {
    const limit = limitOf(connection, connectTimeoutMs);
    if (limit > 0 && now - connection.lastPacketAt > limit) connection.destroy();
  }
}

/** 0: no limit, also while the client waits for CONNACK. */
function limitOf({ isReady, protocolVersion, keepalive }: Connection, connectTimeoutMs: number): number {
  if (isReady) return keepalive * KEEP_ALIVE_MS;
  return protocolVersion === 0 ? connectTimeoutMs : 0;
}
