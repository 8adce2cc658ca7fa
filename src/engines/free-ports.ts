import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';
import type { ListenerWanted } from '../domains/brokers/broker-engine.ts';

/** Number of ports after an occupied one that are tried before any free port. */
const PORTS_TRIED = 20;

/** Sorts listeners that accept any port last, so that they do not take a port that another listener needs. */
export const inOrderOfPorts = <T extends Pick<ListenerWanted, 'port'>>(listeners: readonly T[]): T[] =>
  listeners.toSorted((one, other) => Number(one.port === 0) - Number(other.port === 0));

/** Listens on the first free port for a listener, and returns the port. `all`: the listeners of its broker. */
export async function listenOnFreePort(server: Server, listener: ListenerWanted, all: readonly ListenerWanted[]) {
  let taken: unknown;
  for (const port of portCandidates(listener, all)) {
    server.listen({ host: listener.host, port });
    try {
      await once(server, 'listening');
      return (server.address() as AddressInfo).port;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
      taken = error;
    }
  }
  throw taken;
}

/** The port of a listener, the PORTS_TRIED next ones without those of other listeners, and 0 for any free port. */
function* portCandidates({ number, port }: ListenerWanted, listeners: readonly ListenerWanted[]): Generator<number> {
  const others = listeners.filter((one) => one.number !== number).map((one) => one.port);
  const last = port === 0 ? 0 : Math.min(port + PORTS_TRIED, 65_535);
  for (let candidate = port; candidate !== 0 && candidate <= last; candidate++) {
    if (!others.includes(candidate)) yield candidate;
  }
  yield 0;
}

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
