import { chmodSync, existsSync, mkdtempSync, statfsSync } from 'node:fs';
import { freemem } from 'node:os';
import { join } from 'node:path';

const MEMORY = '/dev/shm';
/** Required free space: ten times the files of the tests that run at the same time. */
const ROOM_BYTES = 6 * 1_024 ** 3;

/**
 * Creates a folder in memory; `null` if the machine has too little memory. Tests need no disk: written data survives
 * the kill of a process, and no test simulates a power failure.
 */
export function folderInMemory(): string | null {
  if (!existsSync(MEMORY)) return null;
  const { bavail, bsize } = statfsSync(MEMORY);
  if (Math.min(bavail * bsize, freemem()) < ROOM_BYTES) return null;
  const folder = mkdtempSync(join(MEMORY, 'brokergraph-'));
  // PostgreSQL and Mosquitto run as other users.
  chmodSync(folder, 0o755);
  return folder;
}
