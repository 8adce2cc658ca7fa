import { execFileSync } from 'node:child_process';

/**
 * Keeps a process, with all its threads, on one processor: those who send on one and those who read on another, so that what is
 * measured is not how the two get into each other's way. Linux only.
 */
export function pin(pid: number, processor: number): void {
  execFileSync('taskset', ['--all-tasks', '--pid', '--cpu-list', String(processor), String(pid)], { stdio: 'ignore' });
}
