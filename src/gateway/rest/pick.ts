export function follow(data: unknown, steps: readonly string[]): unknown {
  let value = data;
  for (const step of steps) {
    if (value === null || value === undefined) return value;
    value = (value as Record<string, unknown>)[step];
  }
  return value;
}

export function totalOf(data: unknown, steps: readonly string[] | null): number | undefined {
  const total = steps === null ? undefined : follow(data, steps);
  return typeof total === 'number' ? total : undefined;
}
