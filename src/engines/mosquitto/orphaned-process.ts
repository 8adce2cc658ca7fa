import { readFileSync, rmSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

const TERMINATION_MS = 10_000;
const POLL_MS = 20;

/** Stops the process that a killed service left, if its command line is as expected. Returns whether it existed. */
export async function stopOrphanedProcess(pidFile: string, isExpected: (argv: readonly string[]) => boolean) {
  const pid = readPid(pidFile);
  const isRunning = () => pid !== null && isExpected(argumentsOf(pid));
  if (pid === null || !isRunning()) {
    rmSync(pidFile, { force: true });
    return false;
  }
  // SIGTERM makes Mosquitto save its database.
  signal(pid, 'SIGTERM');
  for (let waited = 0; isRunning(); waited += POLL_MS) {
    if (waited >= TERMINATION_MS) signal(pid, 'SIGKILL');
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
    // Empty for a zombie process.
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
  } catch {
    return [];
  }
}

function signal(pid: number, name: 'SIGTERM' | 'SIGKILL'): void {
  try {
    process.kill(pid, name);
  } catch {
    // The process has just exited.
  }
}
