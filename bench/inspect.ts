/**
 * Lists many MQTT clients of the embedded broker. Measures a filtered page of 50 by GraphQL and by REST, the complete
 * list, the first snapshot of a subscription, the cost of one change, the bytes of subscriptions to a part of the
 * clients, and memory. The peer of the pages is a minimal handler that filters the same list in memory. Linux only.
 *
 * `inspect [clients]`, 10,000 by default. The limit of open files and the limit of the broker bound the number of
 * connected clients. The other clients are offline with persistent sessions, which the list contains, too.
 */

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { generate } from 'mqtt-packet';
import { type Asked, inTurns, startAsking } from './support/asked.ts';
import { check } from './support/bars.ts';
import { watchClients } from './support/client-watch.ts';
import { at } from './support/figures.ts';
import { rssOf } from './support/memory.ts';
import { startPings } from './support/pings.ts';
import { startProduct } from './support/product.ts';

const CLIENTS = Number(process.argv[2] ?? 10_000);
/** The product needs some of the open files itself. Its broker accepts at most 20,000 connections. */
const CONNECTED = Math.min(CLIENTS, openFiles() - 1_000, 19_000);
const PER_PROCESS = 10_000;
const REQUESTS = 400;
const MAX_PAGE_MS = 50;
const WHOLE_LISTS = 10;
const MAX_GROWTH_MB = 64;
const CHANGES = 100;
const MAX_HOLD_MS = 100;
const MAX_PAGE_BYTES = 40_000;
const MAX_CHANGE_BYTES = 1_000;

const PAGE = `query ($id: ID!, $value: String!) {
  node(id: $id) {
    ... on Broker {
      connectedClients(first: 50, filter: { value: $value, mode: CONTAINS }) {
        totalCount
        nodes { clientId username address protocol protocolVersion isConnected lastConnectedAt lastDisconnectedAt }
      }
    }
  }
}`;

const children: ChildProcess[] = [];
const dataDir = mkdtempSync(join(tmpdir(), 'brokergraph-inspect-'));
const product = await startProduct(dataDir);
const { pid = 0 } = product.process;
const token = await product.login();
const { ask, close } = startAsking({ authorization: `Bearer ${token}`, 'content-type': 'application/json' });
const pings = await startPings(`${product.url}/api/nothing`);
try {
  const [project] = JSON.parse((await ask({ url: `${product.url}/api/projects` })).text);
  const brokersUrl = `${product.url}/api/projects/${project.id}/brokers`;
  const [{ id }] = JSON.parse((await ask({ url: brokersUrl })).text);
  const listUrl = `${brokersUrl}/${id}/client-inspect`;
  const list = await fill(listUrl);
  await pages(id, listUrl, list);
  await wholeLists(listUrl);
  await snapshots(id);
  await changes(id);
  await selections(id, list);
} finally {
  for (const child of children) child.disconnect();
  pings.close();
  close();
  await product.close();
  rmSync(dataDir, { recursive: true, force: true });
}

async function fill(listUrl: string): Promise<{ clientid: string }[]> {
  const before = rssOf(pid);
  const started = performance.now();
  await startClients(0, CONNECTED, 'connected');
  await startClients(CONNECTED, CLIENTS - CONNECTED, 'offline');
  const filled = rssOf(pid);
  const seconds = (performance.now() - started) / 1_000;
  console.log(`${CONNECTED} clients are connected, ${CLIENTS - CONNECTED} left a session: ${seconds.toFixed(0)} s`);
  console.log(`the broker: ${before.toFixed(0)} -> ${filled.toFixed(0)} MB, ${perClient(filled - before)}`);
  await pings.longestMs();
  const { text, milliseconds } = await ask({ url: `${listUrl}?count=-1` });
  const held = await pings.longestMs();
  const list: { clientid: string }[] = JSON.parse(text);
  const known = new Set(list.map(({ clientid }) => clientid)).size;
  console.log(
    `the first request: ${milliseconds.toFixed(0)} ms, the service was unresponsive for at most ${held.toFixed(0)} ms`,
  );
  const growth = rssOf(pid) - filled;
  console.log(`the gateway after the first list: ${growth.toFixed(0)} MB more, ${perClient(growth)}`);
  console.log(`the list has ${known} clients, the gateway's own connection among them`);
  if (known !== CLIENTS + 1) throw new Error('A client is missing');
  return list;
}

async function pages(id: string, listUrl: string, list: object[]): Promise<void> {
  const peerPort = await startPeer(list);
  const graphql = (value: string): Asked => ({
    url: `${product.url}/graphql`,
    body: JSON.stringify({ query: PAGE, variables: { id, value } }),
  });
  const rest = (value: string): Asked => ({ url: `${listUrl}?count=50&filterValue=${value}` });
  const peer = (value: string): Asked => ({ url: `http://127.0.0.1:${peerPort}/?count=50&filterValue=${value}` });
  // Two hexadecimal digits give 256 filters. The product caches the last few.
  const varying = (turn: number) => (turn % 256).toString(16).padStart(2, '0');
  const same = () => '7f';
  console.log('\na page of 50 with a filter, milliseconds');
  const variants = { 'bare handler': peer, GraphQL: graphql, REST: rest };
  const times = new Map<string, number>();
  for (const [filter, filterAt] of Object.entries({ 'another filter each time': varying, 'the same filter': same })) {
    const measured = await inTurns(ask, variants, filterAt, REQUESTS);
    for (const [variant, sorted] of measured) {
      const p50 = at(sorted, 0.5);
      times.set(`${variant}, ${filter}`, p50);
      const ratio = p50 / (times.get(`bare handler, ${filter}`) ?? Number.NaN);
      const text = `p50 ${p50.toFixed(2)}  p95 ${at(sorted, 0.95).toFixed(2)}  ${ratio.toFixed(2)} times the bare handler`;
      console.log(`  ${`${variant}, ${filter}`.padEnd(40)} ${text}`);
    }
  }
  for (const variant of ['GraphQL', 'REST']) {
    const p50 = times.get(`${variant}, another filter each time`) ?? Number.NaN;
    check(`${variant} responds in ${p50.toFixed(2)} ms (below ${MAX_PAGE_MS})`, p50 < MAX_PAGE_MS);
  }
}

async function wholeLists(listUrl: string): Promise<void> {
  console.log('\nthe whole list by REST');
  await delay(2_000);
  const resting = rssOf(pid);
  let peak = resting;
  const watch = setInterval(() => {
    peak = Math.max(peak, rssOf(pid));
  }, 5);
  await pings.longestMs();
  const times: number[] = [];
  let bytes = 0;
  for (let turn = 0; turn < WHOLE_LISTS; turn++) {
    const { milliseconds, text } = await ask({ url: `${listUrl}?count=-1` });
    times.push(milliseconds);
    bytes = Buffer.byteLength(text);
  }
  clearInterval(watch);
  times.sort((a, b) => a - b);
  console.log(`  p50 ${at(times, 0.5).toFixed(0)} ms for ${(bytes / 1_048_576).toFixed(1)} MB`);
  console.log(`  resident ${resting.toFixed(0)} MB before, at most ${peak.toFixed(0)} MB during ${WHOLE_LISTS} lists`);
  const growth = peak - resting;
  check(`grows by ${growth.toFixed(0)} MB (at most ${MAX_GROWTH_MB})`, growth <= MAX_GROWTH_MB);
  checkResponsive(await pings.longestMs());
}

async function snapshots(id: string): Promise<void> {
  console.log('\nthe first snapshot of a subscription over WebSocket');
  for (const which of ['the first subscriber', 'the next one']) {
    await pings.longestMs();
    const watch = await watchClients(product.url, token, id);
    const held = await pings.longestMs();
    const size = `${(watch.bytes / 1_048_576).toFixed(1)} MB in ${watch.parts} parts`;
    console.log(`  ${which}: ${watch.snapshotMs.toFixed(0)} ms to the last part, ${size}`);
    checkResponsive(held);
    watch.close();
  }
}

/** Clients connect and disconnect one after the other, while a subscriber watches the list. */
async function changes(id: string): Promise<void> {
  console.log('\none change');
  const watch = await watchClients(product.url, token, id);
  await delay(2_000);
  await pings.longestMs();
  const idle = cpuMs();
  const idleSince = performance.now();
  await delay(2_000);
  const idlePerMs = (cpuMs() - idle) / (performance.now() - idleSince);
  const before = cpuMs();
  const since = performance.now();
  const delays: number[] = [];
  for (let turn = 0; turn < CHANGES; turn++) {
    const clientId = `plant-${turn % 40}/passing-${turn}`;
    const added = watch.next(`"clientId":"${clientId}"`);
    const socket = connect(product.mqttPort, '127.0.0.1');
    const account = { username: 'admin', password: Buffer.from(product.mqttPassword) };
    socket.write(generate({ cmd: 'connect', clientId, ...account, clean: true, keepalive: 0 }));
    await once(socket, 'data');
    const connected = performance.now();
    await added;
    delays.push(performance.now() - connected);
    const removed = watch.next(`"removed":["${clientId}"]`);
    socket.destroy();
    await removed;
  }
  const used = cpuMs() - before - idlePerMs * (performance.now() - since);
  delays.sort((a, b) => a - b);
  const perChange = used / (2 * CHANGES);
  console.log(
    `  event after p50 ${at(delays, 0.5).toFixed(0)} ms, p95 ${at(delays, 0.95).toFixed(0)} ms after CONNACK`,
  );
  console.log(`  ${perChange.toFixed(1)} ms of processor time each, broker and gateway`);
  checkResponsive(await pings.longestMs());
  watch.close();
}

/** What subscriptions to a part of the clients receive while other clients come and go. */
async function selections(id: string, list: readonly { readonly clientid: string }[]): Promise<void> {
  console.log(`\nparts of ${list.length} clients`);
  const clientIds = list.slice(100, 130).map(({ clientid }) => clientid);
  const counts = await watchClients(product.url, token, id, { counts: true });
  const page = await watchClients(product.url, token, id, { filter: { clientIds } });
  const filtered = await watchClients(product.url, token, id, {
    filter: { value: clientIds[0] ?? '', mode: 'EQUALS' },
  });
  for (const turn of Array.from({ length: CHANGES }, (_, index) => index)) {
    const clientId = `plant-${turn % 40}/passing-${turn}`;
    const added = counts.next('"changedIds":["');
    const socket = connect(product.mqttPort, '127.0.0.1');
    const account = { username: 'admin', password: Buffer.from(product.mqttPassword) };
    socket.write(generate({ cmd: 'connect', clientId, ...account, clean: true, keepalive: 0 }));
    await added;
    const removed = counts.next(`"removed":["${clientId}"]`);
    socket.destroy();
    await removed;
  }
  const perChange = (counts.received() - counts.bytes) / (2 * CHANGES);
  check(`30 rows: a snapshot of ${page.bytes} bytes (below ${MAX_PAGE_BYTES})`, page.bytes < MAX_PAGE_BYTES);
  check(`one row: a snapshot of ${filtered.bytes} bytes`, filtered.bytes < MAX_PAGE_BYTES);
  const others = page.received() - page.bytes + filtered.received() - filtered.bytes;
  check(`both: ${others} bytes for ${2 * CHANGES} changes of other clients (none)`, others === 0);
  check(
    `COUNTS: a snapshot of ${counts.bytes} bytes, ${perChange.toFixed(0)} bytes a change (below ${MAX_CHANGE_BYTES})`,
    perChange < MAX_CHANGE_BYTES,
  );
  for (const watch of [counts, page, filtered]) watch.close();
}

/** Processor time of the product in milliseconds, accurate to 10 ms. */
function cpuMs(): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

function openFiles(): number {
  return Number(/^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1] ?? 1_024);
}

async function startClients(first: number, count: number, kind: 'connected' | 'offline'): Promise<void> {
  const starts = Array.from({ length: Math.ceil(count / PER_PROCESS) }, (_, index) => first + index * PER_PROCESS);
  // At most two at the same time, because they share the machine with the broker.
  for (let index = 0; index < starts.length; index += 2) {
    await Promise.all(
      starts.slice(index, index + 2).map(async (start) => {
        const args = [product.mqttPort, start, Math.min(PER_PROCESS, first + count - start), kind].map(String);
        const env = { ...process.env, MQTT_PASSWORD: product.mqttPassword };
        const child = fork(new URL('./support/mqtt-clients.js', import.meta.url), args, { env });
        children.push(child);
        await new Promise((resolve, reject) => {
          child.once('message', resolve);
          child.once('exit', () => reject(new Error('A process with clients exited')));
        });
      }),
    );
  }
}

async function startPeer(list: object[]): Promise<number> {
  const child = fork(new URL('./inspect-peer.js', import.meta.url));
  children.push(child);
  child.send(list);
  const [port] = await once(child, 'message');
  return port;
}

function perClient(megabytes: number): string {
  return `${((megabytes * 1_024) / CLIENTS).toFixed(1)} kB for each client`;
}

function checkResponsive(longestMs: number): void {
  const text = `the service is unresponsive for at most ${longestMs.toFixed(0)} ms (below ${MAX_HOLD_MS})`;
  check(text, longestMs < MAX_HOLD_MS);
}
