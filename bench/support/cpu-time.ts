import { readFileSync } from 'node:fs';

/** Unit of times in /proc/<pid>/stat. It is the same on every Linux. */
const TICKS_PER_SECOND = 100;

/** Processor time of a process with all its threads. */
export function cpuSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}
