import type { MqttClient } from 'mqtt';
import { expect, onTestFinished, test } from 'vitest';
import type { StoredMessage } from '../../../../src/data-plane/log/log-message.ts';
import type { StreamQos } from '../../../../src/data-plane/streams/model/stream-definition.ts';
import { reached } from '../../../support/link.ts';
import { startMosquitto } from '../../../support/mosquitto.ts';
import { startRelay } from '../../../support/relay.ts';
import { temporaryFolder } from '../../../support/temporary-folder.ts';
import { definition, openStore, reported, reportOf, startEngine } from './engine-parts.ts';
import { Arrivals, connectedSession } from './mosquitto-parts.ts';

const QOS = [0, 1, 2] as const;

test.each([4, 5] as const)(
  'what comes in leaves in its order, with the QoS of the stream or its own, never retained (MQTT %i)',
  async (version) => {
    const mosquitto = await startMosquitto();
    const client = await mosquitto.client();
    const engine = startEngine(await connectedSession({ url: mosquitto.url, version }));
    const out = await Arrivals.of(client, 'out/#');
    await client.publishAsync('in/kept', 'kept by the broker', { qos: 1, retain: true });
    for (const qos of [-1, 0, 1, 2] satisfies StreamQos[]) {
      await engine.put(
        `s${qos}`,
        definition({ sourceTopic: 'in/+', targetTopic: `out/${qos}`, targetQos: qos, process: false }),
      );
    }
    const sent: string[] = [];
    for (let index = 0; index < 60; index += 1) {
      sent.push(`${index}`);
      client.publish('in/x', `${index}`, { qos: QOS[index % 3] ?? 0, retain: index === 30 });
    }
    await out.until(240);

    for (const target of [-1, 0, 1, 2]) {
      const of = out.all.filter(({ topic }) => topic === `out/${target}`);
      // A broker keeps the order of those of one QoS.
      for (const qos of QOS) {
        const ofQos = of.filter(({ payload }) => Number(payload) % 3 === qos);
        expect(ofQos.map(({ payload }) => payload)).toEqual(sent.filter((payload) => Number(payload) % 3 === qos));
        expect(new Set(ofQos.map((each) => each.qos))).toEqual(new Set([target === -1 ? qos : target]));
      }
      await reported(engine, ({ counters }) => counters.published === 60, `s${target}`);
      // Not the one that the broker kept.
      expect((await reportOf(engine, `s${target}`)).counters).toMatchObject({ received: 60, published: 60, failed: 0 });
    }
    const kept = await Arrivals.of(await mosquitto.client(), '#');
    await client.publishAsync('mark', '', { qos: 1 });
    await kept.until((all) => all.some(({ topic }) => topic === 'mark'));
    expect(kept.all.map(({ topic, retain }) => `${topic} ${retain}`).sort()).toEqual([
      'in/kept true',
      'in/x true',
      'mark false',
    ]);
  },
);

test('streams feed streams, share sources and overlap: each takes a message once', async () => {
  const mosquitto = await startMosquitto();
  const client = await mosquitto.client();
  const engine = startEngine(await connectedSession({ url: mosquitto.url }));
  const out = await Arrivals.of(client, 'out/#');
  const count = { select: [{ source: '', target: '[n]', function: 'count' }] } as const;
  const flows: [string, string][] = [
    ['in/+', 'mid/1'],
    ['in/#', 'out/wide'],
    ['in/+', 'out/narrow'],
    ['in/1', 'out/exact'],
    ['mid/1', 'out/chained'],
  ];
  for (const [sourceTopic, targetTopic] of flows) {
    await engine.put(targetTopic, definition({ sourceTopic, targetTopic, query: count }));
  }
  for (let index = 0; index < 10; index += 1) await client.publishAsync('in/1', '{}', { qos: 1 });
  await out.until(40);

  for (const target of ['wide', 'narrow', 'exact', 'chained']) {
    const numbers = out.all
      .filter(({ topic }) => topic === `out/${target}`)
      .map(({ payload }) => JSON.parse(payload).n);
    expect(numbers).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  }
});

test('an inactive stream takes nothing, one without target publishes nothing, and one that stores keeps what left the query', async () => {
  const mosquitto = await startMosquitto();
  const client = await mosquitto.client();
  const store = openStore();
  const engine = startEngine(await connectedSession({ url: mosquitto.url }), { store });
  const out = await Arrivals.of(client, 'out/#');
  const query = {
    select: [{ source: '[v]', target: '[w]' }],
    where: [{ left: '[v]', operator: '>', right: 1 }],
  } as const;
  await engine.put('off', definition({ sourceTopic: 'in', targetTopic: 'out/off', active: false, persist: true }));
  await engine.put('raw', definition({ sourceTopic: 'in', targetTopic: 'out/raw', query, process: false }));
  await engine.put('kept', definition({ sourceTopic: 'in', query, persist: true }));
  for (const payload of ['{"v":1}', '{"v":2}', 'no json', '{"v":3}'])
    await client.publishAsync('in', payload, { qos: 2 });
  await out.until(4);

  expect(out.payloads).toEqual(['{"v":1}', '{"v":2}', 'no json', '{"v":3}']);
  await expect.poll(async () => (await reportOf(engine, 'kept')).counters.stored).toBe(2);
  expect((await reportOf(engine, 'kept')).counters).toMatchObject({
    received: 4,
    filtered: 1,
    failed: 1,
    published: 0,
  });
  const page = { from: null, to: null, after: null, reverse: false, limit: 10, maxBytes: 1_000 };
  const kept = await store.log('kept').read(page);
  expect(kept.map(({ topic, payload, qos }) => `${topic} ${payload} ${qos}`)).toEqual(['in {"w":2} 2', 'in {"w":3} 2']);
  expect((await reportOf(engine, 'off')).counters.received).toBe(0);
});

test('what is stored slower than it comes waits at the broker, not in memory, and all of it arrives', async () => {
  const mosquitto = await startMosquitto({ lines: ['max_inflight_messages 0', 'max_queued_messages 0'] });
  const store = openStore();
  const engine = startEngine(await connectedSession({ url: mosquitto.url }), { store });
  // Each message is stored ten times, and synced to disk ten times.
  const ids = Array.from({ length: 10 }, (_, index) => `s${index}`);
  for (const id of ids) await engine.put(id, definition({ sourceTopic: 'in', process: false, persist: true }));
  const logs = ids.map((id) => store.log(id));
  let highest = 0;
  let isOver = false;
  onTestFinished(() => {
    isOver = true;
  });
  const look = () => {
    const pending = logs.reduce((sum, { pendingBytes }) => sum + pendingBytes, 0);
    highest = Math.max(highest, pending);
    if (!isOver) setImmediate(look);
  };
  look();

  const client = await mosquitto.client();
  const payload = Buffer.alloc(64 * 1024, 'x');
  await Promise.all(Array.from({ length: 150 }, () => client.publishAsync('in', payload, { qos: 1 })));
  const all = { from: null, to: null };
  await expect.poll(() => logs.map((log) => log.count(all))).toEqual(ids.map(() => 150));
  // Of 98 MB: 16 MiB, and what was read in one piece when reading stopped.
  expect(highest).toBeLessThan(20 * 1024 * 1024);
  expect((await reportOf(engine, 's9')).counters).toMatchObject({ received: 150, stored: 150, notStored: 0 });
});

test('a refusal of access control is reported with the missing access, and the stream runs when it is granted', async () => {
  const mosquitto = await startMosquitto({ access: 'dynsec' });
  const admin = await mosquitto.client();
  const dynsec = async (...commands: object[]) => {
    await admin.publishAsync('$CONTROL/dynamic-security/v1', JSON.stringify({ commands }), { qos: 1 });
  };
  const grant = (acltype: string, topic: string) => ({
    command: 'addRoleACL',
    rolename: 'streams',
    acltype,
    topic,
    allow: true,
  });
  await dynsec(
    { command: 'createRole', rolename: 'streams' },
    grant('subscribePattern', 'in/#'),
    grant('publishClientSend', 'out/#'),
    { command: 'setDefaultACLAccess', acls: [{ acltype: 'publishClientReceive', allow: true }] },
    { command: 'createClient', username: 'streams', password: 'secret', roles: [{ rolename: 'streams' }] },
    { command: 'createRole', rolename: 'sender', acls: [{ acltype: 'publishClientSend', topic: 'in/#', allow: true }] },
    { command: 'createClient', username: 'sender', password: 'secret', roles: [{ rolename: 'sender' }] },
  );
  const sender = await mosquitto.client({ username: 'sender', password: 'secret' });
  const session = await connectedSession({ url: mosquitto.url, username: 'streams', password: 'secret' });
  const engine = startEngine(session);
  await engine.put('ok', definition({ sourceTopic: 'in/#', targetTopic: 'out/x', process: false }));
  await engine.put('target', definition({ sourceTopic: 'in/#', targetTopic: 'secret/x', process: false }));
  await engine.put('source', definition({ sourceTopic: 'secret/#', targetTopic: 'out/y', process: false }));

  const { state, problem } = await reportOf(engine, 'source');
  expect(state).toBe('REFUSED');
  expect(problem).toMatch(/"secret\/#": the account of this service needs permission to subscribe/);
  await sender.publishAsync('in/1', 'x', { qos: 1 });
  await expect.poll(async () => (await reportOf(engine, 'target')).counters.failed).toBe(1);
  expect((await reportOf(engine, 'target')).counters.lastError?.reason).toMatch(
    /"secret\/x": the account of this service needs permission to publish there/,
  );
  expect(await reportOf(engine, 'target')).toMatchObject({
    state: 'RUNNING',
    problem: expect.stringContaining('"secret/x": the account of this service needs permission to publish there'),
  });
  await expect.poll(async () => (await reportOf(engine, 'ok')).counters.published).toBe(1);

  await dynsec(grant('subscribePattern', 'secret/#'), grant('publishClientSend', 'secret/#'));
  await engine.put('source', definition({ sourceTopic: 'secret/#', targetTopic: 'out/y', process: false }));
  expect(await reportOf(engine, 'source')).toMatchObject({ state: 'RUNNING', problem: null });
  await sender.publishAsync('in/1', 'x', { qos: 1 });
  await expect.poll(async () => (await reportOf(engine, 'target')).counters.published).toBe(1);
  expect((await reportOf(engine, 'target')).problem).toBeNull();
});

test('streams that are put while the broker is away run when it comes', async () => {
  const mosquitto = await startMosquitto();
  const session = await connectedSession({ url: mosquitto.url });
  await mosquitto.stop();
  await reached(session, 'UNREACHABLE');
  const engine = startEngine(session);
  await engine.put('a', definition({ sourceTopic: 'in', targetTopic: 'out', process: false }));
  const waiting = await reportOf(engine);
  expect(waiting.state).toBe('WAITING');
  expect(waiting.problem).not.toBeNull();

  const running = reported(engine, ({ state }) => state === 'RUNNING');
  await mosquitto.start();
  await running;
  const client = await mosquitto.client();
  const out = await Arrivals.of(client, 'out');
  await client.publishAsync('in', 'x', { qos: 1 });
  expect((await out.until(1))[0]?.payload).toBe('x');
});

test('a connection that is cut in the middle of QoS 1 traffic loses nothing, neither on its way nor on disk', async () => {
  const mosquitto = await startMosquitto({ lines: ['max_queued_messages 0'] });
  const relay = await startRelay(mosquitto.port);
  const client = await mosquitto.client();
  const store = openStore();
  const session = await connectedSession({ url: relay.url });
  const engine = startEngine(session, { store });
  await engine.put('a', definition({ sourceTopic: 'in', targetTopic: 'out', process: false, persist: true }));
  const out = await Arrivals.of(client, 'out');

  const total = 3_000;
  const sending = sendAll(client, total);
  for (const share of [0.2, 0.5, 0.8]) {
    await out.until(total * share);
    relay.cut();
  }
  await sending;
  await out.until((all) => new Set(all.map(({ payload }) => payload)).size === total);

  const firsts = [...new Set(out.payloads)];
  expect(firsts).toEqual(Array.from({ length: total }, (_, index) => `${index}`));
  // Only what was under way at a cut may come twice.
  expect(out.all.length).toBeLessThan(total * 2);
  const kept = new Set<string>();
  for (let after: number | null = null; ; ) {
    const bounds = { from: null, to: null, after, reverse: false, limit: 1_000, maxBytes: 1e6 };
    const page: readonly StoredMessage[] = await store.log('a').read(bounds);
    for (const { payload } of page) kept.add(String(payload));
    const last = page.at(-1);
    if (last === undefined) break;
    after = last.id;
  }
  expect(kept.size).toBe(total);
});

test('a broker that is restarted during QoS 1 traffic loses no message', async () => {
  const folder = temporaryFolder();
  const mosquitto = await startMosquitto({
    lines: ['max_queued_messages 0', 'persistence true', `persistence_location ${folder}/`],
  });
  const lasting = { clean: false, reconnectPeriod: 20 };
  const client = await mosquitto.client({ ...lasting, clientId: 'sender' });
  const reader = await mosquitto.client({ ...lasting, clientId: 'reader' });
  const engine = startEngine(await connectedSession({ url: mosquitto.url }));
  await engine.put('a', definition({ sourceTopic: 'in', targetTopic: 'out', process: false }));
  const out = await Arrivals.of(reader, 'out');

  const total = 1_500;
  const sending = sendAll(client, total);
  await out.until(total / 3);
  await mosquitto.stop();
  await mosquitto.start();
  await sending;
  await out.until((all) => new Set(all.map(({ payload }) => payload)).size === total);
  expect((await reportOf(engine)).state).toBe('RUNNING');
});

/** "0", "1", … on `in` at QoS 1, a few at a time. */
async function sendAll(client: MqttClient, total: number): Promise<void> {
  for (let sent = 0; sent < total; sent += 100) {
    await Promise.all(
      Array.from({ length: 100 }, (_, index) => client.publishAsync('in', `${sent + index}`, { qos: 1 })),
    );
  }
}
