import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import type { ListenerWanted } from '../../domains/brokers/broker-engine.ts';
import { inOrderOfPorts, portCandidates } from '../../domains/brokers/port-candidates.ts';

/**
 * Returns the listeners with free ports: any port for 0, and the next free one for a port in use. All ports are held
 * until each listener has one, so that no two get the same. If another process takes a port before Mosquitto opens it,
 * Mosquitto exits with an error.
 */
export async function withFreePorts(listeners: readonly ListenerWanted[]): Promise<ListenerWanted[]> {
  const held: Server[] = [];
  try {
    const ports = new Map<number, number>();
    for (const listener of inOrderOfPorts(listeners)) {
      const server = await holdPort(listener, listeners);
      held.push(server);
      ports.set(listener.number, portOf(server));
    }
    return listeners.map((listener) => ({ ...listener, port: ports.get(listener.number) ?? listener.port }));
  } finally {
    await Promise.all(held.map((server) => new Promise((resolve) => server.close(resolve))));
  }
}

async function holdPort(listener: ListenerWanted, listeners: readonly ListenerWanted[]): Promise<Server> {
  let taken: unknown;
  for (const port of portCandidates(listener, listeners)) {
    const server = createServer().listen({ host: listener.host, port });
    try {
      await once(server, 'listening');
      return server;
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EADDRINUSE')) throw error;
      taken = error;
    }
  }
  throw taken;
}

function portOf(server: Server): number {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the port is not held');
  return address.port;
}
