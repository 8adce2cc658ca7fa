import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

const LISTENING = '0A';
/** Maximum number of open files of all processes that are looked at. */
const MAX_FILES = 200_000;

/** The program that listens on a TCP port, such as `nginx (process 12)`. `null` if the system does not show it. */
export function holderOf(port: number): string | null {
  const sockets = socketsOn(port);
  if (sockets.size === 0) return null;
  let left = MAX_FILES;
  for (const process of read(() => readdirSync('/proc'), []).filter((name) => /^\d+$/.test(name))) {
    for (const file of read(() => readdirSync(`/proc/${process}/fd`), [])) {
      left -= 1;
      if (left < 0) return null;
      if (!sockets.has(read(() => readlinkSync(`/proc/${process}/fd/${file}`), ''))) continue;
      const name = read(() => readFileSync(`/proc/${process}/comm`, 'utf8'), '').replaceAll(/[^\x20-\x7e]/g, '');
      return `${name || 'a program'} (process ${process})`;
    }
  }
  return null;
}

/** The listening sockets as `/proc/<id>/fd` names them. */
function socketsOn(port: number): Set<string> {
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const found = new Set<string>();
  for (const table of ['/proc/net/tcp', '/proc/net/tcp6']) {
    for (const line of read(() => readFileSync(table, 'utf8'), '').split('\n')) {
      const columns = line.trim().split(/\s+/);
      const [, local = '', , state] = columns;
      if (state === LISTENING && local.endsWith(suffix)) found.add(`socket:[${columns[9]}]`);
    }
  }
  return found;
}

/** Processes end meanwhile, and those of other users cannot be read. */
function read<T>(work: () => T, otherwise: T): T {
  try {
    return work();
  } catch {
    return otherwise;
  }
}
