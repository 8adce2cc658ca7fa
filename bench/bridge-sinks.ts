/**
 * Bridges to PostgreSQL and to webhooks. The first part compares the inserts of the bridge with a `pg` client that
 * parses the same JSON and inserts the same batches, in rows per second. Rounds alternate; the ratio is the median of
 * the ratios of the rounds. The second part measures complete bridges from Mosquitto at QoS 1, in rows and webhook
 * messages per second, with the default settings of Mosquitto (20 messages in flight) and with more messages in
 * flight. `node bench/run.mjs bridge-sinks`. Requires `mosquitto` and PostgreSQL.
 */

import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectAsync } from 'mqtt';
import pg from 'pg';
import type { BridgeOptions } from '../src/data-plane/bridges/hosting/bridge-options.ts';
import type { Bridge } from '../src/data-plane/bridges/model/bridge.ts';
import type { BridgeMessage } from '../src/data-plane/bridges/model/bridge-message.ts';
import { startPostgresqlBridge } from '../src/data-plane/bridges/postgresql/postgresql-bridge.ts';
import { PostgresqlSink } from '../src/data-plane/bridges/postgresql/postgresql-sink.ts';
import { startWebhookBridge } from '../src/data-plane/bridges/webhook/webhook-bridge.ts';
import { median } from './support/figures.ts';
import { startMosquitto } from './support/mosquitto.ts';
import { startPostgres } from './support/postgres.ts';

const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 9);
const BATCH = 500;
const BATCHES = 40;
const MIN_RATIO = 0.8;
const BRIDGED = 20_000;
const SETTINGS = { 'as it comes': [], 'max_inflight_messages 1000': ['max_inflight_messages 1000'] };

const TABLE = 'CREATE TABLE readings (topic text, line text, value double precision, at timestamptz, document jsonb)';
const MAPPING = {
  name: 'readings',
  topics: ['plant/#'],
  table: 'readings',
  columns: [
    { column: 'topic', source: 'topic' },
    { column: 'line', source: 'topic[1]' },
    { column: 'value', source: 'payload.value' },
    { column: 'at', source: 'receivedAt' },
    { column: 'document', source: 'payload' },
  ],
};

const folder = mkdtempSync(join(tmpdir(), 'brokergraph-bench-'));
const postgres = await startPostgres(folder);
const database = new pg.Client({ connectionString: postgres.url });
await database.connect();
await database.query(TABLE);
try {
  await inserts();
  for (const [name, lines] of Object.entries(SETTINGS)) await bridges(name, lines);
} finally {
  await database.end();
  await postgres.close();
  rmSync(folder, { recursive: true, force: true });
}

async function inserts(): Promise<void> {
  const batches = Array.from({ length: BATCHES }, (_, batch) =>
    Array.from({ length: BATCH }, (_, index) => messageOf(batch * BATCH + index)),
  );
  const sink = new PostgresqlSink({ name: 'bench', url: postgres.url, mappings: [MAPPING] }, { allowedHosts: [] });
  await sink.open();
  const own: number[] = [];
  const plain: number[] = [];
  for (let round = -1; round < ROUNDS; round += 1) {
    const rates = {
      own: await rate(batches, (batch) => sink.deliver(batch)),
      plain: await rate(batches, insertPlainly),
    };
    // The first round is a warm-up.
    if (round < 0) continue;
    own.push(rates.own);
    plain.push(rates.plain);
  }
  await sink.close();
  const ratio = median(own.map((each, round) => each / (plain[round] ?? Number.NaN)));
  const isGood = ratio >= MIN_RATIO;
  if (!isGood) process.exitCode = 1;
  console.log(`Rows a second, batches of ${BATCH}, 5 columns (of multi-row inserts by a plain client)`);
  console.log(
    `  ${isGood ? 'ok  ' : 'FAIL'} ${median(own).toFixed(0)}  (${median(plain).toFixed(0)})  ratio ${ratio.toFixed(2)}, at least ${MIN_RATIO}`,
  );
}

async function rate(
  batches: readonly (readonly BridgeMessage[])[],
  deliver: (batch: readonly BridgeMessage[]) => Promise<unknown>,
): Promise<number> {
  await database.query('TRUNCATE readings');
  const begin = performance.now();
  for (const batch of batches) await deliver(batch);
  return (BATCH * BATCHES * 1_000) / (performance.now() - begin);
}

async function insertPlainly(batch: readonly BridgeMessage[]): Promise<void> {
  const values: unknown[] = [];
  const rows = batch.map(({ topic, payload, receivedAt }) => {
    const text = payload.toString();
    const first = values.push(topic, topic.split('/')[1], JSON.parse(text).value, new Date(receivedAt), text) - 4;
    return `($${first}, $${first + 1}, $${first + 2}, $${first + 3}, $${first + 4})`;
  });
  await database.query(`INSERT INTO readings (topic, line, value, at, document) VALUES ${rows.join(', ')}`, values);
}

async function bridges(setting: string, lines: readonly string[]): Promise<void> {
  const parent = join(folder, `mosquitto-${lines.length}`);
  mkdirSync(parent);
  const mosquitto = await startMosquitto(parent, lines);
  let answered = 0;
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      answered += 1;
      response.end();
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const secret = `whsec_${Buffer.alloc(32, 1).toString('base64')}`;
  const local = { id: 'bench', url: `mqtt://127.0.0.1:${mosquitto.port}`, timeoutMs: 10_000 };
  const options = (bridgeId: string): BridgeOptions => ({
    brokerId: 'bench',
    bridgeId,
    local,
    rules: { allowedHosts: [] },
    folder: join(parent, bridgeId),
    onFault: (error) => console.error(error),
  });
  try {
    console.log(`\nFrom Mosquitto ${setting}, QoS 1, ${BRIDGED} messages`);
    const rows = startPostgresqlBridge(options('postgresql-bridge'));
    await rows.apply({ connections: [{ name: 'bench', url: postgres.url, mappings: [MAPPING] }] });
    console.log(`  ${(await bridgedRate(rows, local.url)).toFixed(0)} rows a second`);
    const hooks = startWebhookBridge(options('webhook-bridge'));
    await hooks.apply({ connections: [{ name: 'bench', url, secret, topics: ['plant/#'] }] });
    const perSecond = await bridgedRate(hooks, local.url);
    console.log(`  ${perSecond.toFixed(0)} webhook messages a second, ${(BRIDGED / answered).toFixed(0)} in a request`);
  } finally {
    server.close();
    server.closeAllConnections();
    mosquitto.close();
  }
}

/** Messages per second, from the first publish to the last delivery. */
async function bridgedRate(bridge: Bridge, url: string): Promise<number> {
  await until(bridge, (status) => status?.state === 'CONNECTED');
  const client = await connectAsync(url);
  const begin = performance.now();
  let next = 0;
  const publish = async () => {
    while (next < BRIDGED) {
      const { topic, payload } = messageOf(next++);
      await client.publishAsync(topic, payload, { qos: 1 });
    }
  };
  await Promise.all(Array.from({ length: 200 }, publish));
  await until(bridge, (status) => status?.delivered === BRIDGED);
  const seconds = (performance.now() - begin) / 1_000;
  await client.endAsync();
  await bridge.close({ discard: true });
  return BRIDGED / seconds;
}

function until(bridge: Bridge, condition: (status: ReturnType<Bridge['status']>[number] | undefined) => boolean) {
  return new Promise<void>((resolve) => {
    const look = () => {
      if (!condition(bridge.status()[0])) return;
      stop();
      resolve();
    };
    const stop = bridge.onStatus(look);
    look();
  });
}

function messageOf(number: number): BridgeMessage {
  const payload = Buffer.from(JSON.stringify({ value: number / 7, unit: 'C', ok: true, sequence: number }));
  return {
    topic: `plant/line${number % 20}/temperature`,
    payload,
    qos: 1,
    retain: false,
    properties: null,
    receivedAt: Date.now(),
  };
}
