/** Processor time of this process in milliseconds, which is independent of the load of the machine. */
export function busyMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}
