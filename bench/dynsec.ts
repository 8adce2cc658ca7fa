/**
 * Commands of dynamic security per second on the embedded broker and on the installed Mosquitto, in turns. One client
 * sends payloads and waits for each response. Before the response, the embedded broker syncs the change to disk and
 * Mosquitto writes its file. Requires `npm run build`, and `mosquitto` with its dynamic security plugin.
 */

import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { connectAsync, type MqttClient } from 'mqtt';
import { startEmbeddedBroker } from '../src/data-plane/broker/embedded-broker.ts';
import type { RunningBroker } from '../src/protocol/hosting/broker-engine.ts';
import { median } from './support/figures.ts';

const ROUNDS = 10;
const PAYLOAD = 100;
const MIN_PER_SECOND = 3_000;
const ADMIN = { username: 'admin', password: 'of a benchmark' };
const PLUGIN = '/usr/lib/x86_64-linux-gnu/mosquitto_dynamic_security.so';

type Command = Readonly<Record<string, unknown>>;

/** Creates the nth command of each kind. The order matters: later kinds change the objects of earlier kinds. */
const KINDS: Readonly<Record<string, (n: number) => Command>> = {
  createRole: (n) => ({ command: 'createRole', rolename: `role ${n}` }),
  addRoleACL: (n) => ({
    command: 'addRoleACL',
    rolename: `role ${n}`,
    acltype: 'publishClientSend',
    topic: `t/${n}/#`,
    allow: true,
  }),
  'createClient without a password': (n) => ({ command: 'createClient', username: `client ${n}`, textname: 'Bench' }),
  addClientRole: (n) => ({ command: 'addClientRole', username: `client ${n}`, rolename: `role ${n}` }),
  modifyClient: (n) => ({ command: 'modifyClient', username: `client ${n}`, textdescription: 'changed' }),
  getClient: (n) => ({ command: 'getClient', username: `client ${n}` }),
  'createClient with a password': (n) => ({
    command: 'createClient',
    username: `device ${n}`,
    password: `secret ${n}`,
  }),
  deleteClient: (n) => ({ command: 'deleteClient', username: `client ${n}` }),
};

const folder = mkdtempSync(join(tmpdir(), 'brokergraph-dynsec-'));
const processes: ChildProcess[] = [];
let embedded: RunningBroker | null = null;
const clients: MqttClient[] = [];
try {
  embedded = await startEmbedded();
  const ours = await connect(portOf(embedded));
  const theirs = await connect(await startMosquitto());
  console.log(`payloads of ${PAYLOAD} commands, ${ROUNDS} of each kind; commands a second, median`);
  let good = true;
  for (const [kind, make] of Object.entries(KINDS)) {
    const speeds: { readonly ours: number; readonly theirs: number }[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const commands = Array.from({ length: PAYLOAD }, (_, index) => make(round * PAYLOAD + index));
      speeds.push({ ours: await speed(ours, commands), theirs: await speed(theirs, commands) });
    }
    const own = median(speeds.map((each) => each.ours));
    const peer = median(speeds.map((each) => each.theirs));
    const ratio = median(speeds.map((each) => each.ours / each.theirs));
    const figures = `${own.toFixed(0).padStart(7)}  Mosquitto ${peer.toFixed(0).padStart(7)}  ${ratio.toFixed(1)} times as many`;
    console.log(`  ${kind.padEnd(34)} ${figures}`);
    // Commands with passwords have no limit, because hashing is slow.
    if (!kind.endsWith('with a password') && own < MIN_PER_SECOND) {
      console.log(`  FAIL below ${MIN_PER_SECOND} commands a second`);
      good = false;
    }
  }
  if (!good) process.exitCode = 1;
} finally {
  for (const client of clients) await client.endAsync(true);
  await embedded?.close();
  for (const child of processes) child.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
}

async function speed(client: MqttClient, commands: readonly Command[]): Promise<number> {
  const answered = new Promise<Buffer>((resolve) => client.once('message', (_topic, payload) => resolve(payload)));
  const startedAt = performance.now();
  await client.publishAsync('$CONTROL/dynamic-security/v1', JSON.stringify({ commands }));
  const payload = await answered;
  const seconds = (performance.now() - startedAt) / 1_000;
  const { responses } = JSON.parse(String(payload)) as { responses: { error?: string }[] };
  const refused = responses.find(({ error }) => error !== undefined);
  if (refused || responses.length !== commands.length) throw new Error(`Refused: ${JSON.stringify(refused)}`);
  return commands.length / seconds;
}

async function connect(port: number): Promise<MqttClient> {
  const client = await connectAsync(`mqtt://127.0.0.1:${port}`, { ...ADMIN, protocolVersion: 4 });
  clients.push(client);
  await client.subscribeAsync('$CONTROL/dynamic-security/v1/response');
  return client;
}

/** run.mjs runs benchmarks in the root of the project. */
function startEmbedded(): Promise<RunningBroker> {
  return startEmbeddedBroker({
    id: 'bench',
    folder: join(folder, 'embedded'),
    listeners: [{ number: 1, protocol: 'MQTT', host: '127.0.0.1', port: 0, tls: false, requireCertificate: false }],
    administrator: ADMIN,
    workerUrl: pathToFileURL(join(process.cwd(), 'dist/data-plane/broker/worker.js')),
    log: { info: () => {}, warn: console.error, error: console.error },
  });
}

async function startMosquitto(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  const file = join(folder, 'dynsec.json');
  execFileSync('mosquitto_ctrl', ['dynsec', 'init', file, ADMIN.username, ADMIN.password], { stdio: 'ignore' });
  const lines = ['user root', `listener ${port} 127.0.0.1`, 'set_tcp_nodelay true', 'allow_anonymous false'];
  lines.push(`plugin ${PLUGIN}`, `plugin_opt_config_file ${file}`, 'log_dest stderr');
  writeFileSync(join(folder, 'mosquitto.conf'), lines.join('\n'));
  const mosquitto = spawn('mosquitto', ['-c', join(folder, 'mosquitto.conf')], { stdio: ['ignore', 'ignore', 'pipe'] });
  processes.push(mosquitto);
  await new Promise<void>((resolve, reject) => {
    let text = '';
    mosquitto.stderr.on('data', (data: Buffer) => {
      text += data;
      if (text.includes('running')) resolve();
    });
    mosquitto.once('exit', () => reject(new Error(`mosquitto ended: ${text}`)));
  });
  return port;
}

function portOf({ listeners }: RunningBroker): number {
  return listeners[0]?.port ?? 0;
}
