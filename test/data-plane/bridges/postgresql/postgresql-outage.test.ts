import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { BridgeConnectionStatus } from '../../../../src/data-plane/bridges/model/bridge-status.ts';
import { startPostgresqlBridge } from '../../../../src/data-plane/bridges/postgresql/postgresql-bridge.ts';
import type { PostgresqlBridgeConfig } from '../../../../src/data-plane/bridges/postgresql/postgresql-config.ts';
import { startMosquitto } from '../../../support/mosquitto.ts';
import { UNAVAILABLE, usePostgres } from '../../../support/postgres.ts';
import { programUrl } from '../../../support/programs.ts';
import { startRelay } from '../../../support/relay.ts';
import { temporaryFolder } from '../../../support/temporary-folder.ts';
import { bridgeOptions, publishAll, runBridge } from '../sink/running-bridge.ts';
import { ALL, connectDatabase, MESSAGES, startBridgeToPostgresql } from './bridge-to-postgresql.ts';
import { showOutage } from './outage.ts';

const postgres = usePostgres();
const numbered = (count: number) =>
  Array.from({ length: count }, (_, index) => [`plant/${index}`, `${index}`] as const);

describe.skipIf(!postgres.available)(`an outage of PostgreSQL (${postgres.available ? 'real' : UNAVAILABLE})`, () => {
  test('a server that is killed under load loses no message, and the queue is reported meanwhile', async () => {
    await showOutage({
      during: async (until) => {
        const status = await until(({ queuedMessages }) => queuedMessages >= 2_000);
        expect(status.queuedBytes).toBeGreaterThan(2_000);
      },
    });
  });

  test('a queue that is full keeps what is there, and every message is counted once', async () => {
    const url = await postgres.createDatabase();
    const queue = { maxMessages: 300 };
    const { until, rows, mosquitto } = await startBridgeToPostgresql(url, 'CREATE TABLE other ()', [ALL], { queue });
    await until(({ state }) => state === 'FAILED');
    const client = await mosquitto.client();
    await publishAll(client, numbered(1_000));
    const full = await until(({ received }) => received === 1_000);
    expect(full).toMatchObject({ queuedMessages: 300, dropped: 700, delivered: 0, rejected: 0 });

    await rows(`${MESSAGES}; ALTER TABLE messages ADD CHECK (payload <> '13')`);
    const after = await until(({ queuedMessages }) => queuedMessages === 0);

    expect(after).toMatchObject({ received: 1_000, delivered: 299, rejected: 1, dropped: 700 });
    const stored = await rows('SELECT payload FROM messages ORDER BY n');
    expect(stored.map(({ payload }) => Number(payload))).toEqual(
      Array.from({ length: 300 }, (_, index) => index).filter((number) => number !== 13),
    );
  });

  test('connections that are cut again and again lose nothing, and double nothing where rows have ids', async () => {
    const url = new URL(await postgres.createDatabase());
    const relay = await startRelay(Number(url.port));
    const database = await connectDatabase(url.href);
    await database.query(`${MESSAGES}; ALTER TABLE messages ADD id text PRIMARY KEY`);
    url.port = new URL(relay.url).port;
    const mosquitto = await startMosquitto();
    const mapping = { ...ALL, idColumn: 'id' };
    const config: PostgresqlBridgeConfig = { connections: [{ name: 'history', url: url.href, mappings: [mapping] }] };
    const options = bridgeOptions('postgresql-bridge', mosquitto.url, temporaryFolder());
    const { until } = await runBridge(startPostgresqlBridge, options, config);
    await until(({ state }) => state === 'CONNECTED');
    const client = await mosquitto.client();

    for (let round = 1; round <= 5; round += 1) {
      const publishing = publishAll(client, numbered(400));
      await until(({ delivered }) => delivered > (round - 1) * 400);
      relay.cut();
      await publishing;
    }
    await until(({ delivered }) => delivered === 2_000);

    const { rows } = await database.query('SELECT payload, count(*)::int AS times FROM messages GROUP BY payload');
    expect(rows).toHaveLength(400);
    expect(rows.every(({ times }) => times === 5)).toBe(true);
  });

  test('a connection that is lost while idle is reported immediately', async () => {
    const url = await postgres.createDatabase();
    const { until, rows } = await startBridgeToPostgresql(url, MESSAGES, [ALL]);
    await until(({ state }) => state === 'CONNECTED');
    const lost = until(({ state }) => state === 'UNREACHABLE');
    await rows(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'brokergraph bridge'
      AND datname = current_database()`);
    expect((await lost).error).toContain('terminating connection');
    await until(({ state }) => state === 'CONNECTED');
  });

  test('a process that is killed with messages in its queue leaves them to the next one', async () => {
    const url = await postgres.createDatabase();
    const mosquitto = await startMosquitto();
    const folder = temporaryFolder();
    const config = { connections: [{ name: 'history', url, mappings: [ALL] }] };
    const options = bridgeOptions('postgresql-bridge', mosquitto.url, folder);
    const script = fileURLToPath(programUrl('test/data-plane/bridges/postgresql/bridge-process.mjs'));
    const child = spawn(process.execPath, [script, JSON.stringify(options), JSON.stringify(config)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    onTestFinished(() => {
      child.kill('SIGKILL');
    });
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const until = async (condition: (status: BridgeConnectionStatus) => boolean) => {
      for (;;) {
        const { done, value } = await lines.next();
        if (done) throw new Error('The process ended');
        if (condition(JSON.parse(value))) return;
      }
    };
    await until(({ state }) => state === 'FAILED');
    const client = await mosquitto.client();
    await publishAll(client, numbered(3_000));
    await until(({ queuedMessages }) => queuedMessages >= 1_000);
    const exit = once(child, 'exit');
    child.kill('SIGKILL');
    await exit;

    const database = await connectDatabase(url);
    await database.query(MESSAGES);
    const next = await runBridge(startPostgresqlBridge, options, config);
    await next.until(({ delivered, queuedMessages }) => delivered >= 3_000 && queuedMessages === 0);

    const { rows } = await database.query('SELECT payload FROM messages GROUP BY payload ORDER BY min(n)');
    expect(rows.map(({ payload }) => Number(payload))).toEqual(Array.from({ length: 3_000 }, (_, index) => index));
  });
});

const NOTICE = Buffer.from('4e00000005', 'hex');
test.each([
  [
    'a message that announces 2 GiB',
    Buffer.from('4e7fffffff', 'hex'),
    Buffer.alloc(65_536),
    /length of at most 33554432/,
  ],
  [
    'a message without a valid length',
    Buffer.from('4e00000000', 'hex'),
    Buffer.alloc(65_536),
    /without a valid length|invalid response/,
  ],
  [
    'messages without end',
    Buffer.alloc(0),
    Buffer.concat(Array(10_000).fill(Buffer.concat([NOTICE, Buffer.alloc(1)]))),
    /bytes per second/,
  ],
])('the connection to a server that sends %s is closed', async (_what, first, endless, reason) => {
  const sent: number[] = [];
  const server = createServer((socket) => {
    const index = sent.push(0) - 1;
    socket.on('error', () => undefined);
    const send = () => {
      while (!socket.destroyed && socket.write(endless)) sent[index] = socket.bytesWritten;
      sent[index] = socket.bytesWritten;
    };
    socket.on('drain', send);
    socket.once('data', () => {
      // AuthenticationOk and ReadyForQuery.
      socket.write(Buffer.concat([Buffer.from('5200000008000000005a0000000549', 'hex'), first]));
      send();
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const mosquitto = await startMosquitto();
  const url = `postgresql://u:p@127.0.0.1:${port}/d?sslmode=disable`;
  const { until } = await runBridge(
    startPostgresqlBridge,
    bridgeOptions('postgresql-bridge', mosquitto.url, temporaryFolder()),
    { connections: [{ name: 'history', url, mappings: [ALL] }] },
  );
  expect((await until(({ state }) => state === 'UNREACHABLE')).error).toMatch(reason);
  expect(Math.max(...sent)).toBeLessThan(100_000_000);
});
