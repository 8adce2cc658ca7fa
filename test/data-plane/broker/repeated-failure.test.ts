import { existsSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { startEmbeddedBroker } from '../../../src/data-plane/broker/embedded-broker.ts';
import { programUrl } from '../../support/programs.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { ADMINISTRATOR, collect, connect, listener, startTestBroker } from './embedded.ts';

/** A folder with three wills: the second one ends the faulty worker, the other two are sound. */
async function folderWithWills(): Promise<string> {
  const folder = temporaryFolder();
  const broker = await startTestBroker({ folder });
  await broker.close();
  const db = new Database(join(folder, 'broker.sqlite'));
  const insert = db.prepare('INSERT INTO will (client_id, topic, payload, qos, retain) VALUES (?, ?, ?, 0, 1)');
  for (const [clientId, topic] of [
    ['a', 'sound/before'],
    ['blamed', 'fatal'],
    ['z', 'sound/behind'],
  ]) {
    insert.run(clientId, topic, Buffer.from('gone'));
  }
  db.close();
  return folder;
}

test('a broker that failed three times in the same way starts without the record that caused it, and reports this', async () => {
  const folder = await folderWithWills();
  const errors: { readonly text: string; readonly stack?: string; readonly record?: string }[] = [];
  const log = {
    info: () => {},
    warn: () => {},
    error: (fields: object, text: string) => void errors.push({ ...fields, text }),
  };
  const faults: string[] = [];
  const states: string[] = [];
  const broker = await startEmbeddedBroker({
    id: 'test',
    folder,
    listeners: [listener()],
    administrator: ADMINISTRATOR,
    workerUrl: programUrl('test/data-plane/broker/faulty-worker.mjs'),
    log,
    onState: (state) => void states.push(state),
    onFault: (kind) => void faults.push(kind),
  });
  onTestFinished(() => broker.close());
  await expect.poll(() => broker.notice).not.toBeNull();
  await expect.poll(() => states.at(-1)).toBe('RUNNING');
  const failures = errors.filter(({ text }) => text === 'embedded broker failed');
  expect(failures).toHaveLength(3);
  for (const { stack } of failures) expect(stack).toMatch(/fatal number .*\n\s+at .*faulty-worker/);
  expect(errors.at(-1)).toMatchObject({
    text: 'a stored record was moved into quarantine',
    record: 'will "blamed"',
    reason: expect.stringMatching(/ended whenever it handled this: fatal number/),
  });
  expect(faults).toEqual(['record']);
  expect(broker.notice).toMatch(/^It runs without 1 stored record, now in quarantine: will "blamed": /);

  const client = await connect(broker.listeners[0]?.port ?? 0);
  const { until } = collect(client);
  await client.subscribeAsync('sound/+');
  const seen = await until((messages) => messages.length === 2);
  expect(seen.map(({ topic }) => topic).sort()).toEqual(['sound/before', 'sound/behind']);
  await client.endAsync();
  await broker.close();
  expect(existsSync(join(folder, 'failure.json'))).toBe(false);

  const db = new Database(join(folder, 'broker.sqlite'), { readonly: true });
  const rows = db.prepare('SELECT kind, name, record FROM quarantine').all() as { readonly record: string }[];
  db.close();
  expect(rows).toMatchObject([{ kind: 'will', name: 'blamed' }]);
  expect(JSON.parse(rows[0]?.record ?? '')).toMatchObject({ client_id: 'blamed', topic: 'fatal' });
});

test('failures without a relation to a record move no record into quarantine', async () => {
  const folder = await folderWithWills();
  const log = { info: () => {}, warn: () => {}, error: () => {} };
  const taken = await startTestBroker({ folder: temporaryFolder() });
  const number = taken.mqttPort;
  const unusable = [listener({ host: '203.0.113.1', port: number })];
  const start = (listeners: readonly ReturnType<typeof listener>[]) => startTestBroker({ folder, log, listeners });
  for (const _time of [1, 2, 3, 4]) await expect(start(unusable)).rejects.toThrow(/did not start/);
  await (await start([listener()])).close();
  const db = new Database(join(folder, 'broker.sqlite'), { readonly: true });
  expect(db.prepare('SELECT count(*) AS count FROM quarantine').get()).toEqual({ count: 0 });
  expect(db.prepare('SELECT topic FROM retained ORDER BY topic').pluck().all()).toEqual([
    'fatal',
    'sound/before',
    'sound/behind',
  ]);
  db.close();
});
