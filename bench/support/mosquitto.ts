/** Starts the installed Mosquitto with anonymous access, in a new folder, with queues that no benchmark fills. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { connect as dial } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from './free-port.ts';

interface Mosquitto {
  readonly port: number;
  readonly pid: number;
  close(): void;
}

export async function startMosquitto(parent: string, lines: readonly string[] = []): Promise<Mosquitto> {
  const folder = join(parent, 'mosquitto');
  mkdirSync(folder);
  const port = await freePort();
  const config = [
    'user root',
    `listener ${port} 127.0.0.1`,
    'set_tcp_nodelay true',
    'allow_anonymous true',
    'max_queued_messages 0',
    'log_dest none',
    ...lines,
  ];
  writeFileSync(join(folder, 'mosquitto.conf'), `${config.join('\n')}\n`);
  const child: ChildProcess = spawn('mosquitto', ['-c', join(folder, 'mosquitto.conf')], { stdio: 'ignore' });
  while (!(await accepts(port))) {
    if (child.exitCode !== null) throw new Error('Mosquitto did not start');
    await delay(10);
  }
  return { port, pid: child.pid ?? 0, close: () => void child.kill() };
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = dial(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
