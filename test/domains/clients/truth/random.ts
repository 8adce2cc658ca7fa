/** Random numbers that a seed repeats (mulberry32). */
export interface Random {
  /** A whole number from 0 up to `end`, without `end`. */
  below(end: number): number;
  chance(share: number): boolean;
  pick<T>(values: readonly T[]): T;
}

export function randomOf(seed: number): Random {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (end: number) => Math.floor(next() * end);
  return {
    below,
    chance: (share) => next() < share,
    pick: (values) => {
      const value = values[below(values.length)];
      if (value === undefined) throw new Error('Nothing to pick from');
      return value;
    },
  };
}
