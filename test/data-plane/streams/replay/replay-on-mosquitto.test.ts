import { expect, test } from 'vitest';
import type { MessageLog } from '../../../../src/data-plane/log/message-log.ts';
import type { StreamEngineCore } from '../../../../src/data-plane/streams/engine/stream-engine-core.ts';
import type { StreamQos } from '../../../../src/data-plane/streams/model/stream-definition.ts';
import type { ReplayProgress, ReplayRequest } from '../../../../src/data-plane/streams/model/stream-replay.ts';
import { startMosquitto } from '../../../support/mosquitto.ts';
import { startRelay } from '../../../support/relay.ts';
import { definition, openStore, reported, startEngine, stored } from '../engine/engine-parts.ts';
import { Arrivals, connectedSession } from '../engine/mosquitto-parts.ts';

const START = 1_700_000_000_000;
const FASTEST: ReplayRequest = { topic: 'again', from: null, to: null, limit: null, speed: 'fastest', reverse: false };
const KEPT = definition({ sourceTopic: 'in', process: false, persist: true, ttl: 0 });

test('what is replayed arrives no sooner after the first than it did when it was stored', async () => {
  const mosquitto = await startMosquitto();
  let now = START;
  const store = openStore({ now: () => now });
  const offsets = [0, 100, 100, 450];
  for (const [index, offset] of offsets.entries()) {
    now = START + offset;
    await stored(store.log('a'), `${index}`);
  }
  const engine = startEngine(await connectedSession({ url: mosquitto.url }), { store });
  await engine.put('a', KEPT);
  const again = await Arrivals.of(await mosquitto.client(), 'again');

  for (const reverse of [false, true]) {
    const startedAt = performance.now();
    const arrived = await replayed(engine, again, { ...FASTEST, speed: 1, reverse }, 4);
    expect(arrived.map(({ payload }) => payload)).toEqual(reverse ? ['3', '2', '1', '0'] : ['0', '1', '2', '3']);
    for (const [index, { at }] of arrived.entries()) {
      const due = reverse ? 450 - (offsets[3 - index] ?? 0) : (offsets[index] ?? 0);
      expect(at - startedAt).toBeGreaterThanOrEqual(due - 1);
    }
  }
});

test('each message goes with the QoS that the stream publishes with', async () => {
  const mosquitto = await startMosquitto();
  const store = openStore();
  for (const qos of [0, 1, 2] as const) await stored(store.log('a'), `${qos}`, qos);
  const engine = startEngine(await connectedSession({ url: mosquitto.url }), { store });
  const again = await Arrivals.of(await mosquitto.client(), 'again');
  for (const targetQos of [-1, 0, 1, 2] satisfies StreamQos[]) {
    await engine.put('a', { ...KEPT, targetQos });
    const arrived = await replayed(engine, again, FASTEST, 3);
    const qosByPayload = arrived.map(({ payload, qos }) => `${payload}:${qos}`).sort();
    expect(qosByPayload).toEqual([0, 1, 2].map((qos) => `${qos}:${targetQos === -1 ? qos : targetQos}`));
    expect(arrived.some(({ retain }) => retain)).toBe(false);
  }
});

test.each([1, 2] as const)('a connection that is cut in the middle of a replay loses nothing (QoS %i)', async (qos) => {
  const mosquitto = await startMosquitto({ lines: ['max_queued_messages 0'] });
  const relay = await startRelay(mosquitto.port);
  const store = openStore();
  const total = 2_500;
  await fill(store.log('a'), total, qos);
  const engine = startEngine(await connectedSession({ url: relay.url }), { store });
  await engine.put('a', KEPT);
  const again = await Arrivals.of(await mosquitto.client(), 'again');
  const states: string[] = [];
  engine.onChange((_, { replay }) => {
    if (replay && replay.state !== states.at(-1)) states.push(replay.state);
  });

  const done = ended(engine);
  expect(await engine.startReplay('a', FASTEST)).toMatchObject({ state: 'RUNNING', total });
  for (const share of [0.1, 0.5]) {
    await again.until(total * share);
    relay.cut();
  }
  expect(await done).toMatchObject({ state: 'DONE', published: total, total, problem: null });
  await again.until((all) => new Set(all.map(({ payload }) => payload)).size === total);

  expect([...new Set(again.payloads)]).toEqual(Array.from({ length: total }, (_, index) => `${index}`));
  // Only what was under way may come twice.
  expect(again.all.length).toBeLessThanOrEqual(total + 2 * 512);
  expect(states.slice(0, 3)).toEqual(['RUNNING', 'PAUSED', 'RUNNING']);
  expect(states.at(-1)).toBe('DONE');
});

test('a topic that access control refuses ends the replay with what to grant; one that it allows is replayed to', async () => {
  const mosquitto = await startMosquitto({ access: 'dynsec' });
  const admin = await mosquitto.client();
  const acl = (acltype: string, topic: string) => ({ acltype, topic, allow: true });
  const commands = [
    {
      command: 'createRole',
      rolename: 'streams',
      acls: [acl('subscribePattern', '#'), acl('publishClientSend', 'again/#')],
    },
    { command: 'createClient', username: 'streams', password: 'secret', roles: [{ rolename: 'streams' }] },
  ];
  await admin.publishAsync('$CONTROL/dynamic-security/v1', JSON.stringify({ commands }), { qos: 1 });
  const account = { username: 'streams', password: 'secret' };
  const store = openStore();
  await fill(store.log('a'), 3, 1);
  const engine = startEngine(await connectedSession({ url: mosquitto.url, ...account }), { store });
  await engine.put('a', KEPT);
  const again = await Arrivals.of(await mosquitto.client(account), 'again/#');

  const failed = ended(engine);
  await engine.startReplay('a', { ...FASTEST, topic: 'secret/x' });
  const { state, problem, published } = await failed;
  expect([state, published]).toEqual(['FAILED', 0]);
  expect(problem).toMatch(/"secret\/x": the account of this service needs permission to publish there/);

  const done = ended(engine);
  await engine.startReplay('a', { ...FASTEST, topic: 'again/x' });
  expect(await done).toMatchObject({ state: 'DONE', published: 3 });
  expect((await again.until(3)).map(({ payload }) => payload)).toEqual(['0', '1', '2']);
});

test('a replay that is started while the broker is not connected runs after the reconnect, and reports progress', async () => {
  const mosquitto = await startMosquitto();
  const store = openStore();
  // So many that progress is reported before the end.
  const total = 40_000;
  await fill(store.log('a'), total, 1);
  const engine = startEngine(await connectedSession({ url: mosquitto.url }), { store });
  await engine.put('a', KEPT);
  const waiting = reported(engine, ({ state }) => state === 'WAITING');
  await mosquitto.kill();
  await waiting;
  expect(await engine.startReplay('a', FASTEST)).toMatchObject({ state: 'PAUSED', total, published: 0 });

  const done = ended(engine);
  const halfway = reported(
    engine,
    ({ replay }) => replay !== null && replay.published > 0 && replay.state === 'RUNNING',
  );
  await mosquitto.start();
  expect((await halfway).replay?.position).not.toBeNull();
  expect(await done).toMatchObject({ state: 'DONE', published: total });
});

/** What arrives of one replay. */
async function replayed(engine: StreamEngineCore, arrivals: Arrivals, request: ReplayRequest, count: number) {
  const before = arrivals.all.length;
  const done = ended(engine);
  await engine.startReplay('a', request);
  expect((await done).state).toBe('DONE');
  await arrivals.until(before + count);
  return arrivals.all.slice(before);
}

/** The next replay that ends. */
function ended(engine: StreamEngineCore): Promise<ReplayProgress> {
  return new Promise((resolve) => {
    const stop = engine.onChange((_, { replay }) => {
      if (replay === null || replay.endedAt === null) return;
      stop();
      resolve(replay);
    });
  });
}

async function fill(log: MessageLog, count: number, qos: 0 | 1 | 2): Promise<void> {
  await Promise.all(Array.from({ length: count }, (_, index) => stored(log, `${index}`, qos)));
}
