import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { endProcess } from './end-process.ts';
import { programUrl } from './programs.ts';

interface StorageProcess {
  readonly pid: number;
  readonly migrated: readonly string[];
  /** The output after the first line. */
  readonly lines: AsyncIterableIterator<string>;
  /** Sends SIGKILL and waits for the exit. */
  kill(): Promise<void>;
}

/** Opens the storage in another process, which is killed after the test. */
export async function startStorageProcess(
  mode: 'hold' | 'write',
  dataDir: string,
  databaseUrl: string | undefined,
): Promise<StorageProcess> {
  const script = fileURLToPath(programUrl('test/platform/storage/storage-process.mjs'));
  const args = databaseUrl === undefined ? [mode, dataDir] : [mode, dataDir, databaseUrl];
  const child = spawn(process.execPath, [script, ...args], { stdio: 'pipe' });
  const kill = () => endProcess(child, 'SIGKILL');
  onTestFinished(kill);
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  let complaint = '';
  child.stderr.on('data', (chunk) => {
    complaint += chunk;
  });
  const first = await lines.next();
  if (first.done || child.pid === undefined) throw new Error(`The process did not open the storage:\n${complaint}`);
  return { pid: child.pid, migrated: JSON.parse(first.value).migrated, lines, kill };
}
