import { execFileSync } from 'node:child_process';

/**
 * Runs all threads of a process on one processor. Benchmarks run the measured processes on one processor and the load
 * on another, so that they do not compete. Linux only.
 */
export function pin(pid: number, processor: number): void {
  execFileSync('taskset', ['--all-tasks', '--pid', '--cpu-list', String(processor), String(pid)], { stdio: 'ignore' });
}
