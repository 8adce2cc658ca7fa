import type { ListenerWanted } from './broker-engine.ts';

/** How many ports after a taken one are tried before any free one is taken. */
const PORTS_TRIED = 20;

type Wanted = Pick<ListenerWanted, 'number' | 'port'>;

/** The listeners of a broker in the order in which they get their ports: whoever takes any must not take one that another wants. */
export const inOrderOfPorts = <T extends Wanted>(listeners: readonly T[]): T[] =>
  listeners.toSorted((one, other) => Number(one.port === 0) - Number(other.port === 0));

/**
 * The ports that a listener tries in turn: its own, where that is taken those right after it, since people look there, then 0 for any. Those
 * that other listeners of its broker want are left to them.
 */
export function* portCandidates({ number, port }: Wanted, listeners: readonly Wanted[]): Generator<number> {
  const others = listeners.filter((one) => one.number !== number).map((one) => one.port);
  const last = port === 0 ? 0 : Math.min(port + PORTS_TRIED, 65_535);
  for (let candidate = port; candidate !== 0 && candidate <= last; candidate++) {
    if (!others.includes(candidate)) yield candidate;
  }
  yield 0;
}
