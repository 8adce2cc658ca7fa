import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import type { ListenerWanted } from '../brokers/broker-engine.ts';

/** How many ports after a taken one are tried before any free one is taken. */
const PORTS_TRIED = 20;

/**
 * The listeners with ports that are free now: for port 0 any, for a taken one the next. All are held until each has one, so that
 * no two get the same. Somebody else may take one before Mosquitto listens there, which then ends and says so.
 */
export async function withFreePorts(listeners: readonly ListenerWanted[]): Promise<ListenerWanted[]> {
  const held: Server[] = [];
  try {
    const found: ListenerWanted[] = [];
    for (const listener of listeners) {
      const server = await holdPort(listener);
      held.push(server);
      found.push({ ...listener, port: portOf(server) });
    }
    return found;
  } finally {
    await Promise.all(held.map((server) => new Promise((resolve) => server.close(resolve))));
  }
}

async function holdPort({ host, port }: ListenerWanted): Promise<Server> {
  const last = Math.min(port + PORTS_TRIED, 65_535);
  for (let candidate = port; ; candidate = candidate < last ? candidate + 1 : 0) {
    const server = createServer().listen({ host, port: candidate });
    try {
      await once(server, 'listening');
      return server;
    } catch (error) {
      const isTaken = error instanceof Error && 'code' in error && error.code === 'EADDRINUSE';
      if (!isTaken || candidate === 0) throw error;
    }
  }
}

function portOf(server: Server): number {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the port is not held');
  return address.port;
}
