/** The other end of `measure`: tells the parent the port, and the processor time used so far when it asks. */
export function serveBench(port: number): void {
  process.on('message', () => {
    const { user, system } = process.cpuUsage();
    process.send?.({ cpuSeconds: (user + system) / 1e6 });
  });
  process.on('disconnect', () => process.exit(0));
  process.send?.({ port });
}
