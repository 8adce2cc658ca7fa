/** The server side of `measure`: sends the port to the parent process, and the used processor time on request. */
export function serveBench(port: number): void {
  process.on('message', () => {
    const { user, system } = process.cpuUsage();
    process.send?.({ cpuSeconds: (user + system) / 1e6 });
  });
  process.on('disconnect', () => process.exit(0));
  process.send?.({ port });
}
