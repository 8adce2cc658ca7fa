import { readFileSync, rmSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

/** What a process is asked to end by, and then made to. */
const PATIENCE_MS = 10_000;
const POLL_MS = 20;

/**
 * Ends the process that a service which was killed has left behind, so that its ports and files are free; answers whether there was one.
 * It is told by its command line: a number that has come to be another process's is left alone, as everything is where the system has no
 * /proc.
 */
export async function endLeftOver(pidFile: string, isOurs: (argv: readonly string[]) => boolean): Promise<boolean> {
  const pid = readPid(pidFile);
  const isThere = () => pid !== null && isOurs(argumentsOf(pid));
  if (pid === null || !isThere()) {
    rmSync(pidFile, { force: true });
    return false;
  }
  // By SIGTERM a Mosquitto keeps what it holds in memory.
  signal(pid, 'SIGTERM');
  for (let waited = 0; isThere(); waited += POLL_MS) {
    if (waited >= PATIENCE_MS) signal(pid, 'SIGKILL');
    await delay(POLL_MS);
  }
  rmSync(pidFile, { force: true });
  return true;
}

function readPid(pidFile: string): number | null {
  try {
    const pid = Number(readFileSync(pidFile, 'utf8'));
    return Number.isSafeInteger(pid) && pid > 1 ? pid : null;
  } catch {
    return null;
  }
}

function argumentsOf(pid: number): readonly string[] {
  try {
    // Of one that has ended and waits for its parent it is empty.
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
  } catch {
    return [];
  }
}

function signal(pid: number, name: 'SIGTERM' | 'SIGKILL'): void {
  try {
    process.kill(pid, name);
  } catch {
    // Ended in this very moment.
  }
}
