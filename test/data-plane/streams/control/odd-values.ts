/** Values of all kinds, in all places, the same ones for a seed. */
export function odd(seed: number): () => unknown {
  let state = seed;
  const random = (below: number) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((state / 2_147_483_648) * below);
  };
  const keys = ['streamname', 'sourcetopic', 'targetqos', 'ttl', 'active', 'query', 'streams', 'stream', 'totalCount'];
  keys.push(
    'count',
    'report',
    'state',
    'counters',
    'lastError',
    'lastFiltered',
    'reason',
    'storage',
    'replay',
    'request',
    'limit',
    'speed',
    'at',
  );
  const texts = ['', 'a', 'RUNNING', 'STORING', 'fastest', '\u0000', '\ud800', '$SYS', 'x'.repeat(70_000)];
  const numbers = [0, -1, 1, 2.5, 1e308, -1e308, Number.MAX_SAFE_INTEGER, 9e15];
  const value = (depth: number): unknown => {
    switch (random(depth > 4 ? 5 : 8)) {
      case 0:
        return null;
      case 1:
        return texts[random(texts.length)];
      case 2:
        return numbers[random(numbers.length)];
      case 3:
        return random(2) === 0;
      case 4:
        return [];
      case 5:
        return Array.from({ length: random(6) }, () => value(depth + 1));
      default:
        return Object.fromEntries(
          Array.from({ length: 1 + random(9) }, () => [keys[random(keys.length)], value(depth + 1)]),
        );
    }
  };
  return () => value(0);
}

/** Deeper than it can be written, for thousands of levels. */
export const nested = (levels: number): object =>
  JSON.parse(`${'{"query":'.repeat(levels)}{}${'}'.repeat(levels)}`) as object;
