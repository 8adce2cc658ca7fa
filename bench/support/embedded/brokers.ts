/** Starts the two brokers, each in its own process, with the same accounts of dynamic security. */
import { execFileSync, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { connectAsync } from 'mqtt';
import { bundleProgram } from '../../../test/support/bundled-programs.ts';
import type { Account } from '../frame-wire.ts';
import { freePort } from '../free-port.ts';
import { pin } from '../pin.ts';

export interface Broker {
  readonly name: 'embedded' | 'Mosquitto';
  readonly pid: number;
  readonly port: number;
  /** Frees memory that the broker no longer needs. Mosquitto frees it immediately. */
  collectGarbage(): Promise<void>;
  close(): Promise<void>;
}

/** The broker process of the tests has this administrator. */
const ADMIN = { username: 'admin', password: 'correct horse' };
export const ACCOUNT: Account = { username: 'bench', password: 'of a benchmark' };
const PLUGIN = '/usr/lib/x86_64-linux-gnu/mosquitto_dynamic_security.so';
const CONTROL = '$CONTROL/dynamic-security/v1';
const PROCESSOR = 0;
const COLLECTOR = new URL('../collect-garbage.js', import.meta.url).href;

const ACLS = ['publishClientSend', 'publishClientReceive', 'subscribePattern', 'unsubscribePattern'];
const ALL = { acls: ACLS.map((acltype) => ({ acltype, topic: '#', allow: true })) };
const COMMANDS = [
  { command: 'createRole', rolename: 'all', ...ALL },
  { command: 'createGroup', groupname: 'anonymous', roles: [{ rolename: 'all' }] },
  { command: 'setAnonymousGroup', groupname: 'anonymous' },
  { command: 'createClient', ...ACCOUNT, roles: [{ rolename: 'all' }] },
];

type Message =
  | { readonly type: 'running'; readonly listeners: readonly { readonly port: number }[] }
  | { readonly type: 'failed'; readonly reason: string }
  | { readonly type: 'log'; readonly text: string }
  | { readonly type: 'state' | 'stall' | 'collected' };

/** The path of the broker process of the tests, in one file: Node 20 cannot run TypeScript. */
async function bundledProgram(): Promise<string> {
  // Inside node_modules, so that imports of packages resolve.
  const file = join(process.cwd(), 'node_modules/.brokergraph/bench/broker-process.js');
  await bundleProgram(join(process.cwd(), 'test/data-plane/broker/broker-process.mjs'), file);
  return file;
}

/**
 * run.mjs runs benchmarks in the root of the project. The broker is that of `npm run build`. Without `kept` its data
 * are in a new folder, which `close` removes.
 */
export async function startEmbedded(kept?: string): Promise<Broker> {
  const folder = kept ?? mkdtempSync(join(tmpdir(), 'brokergraph-embedded-'));
  const isNew = readdirSync(folder).length === 0;
  const listener = { number: 1, protocol: 'MQTT', host: '127.0.0.1', port: 0, tls: false, requireCertificate: false };
  const worker = pathToFileURL(join(process.cwd(), 'dist/data-plane/broker/worker.js'));
  const child = fork(await bundledProgram(), [folder, JSON.stringify([listener]), worker.href], {
    execArgv: ['--import', COLLECTOR, ...(process.env.BENCH_NODE_OPTIONS?.split(' ') ?? [])],
  });
  process.once('exit', () => child.kill('SIGKILL'));
  const port = await new Promise<number>((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`The process of the embedded broker exited with code ${code}`)));
    child.on('message', (message: Message) => {
      if (message.type === 'running') resolve(message.listeners[0]?.port ?? 0);
      else if (message.type === 'failed') reject(new Error(`The embedded broker did not start: ${message.reason}`));
      else if (message.type === 'log') console.error('  the embedded broker logs', message.text);
    });
  });
  const close = async () => {
    const exit = once(child, 'exit');
    child.send('close');
    await exit;
    if (kept === undefined) rmSync(folder, { recursive: true, force: true });
  };
  const collectGarbage = () =>
    new Promise<void>((resolve) => {
      const received = ({ type }: Message) => {
        if (type !== 'collected') return;
        child.off('message', received);
        resolve();
      };
      child.on('message', received);
      child.send('collect');
    });
  const broker: Broker = { name: 'embedded', pid: child.pid ?? 0, port, collectGarbage, close };
  if (isNew) return prepared(broker);
  pin(broker.pid, PROCESSOR);
  return broker;
}

export async function startMosquitto(): Promise<Broker> {
  const folder = mkdtempSync(join(tmpdir(), 'brokergraph-mosquitto-'));
  mkdirSync(folder, { recursive: true });
  const port = await freePort();
  const file = join(folder, 'dynsec.json');
  execFileSync('mosquitto_ctrl', ['dynsec', 'init', file, ADMIN.username, ADMIN.password], { stdio: 'ignore' });
  const lines = [
    'user root',
    `listener ${port} 127.0.0.1`,
    'set_tcp_nodelay true',
    'allow_anonymous true',
    'max_queued_messages 0',
    'max_inflight_messages 0',
    `plugin ${PLUGIN}`,
    `plugin_opt_config_file ${file}`,
    'log_dest stderr',
  ];
  writeFileSync(join(folder, 'mosquitto.conf'), `${lines.join('\n')}\n`);
  const child = spawn('mosquitto', ['-c', join(folder, 'mosquitto.conf')], { stdio: ['ignore', 'ignore', 'pipe'] });
  process.once('exit', () => child.kill('SIGKILL'));
  let text = '';
  while (!text.includes('running')) text += (await once(child.stderr, 'data'))[0];
  child.stderr.resume();
  const close = async () => {
    const exit = once(child, 'exit');
    child.kill();
    await exit;
    rmSync(folder, { recursive: true, force: true });
  };
  return prepared({ name: 'Mosquitto', pid: child.pid ?? 0, port, collectGarbage: async () => {}, close });
}

async function prepared(broker: Broker): Promise<Broker> {
  pin(broker.pid, PROCESSOR);
  const client = await connectAsync(`mqtt://127.0.0.1:${broker.port}`, { ...ADMIN, protocolVersion: 4 });
  await client.subscribeAsync(`${CONTROL}/response`);
  const response = new Promise<Buffer>((resolve) => client.once('message', (_topic, payload) => resolve(payload)));
  await client.publishAsync(CONTROL, JSON.stringify({ commands: COMMANDS }));
  const text = String(await response);
  if (text.includes('"error"')) throw new Error(text);
  await client.endAsync();
  return broker;
}
