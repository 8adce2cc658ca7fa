import { describe, expect, onTestFailed, test } from 'vitest';
import type { BridgeOptions } from '../../../src/data-plane/bridges/hosting/bridge-options.ts';
import type { Bridge } from '../../../src/data-plane/bridges/model/bridge.ts';
import { startMqttBridge } from '../../../src/data-plane/bridges/mqtt/mqtt-bridge.ts';
import { startPostgresqlBridge } from '../../../src/data-plane/bridges/postgresql/postgresql-bridge.ts';
import { startWebhookBridge } from '../../../src/data-plane/bridges/webhook/webhook-bridge.ts';
import { connectDatabase } from '../../data-plane/bridges/postgresql/bridge-to-postgresql.ts';
import { bridgeOptions, runBridge } from '../../data-plane/bridges/sink/running-bridge.ts';
import { startEndpoint } from '../../data-plane/bridges/webhook/endpoint.ts';
import { usePostgres } from '../../support/postgres.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { PoisonBroker } from './poison-broker.ts';
import { ordinaryPayload, POISONS } from './poison-messages.ts';

/** Each poison, with an ordinary message behind it, to each kind of bridge. */

const postgres = usePostgres();
const ORDINARY = Buffer.from('poison/ordinary');
const NUMBERS = POISONS.map((_poison, number) => number);

/**
 * Sends each poison, and an ordinary message behind it. Returns those poisons that were not acknowledged, because the
 * connection was closed. `passed` resolves when the ordinary message has arrived.
 */
async function sendAll(source: PoisonBroker, passed: (number: number) => Promise<unknown>): Promise<string[]> {
  const faults: string[] = [];
  let current = '';
  onTestFailed(() => console.log(`The last poison was ${current}`));
  for (const [number, poison] of POISONS.entries()) {
    current = poison.what;
    if (!(await source.send(poison))) faults.push(current);
    await source.subscribed();
    await source.send({ topic: ORDINARY, payload: ordinaryPayload(number) });
    await passed(number);
  }
  return faults;
}

async function start<Config>(kind: (options: BridgeOptions) => Bridge<Config>, config: Config) {
  const source = await PoisonBroker.start();
  const faults: unknown[] = [];
  const options = {
    ...bridgeOptions('bridge', source.url, temporaryFolder()),
    onFault: (error: unknown) => void faults.push(error),
  };
  const running = await runBridge(kind, options, config);
  await source.subscribed();
  /** All messages are delivered, or counted with a reason. */
  const settled = (sent: number) =>
    running.until(({ delivered, rejected, dropped }) => delivered + rejected + dropped >= sent);
  return { ...running, source, faults, settled };
}

const FORMS = [
  'text',
  'varchar(5)',
  'bytea',
  'integer',
  'numeric',
  'float8',
  'boolean',
  'jsonb',
  'json',
  'timestamptz',
  'text[]',
];

describe.skipIf(!postgres.available)('a bridge to PostgreSQL', () => {
  test('passes on what follows each poison, and sets the poison aside', async () => {
    const url = await postgres.createDatabase();
    const database = await connectDatabase(url);
    const mappings = FORMS.map((_type, nth) => ({
      name: `m${nth}`,
      topics: ['poison/#', '#'],
      table: `t${nth}`,
      columns: [
        { column: 'topic', source: 'topic' },
        { column: 'value', source: 'payload.value' },
      ],
      deadLetterTable: 'dead',
    }));
    for (const [nth, type] of FORMS.entries()) await database.query(`CREATE TABLE t${nth} (topic text, value ${type})`);
    const { source, faults, settled, status } = await start(startPostgresqlBridge, {
      connections: [{ name: 'poison', url, mappings, batch: { maxDelayMs: 0 } }],
    });
    const closed = await sendAll(source, (number) => settled(2 * (number + 1)));
    expect({ closed, faults }).toEqual({ closed: [], faults: [] });
    expect(status()).toMatchObject({ state: 'CONNECTED', queuedMessages: 0, dropped: 0 });
    const { rows } = await database.query(
      `SELECT value::text FROM t0 WHERE topic = 'poison/ordinary' ORDER BY value::int`,
    );
    expect(rows.map(({ value }) => Number(value))).toEqual(NUMBERS);
  });
});

test('a webhook gets what follows each poison, and what waited on disk', async () => {
  let isAway = false;
  const endpoint = await startEndpoint(() => (isAway ? 503 : 200));
  const secret = `whsec_${Buffer.alloc(24, 'a secret').toString('base64')}`;
  const { source, faults, settled, status, until } = await start(startWebhookBridge, {
    connections: [
      { name: 'poison', url: endpoint.url, secret, topics: ['#'], payload: 'json', batch: { maxDelayMs: 0 } },
    ],
  });
  const closed = await sendAll(source, (number) => settled(2 * (number + 1)));
  isAway = true;
  closed.push(...(await sendAll(source, async () => {})));
  isAway = false;
  await until(({ delivered, rejected }) => delivered + rejected >= 4 * POISONS.length);
  expect({ closed, faults }).toEqual({ closed: [], faults: [] });
  expect(status()).toMatchObject({ state: 'CONNECTED', queuedMessages: 0, dropped: 0 });
  const ordinary = endpoint.taken.filter(({ topic }) => topic === 'poison/ordinary');
  expect(ordinary.map(({ json }) => (json as { value: number }).value)).toEqual([...NUMBERS, ...NUMBERS]);
});

test('a bridge to a broker passes on what follows each poison, and what waited on disk', async () => {
  const target = await PoisonBroker.start();
  const arrived: number[] = [];
  let look = () => {};
  target.onPublished = ({ topic, payload }) => {
    if (topic !== 'poison/ordinary') return;
    arrived.push(JSON.parse(payload).value);
    look();
  };
  const connection = { name: 'poison', url: target.url, topics: [{ pattern: '#', direction: 'out', qos: 1 }] } as const;
  const { source, faults, until } = await start(startMqttBridge, { connections: [connection] });
  const count = (wanted: number) =>
    new Promise<void>((resolve) => {
      look = () => arrived.length >= wanted && resolve();
      look();
    });
  const closed = await sendAll(source, (number) => count(number + 1));
  target.setAway(true);
  closed.push(...(await sendAll(source, async () => {})));
  target.setAway(false);
  await count(2 * POISONS.length);
  expect({ closed, faults }).toEqual({ closed: [], faults: [] });
  expect(arrived).toEqual([...NUMBERS, ...NUMBERS]);
  const { lastRejection } = await until(
    ({ delivered, rejected, dropped }) => delivered + rejected + dropped === 4 * POISONS.length,
  );
  expect(lastRejection?.reason).toMatch(/^"poison\/plain": /);
});
