import { chmodSync, existsSync, mkdtempSync, statfsSync } from 'node:fs';
import { freemem } from 'node:os';
import { join } from 'node:path';

const MEMORY = '/dev/shm';
/** What the tests that run at one time keep in files is a tenth of it. */
const ROOM_BYTES = 6 * 1_024 ** 3;

/**
 * A folder whose files are in memory, or null where there is none with room. Nobody here waits for a disk: what a process wrote survives its
 * kill anyway, and what a power cut leaves no test can show.
 */
export function folderInMemory(): string | null {
  if (!existsSync(MEMORY)) return null;
  const { bavail, bsize } = statfsSync(MEMORY);
  if (Math.min(bavail * bsize, freemem()) < ROOM_BYTES) return null;
  const folder = mkdtempSync(join(MEMORY, 'brokergraph-'));
  // PostgreSQL and Mosquitto run as users of their own.
  chmodSync(folder, 0o755);
  return folder;
}
