/**
 * Measures how long a server is unresponsive: a process that sends a small request every few milliseconds. Runs as
 * `node pings.js <url>` with an IPC channel. Responds to each message with the longest wait since the previous message,
 * in milliseconds.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { Agent, get } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const PAUSE_MS = 2;

interface Pings {
  /** The longest wait since the previous call, in milliseconds. */
  longestMs(): Promise<number>;
  close(): void;
}

export async function startPings(url: string): Promise<Pings> {
  const child = fork(fileURLToPath(import.meta.url), [url]);
  await once(child, 'message');
  return { longestMs: () => asked(child), close: () => child.kill() };
}

async function asked(child: ChildProcess): Promise<number> {
  child.send('longest');
  const [milliseconds] = await once(child, 'message');
  return milliseconds;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const url = process.argv[2] ?? '';
  let longest = 0;
  let isWanted = false;
  process.on('disconnect', () => process.exit(0));
  process.on('message', () => {
    isWanted = true;
  });
  for (let turn = 0; ; turn++) {
    const startedAt = performance.now();
    await new Promise<void>((resolve, reject) => {
      get(url, { agent }, (response) => response.resume().once('end', resolve)).once('error', reject);
    });
    if (turn === 0) {
      process.send?.('ready');
    } else {
      longest = Math.max(longest, performance.now() - startedAt);
      // The response is sent only now, so that it includes the request in progress.
      if (isWanted) {
        process.send?.(longest);
        longest = 0;
        isWanted = false;
      }
    }
    await delay(PAUSE_MS);
  }
}
