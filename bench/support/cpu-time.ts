import { readFileSync } from 'node:fs';

/** Unit of times in /proc/<pid>/stat. It is the same on every Linux. */
const TICKS_PER_SECOND = 100;

/** Processor time of a process with all its threads. */
export function cpuSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

/** How long the main thread of a process was ready to run, but had no processor, or its limit was used. */
export function waitedSeconds(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[1]) / 1e9;
}
