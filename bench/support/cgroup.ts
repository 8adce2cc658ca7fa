/** Hard limits of a process and its threads: a control group of version 2 or 1, which only root can create. */
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

interface Limits {
  readonly cpus: number;
  readonly megabytes: number;
}

interface ControlGroup {
  /** Runs a command in the group. */
  inside(command: readonly string[]): string[];
  /** Only after its processes have exited. */
  close(): void;
}

const ROOT = '/sys/fs/cgroup';
const PERIOD_US = 100_000;
/** By default a group competes as one thread: on a machine with other load it would not get what its limit allows. */
const WEIGHT = 10;
/** Adds the shell to each group, and becomes the command. */
const JOIN = `for group in $GROUPS_OF_BENCH; do echo $$ > "$group/cgroup.procs" || exit 1; done; exec "$@"`;

export function createControlGroup({ cpus, megabytes }: Limits): ControlGroup {
  const name = `brokergraph-bench-${process.pid}`;
  const quota = Math.round(cpus * PERIOD_US);
  const bytes = megabytes * 1_048_576;
  const isUnified =
    existsSync(join(ROOT, 'cgroup.controllers')) &&
    /\bcpu\b/.test(readFileSync(join(ROOT, 'cgroup.controllers'), 'utf8'));
  const files: readonly (readonly [folder: string, file: string, value: string])[] = isUnified
    ? [
        [join(ROOT, name), 'cpu.max', `${quota} ${PERIOD_US}`],
        [join(ROOT, name), 'cpu.weight', String(100 * WEIGHT)],
        [join(ROOT, name), 'memory.max', String(bytes)],
      ]
    : [
        [join(ROOT, 'cpu', name), 'cpu.cfs_quota_us', String(quota)],
        [join(ROOT, 'cpu', name), 'cpu.shares', String(1_024 * WEIGHT)],
        [join(ROOT, 'memory', name), 'memory.limit_in_bytes', String(bytes)],
      ];
  const folders = [...new Set(files.map(([folder]) => folder))];
  for (const folder of folders) mkdirSync(folder, { recursive: true });
  for (const [folder, file, value] of files) writeFileSync(join(folder, file), value);
  return {
    inside: (command) => ['env', `GROUPS_OF_BENCH=${folders.join(' ')}`, 'sh', '-c', JOIN, 'sh', ...command],
    close: () => {
      for (const folder of folders) rmdirSync(folder);
    },
  };
}
