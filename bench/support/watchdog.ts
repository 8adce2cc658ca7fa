/**
 * Stops a process group that a benchmark started when the benchmark exits for any reason. Runs as
 * `node watchdog.js <pid>` with an IPC channel, which closes when the parent exits. The process must lead the group.
 */
import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** Time between SIGTERM and SIGKILL. */
const GRACE_MS = 10_000;

/** Starts the watchdog. Returns a function that stops it. */
export function watch(pid: number): () => void {
  // Detached, because a signal from the terminal to the benchmark would also stop the watchdog.
  const child = fork(fileURLToPath(import.meta.url), [String(pid)], { detached: true });
  child.unref();
  child.channel?.unref();
  return () => child.kill('SIGKILL');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const pid = Number(process.argv[2]);
  /** Signal 0 only checks whether the group exists. */
  const end = (signal: NodeJS.Signals | 0) => {
    try {
      process.kill(-pid, signal);
    } catch {
      // The group does not exist any more.
      process.exit();
    }
  };
  process.on('disconnect', () => {
    end('SIGTERM');
    setTimeout(() => end('SIGKILL'), GRACE_MS);
    setInterval(() => end(0), 100);
  });
}
