/**
 * Writes 20,000 accounts with a role and a group each to an empty embedded broker. Measures the time to plan the write,
 * the longest stall of the event loop and the commands per second. The peer sends the same commands without the service
 * and waits for each response. Requires `npm run build`.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { pathToFileURL } from 'node:url';
import { connectAsync } from 'mqtt';
import { startEmbeddedBroker } from '../src/data-plane/broker/embedded-broker.ts';
import { planImport } from '../src/domains/access-control/documents/access-import.ts';
import { whoCan } from '../src/domains/access-control/explain/who-can.ts';
import { AccessIndex } from '../src/domains/access-control/reading/access-index.ts';
import type { WriteReport } from '../src/domains/access-control/writing/access-report.ts';
import { AccessWriter } from '../src/domains/access-control/writing/access-writer.ts';
import { runInSlices } from '../src/platform/scheduling/sliced-task.ts';
import { BrokerControls } from '../src/protocol/control/broker-controls.ts';
import type { RunningBroker } from '../src/protocol/hosting/broker-engine.ts';
import { BrokerLink } from '../src/protocol/mqtt/broker-link.ts';

const ACCOUNTS = 20_000;
const OTHERS = 500;
const MAX_PLAN_MS = 1_000;
const MAX_STALL_MS = 50;
const ADMIN = { username: 'admin', password: 'of a benchmark' };
const TOPIC = '$CONTROL/dynamic-security/v1';

const numbered = <T>(count: number, make: (number: number) => T): T[] =>
  Array.from({ length: count }, (_, number) => make(number));
const DOCUMENT = {
  format: 'brokergraph/access-control',
  version: 1,
  defaultAcl: { publishClientSend: false, publishClientReceive: true, subscribe: false, unsubscribe: true },
  roles: numbered(OTHERS, (n) => ({
    rolename: `role ${n}`,
    acls: [{ aclType: 'publishClientSend', topic: `role/${n}/#`, allow: true }],
  })),
  groups: numbered(OTHERS, (n) => ({ groupname: `group ${n}`, roles: [{ name: `role ${(n * 7) % OTHERS}` }] })),
  clients: numbered(ACCOUNTS, (n) => ({
    username: `client ${n}`,
    textName: `Device ${n}`,
    roles: [{ name: `role ${n % OTHERS}` }],
    groups: [{ name: `group ${(n * 3) % OTHERS}` }],
  })),
};

const folder = mkdtempSync(join(tmpdir(), 'brokergraph-access-write-'));
const brokers: RunningBroker[] = [];
try {
  const ours = await start('ours');
  const link = new BrokerLink({ id: 'bench', url: `mqtt://127.0.0.1:${portOf(ours)}`, timeoutMs: 10_000, ...ADMIN });
  const connected = new Promise<void>((resolve) => {
    link.onStatus(({ state }) => {
      if (state === 'CONNECTED') resolve();
    });
  });
  link.open();
  await connected;
  const controls = new BrokerControls(link, { timeoutMs: 10_000 });
  const index = new AccessIndex({ controls, session: link });
  const writer = new AccessWriter({
    index,
    controls,
    session: link,
    gatewayUsername: ADMIN.username,
    connectedClients: async () => ({ clients: [], isComplete: true }),
  });

  const { policy, dialect } = await index.current();
  const options = {
    deleteOthers: false,
    passwords: new Map<string, string>(),
    setPasswords: false,
    gatewayUsername: ADMIN.username,
  };
  const plan = () => runInSlices(planImport(policy, dialect, { document: DOCUMENT }, options));
  await writer.dryRun({ changes: (await plan()).changes, mayControl: true });
  const imported = await measured(plan);
  const { changes } = imported.result;
  const planned = await measured(() => writer.dryRun({ changes, mayControl: true }));
  const written = await measured(() => writer.write([{ changes, mayControl: true }]));
  const [report] = written.result;
  if (report?.outcome !== 'APPLIED') throw new Error(`The list was ${report?.outcome}`);
  const commands = commandsOf(report);
  const now = await index.current();
  const asked = await measured(() => runInSlices(whoCan(now.policy, now.dialect, 'PUBLISH', 'role/7/x')));
  const bareSeconds = await sendBare(await start('peer'), commands, dialect.writesPerPayload);

  console.log(`${changes.length} changes, ${commands.length} commands, payloads of ${dialect.writesPerPayload}`);
  print('compared with the document', imported);
  print('planned', planned);
  print('written and read back', written);
  print('who can, of all accounts', asked);
  const [own, peer] = [commands.length / (written.ms / 1_000), commands.length / bareSeconds];
  console.log(
    `  ${own.toFixed(0)} commands a second; bare payloads ${peer.toFixed(0)}, ${(peer / own).toFixed(1)} times as many`,
  );
  const planMs = imported.ms + planned.ms;
  const stallMs = Math.max(...[imported, planned, written, asked].map((each) => each.stallMs));
  const isQuick = planMs < MAX_PLAN_MS;
  const isSmooth = stallMs < MAX_STALL_MS;
  console.log(`  ${isQuick ? 'ok  ' : 'FAIL'} planning takes ${planMs.toFixed(0)} ms (below ${MAX_PLAN_MS})`);
  console.log(`  ${isSmooth ? 'ok  ' : 'FAIL'} the longest stall is ${stallMs.toFixed(0)} ms (below ${MAX_STALL_MS})`);
  if (!isQuick || !isSmooth) process.exitCode = 1;
  index.close();
  await controls.close();
  await link.close();
} finally {
  for (const broker of brokers) await broker.close();
  rmSync(folder, { recursive: true, force: true });
}

interface Measured<T> {
  readonly result: T;
  readonly ms: number;
  /** Longest stall of the event loop in milliseconds. */
  readonly stallMs: number;
}

async function measured<T>(work: () => Promise<T>): Promise<Measured<T>> {
  const delays = monitorEventLoopDelay({ resolution: 1 });
  delays.enable();
  const startedAt = performance.now();
  const result = await work();
  const ms = performance.now() - startedAt;
  // The delay of the last slice is recorded in the next iteration of the event loop.
  await new Promise((resolve) => setTimeout(resolve, 5));
  delays.disable();
  return { result, ms, stallMs: delays.max / 1e6 };
}

function print(what: string, { ms, stallMs }: Measured<unknown>): void {
  console.log(`  ${what.padEnd(28)} ${ms.toFixed(0).padStart(6)} ms, longest stall ${stallMs.toFixed(0)} ms`);
}

function commandsOf({ changes }: WriteReport): object[] {
  return changes.flatMap((change) => change.commands.map(({ command, fields }) => ({ command, ...fields })));
}

/** Sends the commands in payloads of `together` commands, and returns the duration in seconds. */
async function sendBare(broker: RunningBroker, commands: readonly object[], together: number): Promise<number> {
  const client = await connectAsync(`mqtt://127.0.0.1:${portOf(broker)}`, { ...ADMIN, protocolVersion: 4 });
  await client.subscribeAsync(`${TOPIC}/response`);
  const startedAt = performance.now();
  for (let from = 0; from < commands.length; from += together) {
    const answered = new Promise<Buffer>((resolve) => client.once('message', (_topic, payload) => resolve(payload)));
    await client.publishAsync(TOPIC, JSON.stringify({ commands: commands.slice(from, from + together) }));
    if (String(await answered).includes('"error"')) throw new Error('A bare command was refused');
  }
  const seconds = (performance.now() - startedAt) / 1_000;
  await client.endAsync();
  return seconds;
}

/** run.mjs runs benchmarks in the root of the project. */
async function start(id: string): Promise<RunningBroker> {
  const broker = await startEmbeddedBroker({
    id,
    folder: join(folder, id),
    listeners: [{ number: 1, protocol: 'MQTT', host: '127.0.0.1', port: 0, tls: false, requireCertificate: false }],
    administrator: ADMIN,
    workerUrl: pathToFileURL(join(process.cwd(), 'dist/data-plane/broker/worker.js')),
    log: { info: () => {}, warn: console.error, error: console.error },
  });
  brokers.push(broker);
  return broker;
}

function portOf({ listeners }: RunningBroker): number {
  return listeners[0]?.port ?? 0;
}
