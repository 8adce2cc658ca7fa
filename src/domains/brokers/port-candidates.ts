import type { ListenerWanted } from './broker-engine.ts';

/** Number of ports after an occupied one that are tried before any free port. */
const PORTS_TRIED = 20;

type Wanted = Pick<ListenerWanted, 'number' | 'port'>;

/** Sorts listeners that accept any port last, so that they do not take a port that another listener needs. */
export const inOrderOfPorts = <T extends Wanted>(listeners: readonly T[]): T[] =>
  listeners.toSorted((one, other) => Number(one.port === 0) - Number(other.port === 0));

/**
 * The ports that a listener tries, in order: its own, the PORTS_TRIED next ones, and 0 for any free port. Ports of
 * other listeners of its broker are skipped.
 */
export function* portCandidates({ number, port }: Wanted, listeners: readonly Wanted[]): Generator<number> {
  const others = listeners.filter((one) => one.number !== number).map((one) => one.port);
  const last = port === 0 ? 0 : Math.min(port + PORTS_TRIED, 65_535);
  for (let candidate = port; candidate !== 0 && candidate <= last; candidate++) {
    if (!others.includes(candidate)) yield candidate;
  }
  yield 0;
}
