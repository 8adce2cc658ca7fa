/**
 * Memory of processes in MB, as Linux reports it. A worker thread is part of its process. `rss` counts a page that
 * several processes share for each of them, `pss` divides it among them. For one process both are nearly equal.
 */
import { readdirSync, readFileSync } from 'node:fs';

interface Memory {
  readonly rss: number;
  readonly pss: number;
}

interface ProcessMemory extends Memory {
  readonly pid: number;
  readonly command: string;
}

/** A process and all its descendants. */
export function memoryOfTree(root: number): ProcessMemory[] {
  const children = new Map<number, number[]>();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const parent = Number(/^PPid:\s+(\d+)/m.exec(read(`/proc/${name}/status`))?.[1]);
    children.set(parent, [...(children.get(parent) ?? []), Number(name)]);
  }
  const tree = [root];
  for (const pid of tree) tree.push(...(children.get(pid) ?? []));
  return tree.map((pid) => ({ pid, command: commandOf(pid), ...memoryOf(pid) })).filter(({ rss }) => rss > 0);
}

export function memoryOf(pid: number): Memory {
  const text = read(`/proc/${pid}/smaps_rollup`);
  const kilobytes = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(text)?.[1] ?? 0);
  return { rss: kilobytes('Rss') / 1_024, pss: kilobytes('Pss') / 1_024 };
}

/** Resident memory of a process. Cheaper than `memoryOf`. */
export function rssOf(pid: number): number {
  return Number(/^VmRSS:\s+(\d+)/m.exec(read(`/proc/${pid}/status`))?.[1] ?? 0) / 1_024;
}

const commandOf = (pid: number) => read(`/proc/${pid}/cmdline`).split('\0').join(' ').trim();

/** The content of a file; empty if the process has exited. */
function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
