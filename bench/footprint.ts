/**
 * Resources of the idle service: resident memory of all its processes, and the time from the command to the start
 * message. Measures `node dist/main.js serve`, and `npm start` including the processes of npm. Linux only.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { memoryOfTree } from './support/memory.ts';
import { type Product, SERVE, startProduct } from './support/product.ts';

const MAX_IDLE_MB = 250;
const STARTS = 5;
const SETTLED_MS = 3_000;
const IDLE_MS = 30_000;
const REQUESTS = 1_000;

const LIST = '{ projects(first: 10) { nodes { id name brokers(first: 10) { nodes { id name isConnected } } } } }';

let good = true;
for (const [name, command, maxReadyMs] of [
  ['node dist/main.js serve', SERVE, 1_500],
  ['npm start', ['npm', 'start'], 2_000],
] as const) {
  const dataDir = mkdtempSync(join(tmpdir(), 'brokergraph-footprint-'));
  try {
    good = (await footprint(name, dataDir, [...command], maxReadyMs)) && good;
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
}
if (!good) process.exitCode = 1;

async function footprint(name: string, dataDir: string, command: string[], maxReadyMs: number): Promise<boolean> {
  console.log(`\n${name}: resident memory of all processes (proportional set size), MB`);
  const first = await startProduct(dataDir, command);
  await delay(SETTLED_MS);
  printMemory('first start', first);
  await first.close();

  const times: number[] = [];
  for (let start = 1; start < STARTS; start++) {
    const again = await startProduct(dataDir, command);
    times.push(again.readyMs);
    await again.close();
  }
  const product = await startProduct(dataDir, command);
  times.push(product.readyMs);
  try {
    await delay(SETTLED_MS);
    printMemory('existing data folder', product);
    await delay(IDLE_MS);
    const idle = printMemory(`after ${IDLE_MS / 1_000} s idle`, product);
    await ask(product);
    printMemory(`after ${REQUESTS} requests`, product);
    await delay(IDLE_MS);
    const later = printMemory(`${IDLE_MS / 1_000} s later`, product);
    for (const { rss, command: each } of memoryOfTree(product.process.pid ?? 0)) {
      console.log(`    ${rss.toFixed(0).padStart(4)}  ${each.slice(0, 80)}`);
    }
    times.sort((a, b) => a - b);
    const median = times[times.length >> 1] ?? Number.NaN;
    console.log(`  ready with an existing data folder: ${times.map((ms) => ms.toFixed(0)).join(', ')} ms`);
    const isSmall = check(`idle takes ${Math.max(idle, later).toFixed(0)} MB`, Math.max(idle, later) < MAX_IDLE_MB);
    return check(`ready in ${median.toFixed(0)} ms (median)`, median < maxReadyMs) && isSmall;
  } finally {
    await product.close();
  }
}

function printMemory(when: string, { process: { pid = 0 }, readyMs }: Product): number {
  const tree = memoryOfTree(pid);
  const rss = tree.reduce((sum, each) => sum + each.rss, 0);
  const pss = tree.reduce((sum, each) => sum + each.pss, 0);
  const about = `${tree.length} processes, ready in ${readyMs.toFixed(0)} ms`;
  console.log(`  ${when.padEnd(22)} ${rss.toFixed(0).padStart(4)} (${pss.toFixed(0)})   ${about}`);
  return rss;
}

/** Sends the requests of a dashboard, alternately over GraphQL and REST. */
async function ask(product: Product): Promise<void> {
  const headers = { authorization: `Bearer ${await product.login()}`, 'content-type': 'application/json' };
  for (let asked = 0; asked < REQUESTS; asked++) {
    const response =
      asked % 2 === 0
        ? await fetch(`${product.url}/graphql`, { method: 'POST', headers, body: JSON.stringify({ query: LIST }) })
        : await fetch(`${product.url}/api/projects`, { headers });
    const text = await response.text();
    if (!response.ok || text.includes('"errors"')) throw new Error(text);
  }
}

function check(text: string, isGood: boolean): boolean {
  console.log(`  ${isGood ? 'ok  ' : 'FAIL'} ${text}`);
  return isGood;
}
