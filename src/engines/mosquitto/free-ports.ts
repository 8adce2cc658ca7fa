import { createServer, type Server } from 'node:net';
import type { ListenerWanted } from '../../domains/brokers/broker-engine.ts';
import { inOrderOfPorts } from '../../domains/brokers/port-candidates.ts';
import { listenOnFreePort } from '../free-port.ts';

/** Returns the listeners with free ports. All are held until each listener has one, so that no two get the same. */
export async function withFreePorts(listeners: readonly ListenerWanted[]): Promise<ListenerWanted[]> {
  const held: Server[] = [];
  try {
    const ports = new Map<number, number>();
    for (const listener of inOrderOfPorts(listeners)) {
      const server = createServer();
      ports.set(listener.number, await listenOnFreePort(server, listener, listeners));
      held.push(server);
    }
    return listeners.map((listener) => ({ ...listener, port: ports.get(listener.number) ?? listener.port }));
  } finally {
    await Promise.all(held.map((server) => new Promise((resolve) => server.close(resolve))));
  }
}
