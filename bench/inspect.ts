/**
 * Ten thousand MQTT clients on the embedded broker of the product as it is run: the time of a page of fifty with a filter, by GraphQL
 * and by REST, beside a bare handler that filters the same list in memory; and what it takes to write the whole list. Linux only.
 *
 * One request at a time, each on the same connection, so the times are what one user waits.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { rssOf } from './support/memory.ts';
import { startProduct } from './support/product.ts';

const CLIENTS = 10_000;
const PROCESSES = 2;
const REQUESTS = 400;
const MAX_PAGE_MS = 50;
const WHOLE_LISTS = 10;
const MAX_GROWTH_MB = 64;

const PAGE = `query ($id: ID!, $value: String!) {
  node(id: $id) {
    ... on Broker {
      connectedClients(first: 50, filter: { value: $value, mode: CONTAINS }) {
        totalCount
        nodes { clientId username address protocol protocolVersion connected lastConnect lastDisconnect }
      }
    }
  }
}`;

interface Asked {
  readonly url: string;
  readonly body?: string;
}

const agent = new Agent({ keepAlive: true, maxSockets: 1 });
const children: ChildProcess[] = [];
const dataDir = mkdtempSync(join(tmpdir(), 'brokergraph-inspect-'));
const product = await startProduct(dataDir);
try {
  const { pid = 0 } = product.process;
  const token = await product.login();
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const ask = (asked: Asked) => answerOf(asked, headers);
  const [project] = JSON.parse((await ask({ url: `${product.url}/api/projects` })).text);
  const brokersUrl = `${product.url}/api/projects/${project.id}/brokers`;
  const [{ id }] = JSON.parse((await ask({ url: brokersUrl })).text);
  const listUrl = `${brokersUrl}/${id}/client-inspect`;

  const before = rssOf(pid);
  await connectClients(product.mqttPort, product.mqttPassword);
  console.log(`${CLIENTS} clients are connected: ${before.toFixed(0)} -> ${rssOf(pid).toFixed(0)} MB resident`);

  const whole = await ask({ url: `${listUrl}?count=-1` });
  const list: { clientid: string }[] = JSON.parse(whole.text);
  const peerPort = await startPeer(list);
  const known = new Set(list.map(({ clientid }) => clientid)).size;
  console.log(`the list has ${known} clients, the gateway's own connection among them`);
  if (known !== CLIENTS + 1) throw new Error('A client is missing');

  const graphql = (value: string): Asked => ({
    url: `${product.url}/graphql`,
    body: JSON.stringify({ query: PAGE, variables: { id, value } }),
  });
  const rest = (value: string): Asked => ({ url: `${listUrl}?count=50&filterValue=${value}` });
  const peer = (value: string): Asked => ({ url: `http://127.0.0.1:${peerPort}/?count=50&filterValue=${value}` });
  // Two hexadecimal digits: 256 filters, of which the product keeps the last few.
  const varying = (turn: number) => (turn % 256).toString(16).padStart(2, '0');
  const same = () => '7f';
  console.log('\na page of 50 with a filter, milliseconds');
  const roads = { 'bare handler': peer, GraphQL: graphql, REST: rest };
  const times = new Map<string, number>();
  for (const [filter, filterAt] of Object.entries({ 'another filter each time': varying, 'the same filter': same })) {
    const measured = await inTurns(ask, roads, filterAt);
    for (const [road, sorted] of measured) {
      const p50 = at(sorted, 0.5);
      times.set(`${road}, ${filter}`, p50);
      const ratio = p50 / (times.get(`bare handler, ${filter}`) ?? Number.NaN);
      const text = `p50 ${p50.toFixed(2)}  p95 ${at(sorted, 0.95).toFixed(2)}  ${ratio.toFixed(2)} times the bare handler`;
      console.log(`  ${`${road}, ${filter}`.padEnd(40)} ${text}`);
    }
  }
  let good = true;
  for (const road of ['GraphQL', 'REST']) {
    const p50 = times.get(`${road}, another filter each time`) ?? Number.NaN;
    good = check(`${road} answers in ${p50.toFixed(2)} ms (below ${MAX_PAGE_MS})`, p50 < MAX_PAGE_MS) && good;
  }

  console.log('\nthe whole list by REST');
  await delay(2_000);
  const resting = rssOf(pid);
  let peak = resting;
  const watch = setInterval(() => {
    peak = Math.max(peak, rssOf(pid));
  }, 5);
  const wholeTimes: number[] = [];
  for (let turn = 0; turn < WHOLE_LISTS; turn++) {
    wholeTimes.push((await ask({ url: `${listUrl}?count=-1` })).milliseconds);
  }
  clearInterval(watch);
  wholeTimes.sort((a, b) => a - b);
  const megabytes = Buffer.byteLength(whole.text) / 1_048_576;
  console.log(`  p50 ${at(wholeTimes, 0.5).toFixed(0)} ms for ${megabytes.toFixed(1)} MB`);
  console.log(`  resident ${resting.toFixed(0)} MB before, at most ${peak.toFixed(0)} MB during ${WHOLE_LISTS} lists`);
  good =
    check(`grows by ${(peak - resting).toFixed(0)} MB (at most ${MAX_GROWTH_MB})`, peak - resting <= MAX_GROWTH_MB) &&
    good;
  if (!good) process.exitCode = 1;
} finally {
  for (const child of children) child.disconnect();
  agent.destroy();
  await product.close();
  rmSync(dataDir, { recursive: true, force: true });
}

/** Every road once per turn, so that what else the machine does hits all alike. Answers the sorted times of each. */
async function inTurns(
  ask: (asked: Asked) => Promise<{ readonly milliseconds: number }>,
  roads: Readonly<Record<string, (value: string) => Asked>>,
  filterAt: (turn: number) => string,
): Promise<Map<string, number[]>> {
  const times = new Map<string, number[]>(Object.keys(roads).map((road) => [road, []]));
  for (let turn = -50; turn < REQUESTS; turn++) {
    let shift = 0;
    for (const [road, asked] of Object.entries(roads)) {
      // Roads of the product share its memory of filters: none may find there what another has just asked for.
      const { milliseconds } = await ask(asked(filterAt(turn + 256 + shift)));
      shift += 64;
      if (turn >= 0) times.get(road)?.push(milliseconds);
    }
  }
  for (const each of times.values()) each.sort((a, b) => a - b);
  return times;
}

function answerOf({ url, body }: Asked, headers: Record<string, string>) {
  const started = performance.now();
  return new Promise<{ readonly text: string; readonly milliseconds: number }>((resolve, reject) => {
    const sent = request(url, { agent, method: body === undefined ? 'GET' : 'POST', headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.once('error', reject);
      response.once('end', () => {
        const text = Buffer.concat(chunks).toString();
        if (response.statusCode !== 200 || text.includes('"errors"')) reject(new Error(text.slice(0, 500)));
        else resolve({ text, milliseconds: performance.now() - started });
      });
    });
    sent.once('error', reject);
    sent.end(body);
  });
}

async function connectClients(port: number, password: string): Promise<void> {
  const each = CLIENTS / PROCESSES;
  await Promise.all(
    Array.from({ length: PROCESSES }, async (_, index) => {
      const args = [port, index * each, each].map(String);
      const env = { ...process.env, MQTT_PASSWORD: password };
      const child = fork(new URL('./support/mqtt-clients.js', import.meta.url), args, { env });
      children.push(child);
      await new Promise((resolve, reject) => {
        child.once('message', resolve);
        child.once('exit', () => reject(new Error('A process of clients ended')));
      });
    }),
  );
}

async function startPeer(list: object[]): Promise<number> {
  const child = fork(new URL('./inspect-peer.js', import.meta.url));
  children.push(child);
  child.send(list);
  const [port] = await once(child, 'message');
  return port;
}

function at(sorted: readonly number[], share: number): number {
  return sorted[Math.floor(sorted.length * share)] ?? Number.NaN;
}

function check(text: string, isGood: boolean): boolean {
  console.log(`  ${isGood ? 'ok  ' : 'FAIL'} ${text}`);
  return isGood;
}
