import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';

/** Sends the signal to a process that runs, and waits for its end. */
export async function endProcess(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  child.kill(signal);
  await exit;
}
