/**
 * Milliseconds of processor time of this process so far: what work takes however often the machine lets it wait, so that a bound on
 * it tells of the work alone.
 */
export function busyMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}
