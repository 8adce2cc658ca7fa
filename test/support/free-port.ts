import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Ports below the ephemeral range of Linux (32768 to 60999): no connection and no `listen(0)` gets one of them. */
const FIRST_PORT = 10_000;
const LAST_PORT = 32_767;

/**
 * Returns a port of loopback on which no process listens. No other test of the run gets the same port, so a process can
 * be started there later, also again after it was stopped.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomPort();
    if (isClaimed(port) && (await isFree(port))) return port;
  }
}

/** All digits but the last of four free ports that end with 0 to 3. No other test of the run gets one of them. */
export async function freeTen(): Promise<string> {
  for (;;) {
    const ten = String(randomPort()).slice(0, -1);
    const ports = ['0', '1', '2', '3'].map((last) => Number(ten + last));
    if (ports.every(isClaimed) && !(await Promise.all(ports.map(isFree))).includes(false)) return ten;
  }
}

const randomPort = () => FIRST_PORT + Math.floor(Math.random() * (LAST_PORT - FIRST_PORT + 1));

/** Claims a port for the run by a folder, because files of tests run in several processes. */
function isClaimed(port: number): boolean {
  const folder = join(tmpdir(), 'brokergraph-ports');
  mkdirSync(folder, { recursive: true });
  try {
    mkdirSync(join(folder, String(port)));
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/** Whether no process listens on a port of loopback. */
async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch {
    return false;
  }
  server.close();
  await once(server, 'close');
  return true;
}
