import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { createClient } from '@redis/client';
import { onTestFinished } from 'vitest';
import type { TestCertificate } from './certificates.ts';
import { freePort } from './mosquitto.ts';

const START_ATTEMPTS = 5;

export interface RedisOptions {
  /** Keeps all that it has answered for; without it a start begins empty. */
  readonly durable?: boolean;
  readonly password?: string;
  /** Its own: then it takes TLS only (`rediss://`). */
  readonly tls?: TestCertificate;
  /** As in redis.conf: `['maxmemory', '10mb']`. */
  readonly settings?: readonly (readonly [name: string, value: string])[];
}

export interface Redis {
  readonly port: number;
  readonly url: string;
  /** On the same port, with what it has kept. */
  start(): Promise<void>;
  kill(): Promise<void>;
  /** Stands still until `goOn`, with its connections open. */
  standStill(): void;
  goOn(): void;
  /** One command on a connection of its own. */
  command(...command: (string | Buffer)[]): Promise<unknown>;
  stop(): Promise<void>;
}

/** A server of its own on a free port of 127.0.0.1, in a temporary folder, ended with the test. */
export async function startRedis(options: RedisOptions = {}): Promise<Redis> {
  const redis = await launchRedis(options);
  onTestFinished(() => redis.stop());
  return redis;
}

/** The same for a whole file, say: the caller stops it. */
export async function launchRedis(options: RedisOptions = {}): Promise<Redis> {
  const { durable = false, password, tls, settings = [] } = options;
  const folder = mkdtempSync(join(tmpdir(), 'brokergraph-redis-'));
  const fixed = [
    ['bind', '127.0.0.1'],
    ['dir', folder],
    ['save', ''],
    ['appendonly', durable ? 'yes' : 'no'],
    ['appendfsync', 'always'],
    ...(password === undefined ? [] : [['requirepass', password]]),
    ...(tls === undefined ? [] : tlsSettings(folder, tls)),
    ...settings,
  ];
  const args = fixed.flatMap(([name, value]) => [`--${name}`, value ?? '']);
  const portName = tls === undefined ? '--port' : '--tls-port';
  const first = await launch(portName, args);
  const { port } = first;
  let running: ChildProcess | null = first.server;
  const url = `${tls === undefined ? 'redis' : 'rediss'}://${password === undefined ? '' : `:${password}@`}127.0.0.1:${port}`;
  const reconnecting = { reconnectStrategy: false } as const;
  const socket = tls === undefined ? reconnecting : ({ ...reconnecting, tls: true, ca: tls.leaf } as const);
  const removeAtExit = () => running?.kill('SIGKILL');
  process.once('exit', removeAtExit);
  const kill = async () => {
    const server = running;
    running = null;
    if (!server || server.exitCode !== null || server.signalCode !== null) return;
    const exit = once(server, 'exit');
    server.kill('SIGKILL');
    await exit;
  };
  return {
    port,
    url,
    start: async () => {
      ({ server: running } = await launch(portName, args, port));
    },
    kill,
    standStill: () => running?.kill('SIGSTOP'),
    goOn: () => running?.kill('SIGCONT'),
    command: async (...command) => {
      const client = createClient({ url, disableClientInfo: true, socket });
      client.on('error', () => undefined);
      await client.connect();
      try {
        return await client.sendCommand(command);
      } finally {
        client.destroy();
      }
    },
    stop: async () => {
      process.removeListener('exit', removeAtExit);
      await kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function tlsSettings(folder: string, { cert, key }: TestCertificate): [name: string, value: string][] {
  writeFileSync(join(folder, 'cert.pem'), cert);
  writeFileSync(join(folder, 'key.pem'), key);
  return [
    ['port', '0'],
    ['tls-cert-file', join(folder, 'cert.pem')],
    ['tls-key-file', join(folder, 'key.pem')],
    ['tls-auth-clients', 'no'],
  ];
}

async function launch(portName: '--port' | '--tls-port', args: readonly string[], wanted?: number) {
  for (let attempt = 1; ; attempt++) {
    const port = wanted ?? (await freePort());
    const server = spawn('redis-server', [portName, String(port), ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
    const failure = await readiness(server);
    if (failure === null) return { server, port };
    // Somebody else may have taken the port since it was found free.
    if (attempt === START_ATTEMPTS) throw new Error(`Redis did not start:\n${failure}`);
  }
}

/** Null when the server takes connections, what it said when it ended instead. */
async function readiness(server: ChildProcess): Promise<string | null> {
  if (!server.stdout) throw new Error('The server was started without its log');
  const said: string[] = [];
  for await (const line of createInterface({ input: server.stdout })) {
    if (line.includes('Ready to accept connections')) {
      server.stdout.resume();
      return null;
    }
    said.push(line);
  }
  return said.join('\n');
}
