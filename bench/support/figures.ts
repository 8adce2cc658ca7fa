/** The value below which the share of the sorted values lies: 0.95 for p95. */
export function at(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

export const median = (values: readonly number[]): number =>
  at(
    values.toSorted((a, b) => a - b),
    0.5,
  );
