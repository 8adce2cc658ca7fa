import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { onTestFinished } from 'vitest';
import { endProcess } from '../end-process.ts';
import type { Host } from './network.ts';

/** What a broker logs about the connection of a client. */
interface ConnectionEvent {
  /** By `performance.now()`, when the line was read. */
  readonly at: number;
  readonly clientId: string;
  /** `REPLACED`: another connection with the same client id, which is reported next, ended this one. */
  readonly kind: 'CONNECTED' | 'REPLACED' | 'GONE';
  /** Address of the client; empty unless CONNECTED. */
  readonly address: string;
}

export interface BrokerOnHost {
  readonly url: string;
  /** Oldest first, in the order of the broker. */
  readonly connections: readonly ConnectionEvent[];
}

const FIRST_PORT = 1883;

/** Starts Mosquitto processes on the host, on ports from 1883 on. */
export function startBrokersOn(host: Host, count: number): Promise<BrokerOnHost[]> {
  return Promise.all(Array.from({ length: count }, (_, index) => startBroker(host, FIRST_PORT + index)));
}

async function startBroker(host: Host, port: number): Promise<BrokerOnHost> {
  const folder = mkdtempSync(join(tmpdir(), 'brokergraph-mosquitto-'));
  const lines = ['user root', `listener ${port} 0.0.0.0`, 'allow_anonymous true', 'set_tcp_nodelay true'];
  // More messages wait for an absent stream than tests send.
  lines.push('max_queued_messages 0', 'log_dest stderr');
  writeFileSync(join(folder, 'mosquitto.conf'), `${lines.join('\n')}\n`);
  const child = host.spawn('mosquitto', ['-c', join(folder, 'mosquitto.conf')], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  onTestFinished(async () => {
    await endProcess(child, 'SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });
  const connections: ConnectionEvent[] = [];
  if (child.stderr === null) throw new Error('mosquitto was started without its log');
  const log = createInterface({ input: child.stderr });
  await new Promise<void>((resolve, reject) => {
    let text = '';
    log.on('line', (line) => {
      if (/ version \S+ running$/.test(line)) resolve();
      text = `${text}${line}\n`.slice(-2_000);
      const event = parseConnection(line);
      if (event !== null) connections.push(event);
    });
    child.once('exit', () => reject(new Error(`mosquitto exited: ${text}`)));
  });
  return { url: `mqtt://${host.address}:${port}`, connections };
}

function parseConnection(line: string): ConnectionEvent | null {
  const at = performance.now();
  const connected = /: New client connected from ([\d.]+):\d+ as (\S+) \(/.exec(line);
  if (connected) return { at, kind: 'CONNECTED', address: connected[1] ?? '', clientId: connected[2] ?? '' };
  const ended = /: Client (\S+) (already connected)?/.exec(line);
  if (!ended) return null;
  const kind = ended[2] !== undefined ? 'REPLACED' : 'GONE';
  return { at, kind, address: '', clientId: ended[1] ?? '' };
}
