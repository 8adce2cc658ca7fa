import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { holderOf } from './port-holder.ts';

interface Place {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
}

interface NumberedPlace extends Place {
  readonly number: number;
}

const ATTEMPTS = 100;
const LOWEST = 20_000;
const HIGHEST = 65_535;
/** Of IANA, for systems that do not report theirs. */
const EPHEMERAL = [49_152, HIGHEST] as const;

/** Sorts listeners that accept any port last, so that they do not take a port that another listener needs. */
export const inOrderOfPorts = <T extends Pick<Place, 'port'>>(listeners: readonly T[]): T[] =>
  listeners.toSorted((one, other) => Number(one.port === 0) - Number(other.port === 0));

/**
 * Listens on the port of a listener, or for 0 on a free one that no outgoing connection gets, and returns the port.
 * Errors: the port is in use, with the program that uses it where the system shows it; those of the system.
 */
export async function listenOnPort(server: Server, { host, port }: Place): Promise<number> {
  for (let attempt = 1; ; attempt += 1) {
    const tried = port === 0 ? chosenPort() : port;
    server.listen({ host, port: tried });
    try {
      await once(server, 'listening');
      return (server.address() as AddressInfo).port;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
      if (port === 0 && attempt < ATTEMPTS) continue;
      const holder = holderOf(tried) ?? 'another program';
      throw new Error(`port ${tried} is in use by ${holder}`, { cause: error });
    }
  }
}

/** Returns the listeners with their ports. All are held until each listener has one, so that no two get the same. */
export async function withPorts<T extends NumberedPlace>(listeners: readonly T[]): Promise<T[]> {
  const held: Server[] = [];
  try {
    const ports = new Map<number, number>();
    for (const listener of inOrderOfPorts(listeners)) {
      const server = createServer();
      ports.set(listener.number, await listenOnPort(server, listener));
      held.push(server);
    }
    return listeners.map((listener) => ({ ...listener, port: ports.get(listener.number) ?? listener.port }));
  } finally {
    await Promise.all(held.map(closed));
  }
}

const closed = (server: Server): Promise<void> => new Promise((resolve) => void server.close(() => resolve()));

/** A port that the system does not give to outgoing connections, so that it is free at the next start. */
function chosenPort(): number {
  const [first, last] = ephemeralPorts();
  const below = Math.max(0, Math.min(first, HIGHEST) - LOWEST);
  const above = Math.max(0, HIGHEST - Math.max(last, LOWEST - 1));
  // All ports are ephemeral: the system chooses.
  if (below + above === 0) return 0;
  const chosen = Math.floor(Math.random() * (below + above));
  return chosen < below ? LOWEST + chosen : Math.max(last, LOWEST - 1) + 1 + chosen - below;
}

function ephemeralPorts(): readonly [number, number] {
  try {
    const [first, last] = readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8')
      .trim()
      .split(/\s+/)
      .map(Number);
    if (first !== undefined && last !== undefined && first > 0 && last >= first) return [first, last];
  } catch {
    // Not Linux.
  }
  return EPHEMERAL;
}
