/**
 * Ends what a benchmark started when the benchmark itself is ended, however that happens. Run as `node watchdog.js <pid>` with an IPC
 * channel, which closes with its parent; the process has to lead a group of its own, all of which ends.
 */
import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** How long the group may take to end by itself. */
const GRACE_MS = 10_000;

/** Gives what calls the watchdog off. */
export function watch(pid: number): () => void {
  // Detached: what a terminal tells the benchmark would end it, too.
  const child = fork(fileURLToPath(import.meta.url), [String(pid)], { detached: true });
  child.unref();
  child.channel?.unref();
  return () => child.kill('SIGKILL');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const pid = Number(process.argv[2]);
  /** 0 only looks whether there is anything left. */
  const end = (signal: NodeJS.Signals | 0) => {
    try {
      process.kill(-pid, signal);
    } catch {
      // It has ended.
      process.exit();
    }
  };
  process.on('disconnect', () => {
    end('SIGTERM');
    setTimeout(() => end('SIGKILL'), GRACE_MS);
    setInterval(() => end(0), 100);
  });
}
