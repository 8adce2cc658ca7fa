/**
 * Access control of a Mosquitto with 20,000 clients and 500 groups: the time to read it, its memory, and the time of a
 * filtered page of 50. There are two peers: one requests the complete verbose list from the broker for each page, the
 * other filters a cached list. Requires `mosquitto` with its dynamic security plugin.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { AccessView } from '../src/domains/access-control/graph/access-view.ts';
import { AccessIndex } from '../src/domains/access-control/reading/access-index.ts';
import type { BrokerRecord } from '../src/domains/brokers/broker-cache.ts';
import { BrokerControls } from '../src/protocol/control/broker-controls.ts';
import { BrokerLink } from '../src/protocol/mqtt/broker-link.ts';
import { accountsFile } from '../test/support/accounts-file.ts';
import { check } from './support/bars.ts';
import { at } from './support/figures.ts';
import { freePort } from './support/free-port.ts';

const CLIENTS = 20_000;
const GROUPS = 500;
const FILLS = 11;
const PAGES = 400;
const PEER_PAGES = 40;
const MAX_PAGE_MS = 20;
const ADMIN = { username: 'admin', password: 'of a benchmark' };
const PLUGIN = '/usr/lib/x86_64-linux-gnu/mosquitto_dynamic_security.so';

interface Listed {
  readonly username: string;
  readonly textname?: string;
}

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

const folder = mkdtempSync(join(tmpdir(), 'brokergraph-access-'));
let mosquitto: ChildProcess | null = null;
let link: BrokerLink | null = null;
try {
  const port = await startBroker();
  link = new BrokerLink({ id: 'bench', url: `mqtt://127.0.0.1:${port}`, timeoutMs: 10_000, ...ADMIN });
  const controls = new BrokerControls(link, { timeoutMs: 10_000 });
  await connected(link);
  await controls.capability('dynamic-security');

  const index = new AccessIndex({ controls, session: link });
  const fills: number[] = [];
  for (let turn = 0; turn < FILLS; turn++) {
    index.invalidate();
    fills.push(await timed(() => index.read()));
  }
  fills.sort((a, b) => a - b);
  index.invalidate();
  collect();
  const empty = process.memoryUsage().heapUsed;
  await index.read();
  collect();
  const full = process.memoryUsage().heapUsed;
  console.log(`${CLIENTS} clients and ${GROUPS} groups on Mosquitto, one process on loopback`);
  console.log(`  read whole: p50 ${at(fills, 0.5).toFixed(0)} ms, slowest of ${FILLS} ${at(fills, 1).toFixed(0)} ms`);
  console.log(`  cached: ${((full - empty) / 1_048_576).toFixed(1)} MB of heap`);
  const view = async () =>
    new AccessView({ id: 'brk_1' } as BrokerRecord, await index.read(), () =>
      Promise.reject(new Error('not connected')),
    );
  await (await view()).accounts({ first: 50, filter: { value: 'x', mode: 'contains', target: 'textname' } });
  collect();
  console.log(`  with lists in order: ${((process.memoryUsage().heapUsed - empty) / 1_048_576).toFixed(1)} MB of heap`);

  const ask = async () => {
    const data = await controls.call<{ clients: Listed[] }>('dynamic-security', 'listClients', {
      verbose: true,
      count: -1,
    });
    return data.clients;
  };
  const cached = await ask();
  const byHand = (clients: readonly Listed[], value: string) => {
    const found = clients.filter(({ textname }) => textname?.includes(value));
    return { names: found.slice(0, 50).map(({ username }) => username), total: found.length };
  };
  const byIndex = async (value: string) => {
    const { edges, totalCount } = await (await view()).accounts({
      first: 50,
      filter: { value, mode: 'contains', target: 'textname' },
    });
    return { names: edges.map(({ cursor }) => cursor), total: totalCount };
  };
  const variants: Record<
    string,
    { readonly turns: number; readonly page: (value: string) => Promise<unknown> | unknown }
  > = {
    index: { turns: PAGES, page: byIndex },
    'verbose list in one piece, each time': { turns: PEER_PAGES, page: async (value) => byHand(await ask(), value) },
    'that list cached, filtered by hand': { turns: PAGES, page: (value) => byHand(cached, value) },
  };
  const expected = JSON.stringify(byHand(cached, 'f3'));
  const times = new Map<string, number[]>(Object.keys(variants).map((name) => [name, []]));
  for (let turn = -20; turn < PAGES; turn++) {
    // A different filter each time, because the index caches the last few.
    const value = ((turn + 256) % 256).toString(16).padStart(2, '0');
    for (const [name, { turns, page }] of Object.entries(variants)) {
      if (turn >= turns) continue;
      const elapsed = await timed(async () => page(value));
      if (turn >= 0) times.get(name)?.push(elapsed);
    }
  }
  console.log('\na page of 50 with another filter each time, milliseconds');
  for (const [name, { page }] of Object.entries(variants)) {
    if (JSON.stringify(await page('f3')) !== expected) throw new Error(`${name} returns another page`);
    const sorted = times.get(name)?.sort((a, b) => a - b) ?? [];
    console.log(`  ${name.padEnd(40)} p50 ${at(sorted, 0.5).toFixed(2)}  p95 ${at(sorted, 0.95).toFixed(2)}`);
  }
  const p50 = at(times.get('index') ?? [], 0.5);
  check(`a page takes ${p50.toFixed(2)} ms (below ${MAX_PAGE_MS})`, p50 < MAX_PAGE_MS);
  index.close();
  await controls.close();
} finally {
  await link?.close();
  await stopBroker();
  rmSync(folder, { recursive: true, force: true });
}

async function startBroker(): Promise<number> {
  const port = await freePort();
  writeFileSync(join(folder, 'dynamic-security.json'), accountsFile(ADMIN, { count: CLIENTS, groups: GROUPS }).text);
  const lines = ['user root', `listener ${port} 127.0.0.1`, 'allow_anonymous false', 'set_tcp_nodelay true'];
  lines.push(`plugin ${PLUGIN}`, `plugin_opt_config_file ${folder}/dynamic-security.json`, 'log_type error');
  writeFileSync(join(folder, 'mosquitto.conf'), `${lines.join('\n')}\n`);
  mosquitto = spawn('mosquitto', ['-c', join(folder, 'mosquitto.conf')], { stdio: ['ignore', 'ignore', 'inherit'] });
  return port;
}

/** Resolves when the link is connected. The link retries until the broker listens. */
function connected(opening: BrokerLink): Promise<void> {
  return new Promise((resolve) => {
    opening.onStatus(({ state }) => {
      if (state === 'CONNECTED') resolve();
    });
    opening.open();
  });
}

async function stopBroker(): Promise<void> {
  if (mosquitto === null || mosquitto.exitCode !== null) return;
  const exited = once(mosquitto, 'exit');
  mosquitto.kill();
  await exited;
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await work();
  return performance.now() - started;
}
