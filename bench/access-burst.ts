/**
 * 1,000 REST writes of access control from 50 connections, compared with one document with the same changes, on the
 * embedded broker and on Mosquitto. All writes must be 204, within 1.5 times the time of the document. Also prints the
 * processor time of the service for both. Requires `npm run build`.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cpuSeconds } from './support/cpu-time.ts';
import { startMosquitto } from './support/mosquitto.ts';
import { type Product, startProduct } from './support/product.ts';

const WRITES = 1_000;
const CONNECTIONS = 50;
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 3);
const MAX_RATIO = 1.5;
const DOCUMENT = {
  format: 'brokergraph/access-control',
  version: 1,
  defaultAcl: { publishClientSend: false, publishClientReceive: true, subscribe: false, unsubscribe: true },
  groups: [],
  clients: [],
};
const ADMIN = { username: 'admin', password: 'of a benchmark' };
const PLUGIN = '/usr/lib/x86_64-linux-gnu/mosquitto_dynamic_security.so';

const folder = mkdtempSync(join(tmpdir(), 'brokergraph-access-burst-'));
const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
const data = join(folder, 'data');
mkdirSync(data);
const accessFile = join(folder, 'dynamic-security.json');
execFileSync('mosquitto_ctrl', ['dynsec', 'init', accessFile, ADMIN.username, ADMIN.password]);
// The administrator of mosquitto_ctrl may not use other control APIs, and Mosquitto disconnects a client that tries.
const access = JSON.parse(readFileSync(accessFile, 'utf8'));
for (const acltype of ['publishClientSend', 'publishClientReceive', 'subscribePattern']) {
  access.roles[0].acls.push({ acltype, topic: '$CONTROL/#', priority: 0, allow: true });
}
writeFileSync(accessFile, JSON.stringify(access));
const mosquitto = await startMosquitto(folder, [`plugin ${PLUGIN}`, `plugin_opt_config_file ${accessFile}`]);
const product = await startProduct(data);
try {
  const send = client(product, await product.login());
  const { body: projects } = await send('GET', '/api/projects');
  const brokers = `/api/projects/${projects[0].id}/brokers`;
  const embedded = (await send('GET', brokers)).body[0].id;
  const connection = { name: 'mosquitto', url: `mqtt://127.0.0.1:${mosquitto.port}`, ...ADMIN };
  const { id } = (await send('POST', brokers, connection)).body;
  await send('GET', `${brokers}/${id}/info`);
  for (const [name, brokerId] of Object.entries({ embedded, mosquitto: id }))
    await compare(send, name, brokers, brokerId);
} finally {
  agent.destroy();
  await product.close();
  mosquitto.close();
  rmSync(folder, { recursive: true, force: true });
}

// biome-ignore lint/suspicious/noExplicitAny: the benchmark reads the documented fields.
type Send = (method: string, path: string, body?: unknown) => Promise<{ readonly status: number; readonly body: any }>;

function client({ url }: Product, token: string): Send {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  return (method, path, body) =>
    new Promise((resolve, reject) => {
      const sent = request(`${url}${path}`, { method, agent, headers }, (response) => {
        let text = '';
        response.on('data', (chunk) => {
          text += chunk;
        });
        response.on('end', () =>
          resolve({ status: response.statusCode ?? 0, body: text === '' ? null : JSON.parse(text) }),
        );
      });
      sent.on('error', reject);
      sent.end(body === undefined ? undefined : JSON.stringify(body));
    });
}

async function compare(send: Send, name: string, brokers: string, brokerId: string): Promise<void> {
  const ratios: number[] = [];
  for (let round = 0; round <= ROUNDS; round += 1) {
    const document = await timed(() => apply(send, brokerId, names('d', round)));
    const writes = await timed(() => writeEach(send, `${brokers}/${brokerId}/roles`, names('w', round)));
    // The first round warms up.
    if (round === 0) continue;
    ratios.push(writes.ms / document.ms);
    const figures = `document ${document.ms.toFixed(0)} ms (${document.cpuMs.toFixed(0)} ms CPU)`;
    console.log(`${name}: ${figures}, writes ${writes.ms.toFixed(0)} ms (${writes.cpuMs.toFixed(0)} ms CPU)`);
  }
  const ratio = ratios.sort((a, b) => a - b)[Math.floor(ratios.length / 2)] ?? Number.NaN;
  const isGood = ratio <= MAX_RATIO;
  console.log(`  ${isGood ? 'ok  ' : 'FAIL'} ${name}: ${ratio.toFixed(2)} times the document (at most ${MAX_RATIO})`);
  if (!isGood) process.exitCode = 1;
}

function names(prefix: string, round: number): string[] {
  return Array.from({ length: WRITES }, (_, number) => `${prefix}${round}-${number}`);
}

async function apply(send: Send, brokerId: string, rolenames: readonly string[]): Promise<void> {
  const query = 'mutation ($input: AccessControlImportInput!) { applyAccessControl(input: $input) { outcome } }';
  const document = { ...DOCUMENT, roles: rolenames.map((rolename) => ({ rolename })) };
  const { body } = await send('POST', '/graphql', { query, variables: { input: { brokerId, document } } });
  if (body.data?.applyAccessControl.outcome !== 'APPLIED') throw new Error(JSON.stringify(body));
}

async function writeEach(send: Send, path: string, rolenames: readonly string[]): Promise<void> {
  const answers = await Promise.all(rolenames.map((rolename) => send('POST', path, { rolename })));
  const wrong = answers.find(({ status }) => status !== 204);
  if (wrong) throw new Error(JSON.stringify(wrong));
}

async function timed(work: () => Promise<void>): Promise<{ readonly ms: number; readonly cpuMs: number }> {
  const pid = product.process.pid ?? 0;
  const cpu = cpuSeconds(pid);
  const startedAt = performance.now();
  await work();
  return { ms: performance.now() - startedAt, cpuMs: (cpuSeconds(pid) - cpu) * 1_000 };
}
