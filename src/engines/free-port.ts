import { once } from 'node:events';
import type { AddressInfo, Server } from 'node:net';
import type { ListenerWanted } from '../domains/brokers/broker-engine.ts';
import { portCandidates } from '../domains/brokers/port-candidates.ts';

/** Listens on the first free port for a listener, and returns the port. `all`: the listeners of its broker. */
export async function listenOnFreePort(server: Server, listener: ListenerWanted, all: readonly ListenerWanted[]) {
  let taken: unknown;
  for (const port of portCandidates(listener, all)) {
    server.listen({ host: listener.host, port });
    try {
      await once(server, 'listening');
      return (server.address() as AddressInfo).port;
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EADDRINUSE')) throw error;
      taken = error;
    }
  }
  throw taken;
}
