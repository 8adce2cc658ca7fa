import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { startPostgresqlBridge } from '../../../../src/data-plane/bridges/postgresql/postgresql-bridge.ts';
import type { MappingConfig } from '../../../../src/data-plane/bridges/postgresql/postgresql-config.ts';
import { connectPostgresql } from '../../../../src/platform/storage/postgresql/postgresql-connection.ts';
import { createAuthority } from '../../../support/certificates.ts';
import { startMosquitto } from '../../../support/mosquitto.ts';
import { UNAVAILABLE, usePostgres } from '../../../support/postgres.ts';
import { serveTls } from '../../../support/postgres-tls.ts';
import { temporaryFolder } from '../../../support/temporary-folder.ts';
import { bridgeOptions, publishAll, runBridge } from '../sink/running-bridge.ts';
import { ALL, connectDatabase, MESSAGES, startBridgeToPostgresql } from './bridge-to-postgresql.ts';

const postgres = usePostgres();

const startWith = async (...args: Tail<Parameters<typeof startBridgeToPostgresql>>) =>
  startBridgeToPostgresql(await postgres.createDatabase(), ...args);
type Tail<T extends readonly unknown[]> = T extends readonly [unknown, ...infer Rest] ? Rest : never;

describe.skipIf(!postgres.available)(`a bridge to PostgreSQL (${postgres.available ? 'real' : UNAVAILABLE})`, () => {
  test('messages become rows in their order, whatever their topics look like', async () => {
    const { until, rows, mosquitto } = await startWith(MESSAGES, [ALL]);
    await until(({ state }) => state === 'CONNECTED');
    const client = await mosquitto.client();
    const odd = [
      `plant/'); DROP TABLE messages; --`,
      'plant/"quoted"/{a,b}',
      'plant/\\back\\slash',
      'plant/NULL',
      'plant/ü 名',
    ];
    const numbered = Array.from({ length: 300 }, (_, index) => [`plant/${index}`, `${index}`] as const);
    const messages = [...numbered, ...odd.map((topic) => [topic, topic] as const), ['plant/empty', ''] as const];

    await publishAll(client, messages);
    const status = await until(({ delivered }) => delivered === messages.length);

    const counts = { queuedMessages: 0, queuedBytes: 0, received: messages.length, dropped: 0, rejected: 0 };
    expect(status).toMatchObject({ isConnected: true, connectionName: 'history', ...counts });
    const stored = await rows('SELECT topic, payload FROM messages ORDER BY n');
    expect(stored).toEqual(messages.map(([topic, payload]) => ({ topic, payload })));
  });

  test('a bridge closes while it waits for a server that does not respond', async () => {
    const silent = createServer().listen(0, '127.0.0.1');
    await once(silent, 'listening');
    onTestFinished(() => void silent.close());
    const url = `postgresql://u@127.0.0.1:${(silent.address() as AddressInfo).port}/d`;
    const config = { connections: [{ name: 'history', url, mappings: [ALL] }] };
    const options = bridgeOptions('postgresql-bridge', (await startMosquitto()).url, temporaryFolder());
    const isConnecting = once(silent, 'connection');
    const { bridge } = await runBridge(startPostgresqlBridge, options, config);
    await isConnecting;
    await bridge.close({ discard: false });
    expect(bridge.status()).toEqual([]);
  });

  test('columns get values of the topic, the payload and the message, by their types', async () => {
    const mapping: MappingConfig = {
      name: 'readings',
      topics: ['plant/+/temperature'],
      table: 'Readings "x"',
      columns: [
        { column: 'line', source: 'topic[1]' },
        { column: 'last', source: 'topic[-1]' },
        { column: 'none', source: 'topic[7]' },
        { column: 'value', source: 'payload.reading.value' },
        { column: 'serial', source: 'payload.serial' },
        { column: 'tags', source: 'payload.tags' },
        { column: 'first tag', source: 'payload.tags[0]' },
        { column: 'odd', source: 'payload["odd.key"]' },
        { column: 'at', source: 'payload.at', type: 'epochSeconds' },
        { column: 'document', source: 'payload' },
        { column: 'part', source: 'payload.reading' },
        { column: 'exact', source: 'payload.price' },
        { column: 'digits', source: 'payload.price' },
        { column: 'prices', source: 'payload.prices' },
        { column: 'whole', source: 'payload.prices[1]' },
        { column: 'wholes', source: 'payload.wholes' },
        { column: 'raw', source: 'payload' },
        { column: 'image', source: 'payload.image', type: 'base64' },
        { column: 'qos', source: 'qos' },
        { column: 'retain', source: 'retain' },
        { column: 'came', source: 'receivedAt' },
        { column: 'came_ms', source: 'receivedAt' },
      ],
    };
    const { until, rows, mosquitto } = await startWith(
      `CREATE TABLE "Readings ""x""" (line varchar(10), last text, none text, value double precision, serial bigint, tags text[],
        "first tag" text, odd boolean, at timestamptz, document jsonb, part json, exact text, digits numeric,
        prices text[], whole int, wholes int[], raw bytea, image bytea, qos smallint, retain boolean,
        came timestamptz, came_ms bigint, filled text DEFAULT 'by default')`,
      [mapping],
    );
    await until(({ state }) => state === 'CONNECTED');
    const client = await mosquitto.client();
    const payload =
      '{"reading":{"value":21.5,"exact":12345678901234567890},"serial":9007199254740993,"tags":["a","b,\\"c"],"odd.key":true,' +
      '"at":1700000000.5,"image":"AAEC","price":21.20,"prices":[21.20,1.0,-0,1e400],"wholes":[1.0,2e3,3]}';
    const before = Date.now();

    await client.publishAsync('plant/7/temperature', payload, { qos: 1 });
    await until(({ delivered }) => delivered === 1);

    const [row] = await rows('SELECT *, document::text AS text, part::text AS part_text FROM "Readings ""x"""');
    expect(row).toMatchObject({
      line: '7',
      last: 'temperature',
      none: null,
      value: 21.5,
      serial: '9007199254740993',
      tags: ['a', 'b,"c'],
      'first tag': 'a',
      exact: '21.20',
      digits: '21.20',
      prices: ['21.20', '1.0', '-0', '1e400'],
      whole: 1,
      wholes: [1, 2000, 3],
      odd: true,
      at: new Date(1_700_000_000_500),
      raw: Buffer.from(payload),
      image: Buffer.from([0, 1, 2]),
      qos: 1,
      retain: false,
      filled: 'by default',
      part_text: '{"value":21.5,"exact":12345678901234567890}',
    });
    expect(row?.text).toContain('12345678901234567890');
    expect(Number(row?.came_ms)).toBeGreaterThanOrEqual(before);
    expect(Number(row?.came)).toBe(Number(row?.came_ms));
  });

  test('what no row can be made of goes to the dead letters, which are created, and all others become rows in their order', async () => {
    const mapping: MappingConfig = {
      name: 'values',
      topics: ['plant/#'],
      table: 'readings',
      columns: [
        { column: 'topic', source: 'topic' },
        { column: 'value', source: 'payload.value' },
        { column: 'note', source: 'payload.note' },
      ],
      deadLetterTable: 'dead letters',
    };
    const { until, rows, mosquitto } = await startWith(
      'CREATE TABLE readings (n bigserial, topic text, value integer NOT NULL CHECK (value < 1000), note varchar(5))',
      [mapping],
    );
    await until(({ state }) => state === 'CONNECTED');
    const client = await mosquitto.client();
    const poison = [
      'no JSON at all',
      Buffer.from([0xff, 0xfe, 0]),
      '{"value":"many"}',
      '{"value":1.5e300}',
      '{"value":5000}',
      '{"other":1}',
      '{"value":1,"note":"NUL \\u0000"}',
      '{"value":1,"note":"longer than five"}',
      '[1,2]',
      '',
      `{"value":${'['.repeat(90_000)}${']'.repeat(90_000)}}`,
      `{"value":1,"note":${'{"a":'.repeat(40_000)}21.20${'}'.repeat(40_000)}}`,
    ];
    const messages = Array.from({ length: 20 * poison.length }, (_, index) => {
      const bad = index % 20 === 7 ? poison[Math.floor(index / 20)] : undefined;
      return [`plant/${index}`, bad ?? `{"value":${index}}`] as const;
    });

    await publishAll(client, messages);
    const status = await until(({ delivered, rejected }) => delivered + rejected === messages.length);

    expect(status).toMatchObject({ state: 'CONNECTED', delivered: 228, rejected: 12, queuedMessages: 0, dropped: 0 });
    expect(status).toMatchObject({ lastRejection: { at: expect.any(Number), reason: expect.any(String) } });
    const good = messages.flatMap(([topic], index) => (index % 20 === 7 ? [] : [{ topic, value: index }]));
    expect(await rows('SELECT topic, value FROM readings ORDER BY n')).toEqual(good);
    const dead = await rows('SELECT topic, payload, error, received_at FROM "dead letters"');
    const byTopic = new Map(dead.map((letter) => [letter.topic, letter]));
    expect(byTopic.size).toBe(poison.length);
    for (const [index, payload] of poison.entries()) {
      const letter = byTopic.get(`plant/${index * 20 + 7}`);
      expect(letter?.payload).toEqual(Buffer.from(payload));
      expect(letter?.error).toEqual(expect.any(String));
      expect(letter?.received_at).toBeInstanceOf(Date);
    }
    expect(byTopic.get('plant/7')?.error).toBe('The payload is not JSON');
    expect(byTopic.get('plant/47')?.error).toContain('invalid input syntax for type integer');
  });

  test('a row that a policy or a trigger refuses is set aside, and the others are inserted', async () => {
    const url = await postgres.createDatabase();
    const database = await connectDatabase(url);
    const role = `${new URL(url).pathname.slice(1)}_writer`;
    await database.query(`CREATE TABLE messages (n bigserial, topic text NOT NULL, payload text);
      ALTER TABLE messages ENABLE ROW LEVEL SECURITY;
      CREATE POLICY plain ON messages FOR INSERT WITH CHECK (payload <> 'refused by the policy');
      CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF new.payload LIKE 'refused with %' THEN RAISE 'no' USING ERRCODE = right(new.payload, 5); END IF;
        RETURN new;
      END $$;
      CREATE TRIGGER refuse BEFORE INSERT ON messages FOR EACH ROW EXECUTE FUNCTION refuse();
      CREATE ROLE ${role} LOGIN; GRANT INSERT ON messages TO ${role}; GRANT USAGE ON SEQUENCE messages_n_seq TO ${role}`);
    const mosquitto = await startMosquitto();
    const config = { connections: [{ name: 'policy', url: url.replace(/\/\/[^@]*@/, `//${role}@`), mappings: [ALL] }] };
    const options = bridgeOptions('postgresql-bridge', mosquitto.url, temporaryFolder());
    const { until } = await runBridge(startPostgresqlBridge, options, config);
    await until(({ state }) => state === 'CONNECTED');
    const payloads = ['1', 'refused by the policy', '2', 'refused with 38000', '3', 'refused with 09000', '4'];
    await publishAll(
      await mosquitto.client(),
      payloads.map((payload) => ['plant/1', payload] as const),
    );
    expect(await until(({ delivered, rejected }) => delivered + rejected === payloads.length)).toMatchObject({
      state: 'CONNECTED',
      delivered: 4,
      rejected: 3,
    });
    const { rows } = await database.query('SELECT payload FROM messages ORDER BY n');
    expect(rows.map(({ payload }) => payload)).toEqual(['1', '2', '3', '4']);
  });

  test('without a table for dead letters they are counted, and their values are in no status', async () => {
    const mapping: MappingConfig = {
      name: 'values',
      topics: ['plant/#'],
      table: 'readings',
      columns: [{ column: 'value', source: 'payload' }],
    };
    const { until, rows, mosquitto } = await startWith('CREATE TABLE readings (value integer)', [mapping]);
    await until(({ state }) => state === 'CONNECTED');
    const client = await mosquitto.client();

    await publishAll(client, [
      ['plant/1', '1'],
      ['plant/2', 'a secret'],
      ['plant/3', '3'],
    ]);
    const status = await until(({ delivered, rejected }) => delivered + rejected === 3);

    expect(status).toMatchObject({ delivered: 2, rejected: 1 });
    expect(status.lastRejection?.reason).toBe('invalid input syntax for type integer');
    expect(await rows('SELECT value FROM readings')).toEqual([{ value: 1 }, { value: 3 }]);
  });

  test('a message that several mappings match becomes a row for each, and one that fits only one of them is there, too', async () => {
    const numbers: MappingConfig = {
      name: 'numbers',
      topics: ['plant/+/n', 'plant/#'],
      qos: 2,
      table: 'numbers',
      columns: [{ column: 'value', source: 'payload' }],
      deadLetterTable: 'dead',
    };
    const { until, rows, mosquitto } = await startWith(`${MESSAGES}; CREATE TABLE numbers (value integer)`, [
      ALL,
      numbers,
    ]);
    await until(({ state }) => state === 'CONNECTED');
    const client = await mosquitto.client();

    await publishAll(client, [
      ['plant/a/n', '1'],
      ['plant/a/n', 'one'],
      ['plant/a/n', '2'],
    ]);
    const status = await until(({ delivered, rejected }) => delivered + rejected === 3);

    expect(status).toMatchObject({ received: 3, delivered: 2, rejected: 1 });
    expect(await rows('SELECT payload FROM messages ORDER BY n')).toEqual([
      { payload: '1' },
      { payload: 'one' },
      { payload: '2' },
    ]);
    expect(await rows('SELECT value FROM numbers')).toEqual([{ value: 1 }, { value: 2 }]);
    expect(await rows('SELECT topic FROM dead')).toEqual([{ topic: 'plant/a/n' }]);
  });

  test('payloads of a megabyte come whole, as text and as bytes', async () => {
    const mapping: MappingConfig = { ...ALL, columns: [...ALL.columns, { column: 'raw', source: 'payload' }] };
    const { until, rows, mosquitto } = await startWith(`${MESSAGES}; ALTER TABLE messages ADD raw bytea`, [mapping]);
    await until(({ state }) => state === 'CONNECTED');
    const client = await mosquitto.client();
    const payloads = ['"\\', ',{}', 'ü'].map((part) => part.repeat(1_000_000 / Buffer.byteLength(part)));

    await publishAll(
      client,
      payloads.map((payload) => ['plant/large', payload] as const),
    );
    await until(({ delivered }) => delivered === 3);

    const stored = await rows('SELECT payload, raw FROM messages ORDER BY n');
    expect(stored.map(({ payload }) => payload)).toEqual(payloads);
    expect(stored.map(({ raw }) => (raw as Buffer).equals(Buffer.from(payloads.shift() ?? '')))).toEqual([
      true,
      true,
      true,
    ]);
  });

  test('a missing table is reported, and used after it is created', async () => {
    const { until, rows, mosquitto } = await startWith('CREATE TABLE other ()', [ALL]);
    const failed = await until(({ state }) => state === 'FAILED');
    expect(failed).toMatchObject({ isConnected: false, error: 'There is no table "public"."messages"' });
    const client = await mosquitto.client();
    await client.publishAsync('plant/1', 'meanwhile', { qos: 1 });

    await rows('CREATE TABLE messages (topic text)');
    const lacking = await until(({ error }) => error?.includes('column') === true);
    expect(lacking.error).toBe('The table "public"."messages" has no column "payload"');
    await rows('ALTER TABLE messages ADD payload text');
    await until(({ delivered }) => delivered === 1);

    expect(await rows('SELECT * FROM messages')).toEqual([{ topic: 'plant/1', payload: 'meanwhile' }]);
  });

  test('a changed column type is noticed between messages, and a missing permission is reported', async () => {
    const { until, rows, mosquitto, config, bridge } = await startWith(MESSAGES, [ALL]);
    await until(({ state }) => state === 'CONNECTED');
    const client = await mosquitto.client();
    await client.publishAsync('plant/1', '1', { qos: 1 });
    await until(({ delivered }) => delivered === 1);

    await rows('ALTER TABLE messages ALTER payload TYPE integer USING payload::integer');
    await client.publishAsync('plant/2', '2', { qos: 1 });
    await until(({ delivered }) => delivered === 2);
    expect(await rows('SELECT payload FROM messages ORDER BY n')).toEqual([{ payload: 1 }, { payload: 2 }]);

    const [connection] = config.connections;
    if (connection === undefined) throw new Error('no connection');
    const role = `role_${Date.now()}`;
    await rows(`CREATE ROLE ${role} LOGIN`);
    await bridge.apply({ connections: [{ ...connection, username: role }] });
    await client.publishAsync('plant/3', '3', { qos: 1 });
    const refused = await until(({ state }) => state === 'FAILED');
    expect(refused.error).toContain('permission denied');
    await rows(`GRANT INSERT ON messages TO ${role}; GRANT USAGE ON messages_n_seq TO ${role}`);
    await until(({ delivered }) => delivered === 3);
    await rows(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
  });

  test('rows whose id is there already are left out', async () => {
    const own: MappingConfig = { ...ALL, idColumn: 'id' };
    const published: MappingConfig = {
      name: 'orders',
      topics: ['order/#'],
      table: 'orders',
      columns: [{ column: 'number', source: 'payload.number' }],
      idColumn: 'number',
    };
    const { until, rows, mosquitto } = await startWith(
      `${MESSAGES}; ALTER TABLE messages ADD id uuid UNIQUE; CREATE TABLE orders (number bigint PRIMARY KEY)`,
      [own, published],
    );
    await until(({ state }) => state === 'CONNECTED');
    const client = await mosquitto.client();

    await publishAll(client, [
      ['plant/1', 'same'],
      ['plant/1', 'same'],
      ['order/1', '{"number":7}'],
      ['order/1', '{"number":7}'],
    ]);
    await until(({ delivered }) => delivered === 4);

    const messages = await rows('SELECT id FROM messages');
    expect(new Set(messages.map(({ id }) => id)).size).toBe(2);
    expect(await rows('SELECT number FROM orders')).toEqual([{ number: '7' }]);
  });

  test('refused credentials are reported as UNAUTHORISED', async () => {
    const { until } = await startWith(MESSAGES, [ALL], { username: 'nobody' });
    const refused = await until(({ state }) => state === 'UNAUTHORISED');
    expect(refused).toMatchObject({ isConnected: false, error: 'PostgreSQL: role "nobody" does not exist' });
  });

  test('a name that resolves to an address that is not allowed is not connected to', async () => {
    const database = await postgres.createDatabase();
    // No address to us, and 127.0.0.1 to the system's resolver.
    const url = database.replace('127.0.0.1', '127.1');
    const refused = await startBridgeToPostgresql(database, MESSAGES, [ALL], { url }, ['127.1']);
    expect((await refused.until(({ state }) => state === 'UNREACHABLE')).error).toBe(
      'PostgreSQL: "127.1" resolves to an address that is not allowed (setting BROKER_ALLOWED_HOSTS)',
    );
    const allowed = await startBridgeToPostgresql(database, 'SELECT', [ALL], { url }, ['127.1', '127.0.0.1']);
    await allowed.until(({ state }) => state === 'CONNECTED');
  });

  test.skipIf(process.env.TEST_POSTGRES_URL)(
    'with TLS the server is verified against the given authority, by its name or address, and sees the certificate of this client',
    async () => {
      const authority = createAuthority();
      const client = authority.issue({ name: 'bridge' });
      const database = await postgres.createDatabase();
      await serveTls(database, authority, authority.issue({ altNames: ['IP:127.0.0.1'] }));
      const material = { tls: true, ca: authority.cert, cert: client.cert, key: client.key };
      const { until, rows, mosquitto } = await startBridgeToPostgresql(database, MESSAGES, [ALL], material);
      await until(({ state }) => state === 'CONNECTED');
      await publishAll(await mosquitto.client(), [['plant/1', 'x']]);
      await until(({ delivered }) => delivered === 1);
      const seen = `SELECT ssl, client_dn FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
        WHERE application_name = 'brokergraph bridge' AND datname = current_database()`;
      expect(await rows(seen)).toEqual([{ ssl: true, client_dn: '/CN=bridge' }]);

      const named = database.replace('127.0.0.1', 'localhost');
      for (const [rest, reason] of [
        [{ ...material, ca: createAuthority().cert }, 'by a CA that is not known, "Test authority": add'],
        [{ tls: true }, 'of this CA as "ca"'],
        [{ ...material, url: named }, 'another host name than localhost: it has 127.0.0.1'],
      ] as const) {
        const other = await startBridgeToPostgresql(database, 'SELECT', [ALL], rest);
        expect((await other.until(({ state }) => state === 'UNREACHABLE')).error).toContain(reason);
      }
      // The database of the service itself.
      await expect(connectPostgresql(`${database}?sslmode=verify-full`, 'test')).rejects.toThrow(
        /is signed by a CA that is not known, "Test authority": add the certificate of this CA as "sslrootcert" of the URL$/,
      );
      const unverified = await startBridgeToPostgresql(database, 'SELECT', [ALL], {
        url: `${named}?sslmode=no-verify`,
      });
      await unverified.until(({ state }) => state === 'CONNECTED');

      await serveTls(database, authority, authority.issue({ altNames: ['DNS:localhost'] }));
      const byAddress = await startBridgeToPostgresql(database, 'SELECT', [ALL], material);
      expect((await byAddress.until(({ state }) => state === 'UNREACHABLE')).error).toContain('it has localhost');
      await startBridgeToPostgresql(database, 'SELECT', [ALL], { ...material, url: named }).then((running) =>
        running.until(({ state }) => state === 'CONNECTED'),
      );
    },
  );

  test('an id column that is not unique is reported', async () => {
    const { until } = await startWith(MESSAGES, [{ ...ALL, idColumn: 'topic' }]);
    const failed = await until(({ state }) => state === 'FAILED');
    expect(failed.error).toBe('"public"."messages" has no unique index of "topic" alone');
  });

  test('a connection that is switched off keeps its queue, and one that is removed does not', async () => {
    const { until, rows, mosquitto, bridge, config } = await startWith('CREATE TABLE other ()', [ALL]);
    await until(({ state }) => state === 'FAILED');
    const client = await mosquitto.client();
    await client.publishAsync('plant/1', 'kept', { qos: 1 });
    await until(({ queuedMessages }) => queuedMessages === 1);
    const [connection] = config.connections;
    if (connection === undefined) throw new Error('no connection');

    await bridge.apply({ connections: [{ ...connection, active: false }] });
    expect(bridge.status()).toMatchObject([{ state: 'INACTIVE', isConnected: false, queuedMessages: 1 }]);
    await client.publishAsync('plant/2', 'not for it', { qos: 1 });
    await rows(MESSAGES);
    await bridge.apply(config);
    await until(({ delivered }) => delivered === 1);
    expect(await rows('SELECT payload FROM messages')).toEqual([{ payload: 'kept' }]);

    await bridge.apply({ connections: [] });
    expect(bridge.status()).toEqual([]);
  });

  test('a batch that is under way when the bridge is closed is there once', async () => {
    const url = await postgres.createDatabase();
    const slow = `${MESSAGES}; CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS
      'BEGIN PERFORM pg_sleep(0.1); RETURN NEW; END'; CREATE TRIGGER slow BEFORE INSERT ON messages FOR EACH ROW EXECUTE FUNCTION wait()`;
    const { until, mosquitto, bridge, folder, config, rows } = await startBridgeToPostgresql(url, slow, [ALL]);
    await until(({ state }) => state === 'CONNECTED');
    const client = await mosquitto.client();
    await client.publishAsync('plant/1', 'once', { qos: 1 });
    await until(({ received }) => received === 1);
    await bridge.close({ discard: false });

    const second = await runBridge(
      startPostgresqlBridge,
      bridgeOptions('postgresql-bridge', mosquitto.url, folder),
      config,
    );
    await second.until(({ state, queuedMessages }) => state === 'CONNECTED' && queuedMessages === 0);
    expect(await rows('SELECT payload FROM messages')).toEqual([{ payload: 'once' }]);
  });

  test('what is queued outlives the process, and comes in its order', async () => {
    const url = await postgres.createDatabase();
    const { until, mosquitto, bridge, folder, config } = await startBridgeToPostgresql(url, 'CREATE TABLE other ()', [
      ALL,
    ]);
    await until(({ state }) => state === 'FAILED');
    const client = await mosquitto.client();
    const messages = Array.from({ length: 1_000 }, (_, index) => [`plant/${index}`, `${index}`] as const);
    await publishAll(client, messages);
    await until(({ queuedMessages }) => queuedMessages === messages.length);
    await bridge.close({ discard: false });

    const database = await connectDatabase(url);
    await database.query(MESSAGES);
    const options = bridgeOptions('postgresql-bridge', mosquitto.url, folder);
    const second = await runBridge(startPostgresqlBridge, options, config);
    await second.until(({ delivered }) => delivered === messages.length);

    const { rows } = await database.query('SELECT topic, payload FROM messages ORDER BY n');
    expect(rows).toEqual(messages.map(([topic, payload]) => ({ topic, payload })));
  });
});
