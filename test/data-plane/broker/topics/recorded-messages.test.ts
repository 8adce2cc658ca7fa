import type { MqttClient } from 'mqtt';
import { expect, test } from 'vitest';
import type { RecordedTopic } from '../../../../src/data-plane/topic-tree/model/topic-recorder.ts';
import { dynsecDone } from '../dynsec.ts';
import { connect, useTestBroker } from '../embedded.ts';
import { rawClient } from '../raw-client.ts';
import { streamDone } from '../streams.ts';
import { listed, namesOf, setRecording, statusOf, topicsDone } from './topics.ts';

const shared = useTestBroker();

/**
 * Times have a precision of a quarter of a second, because the clock is read four times a second if the broker has
 * time.
 */
const RESOLUTION_MS = 2_000;

const levelsOf = (topic: string) => topic.split('/');

const byLevels = (one: RecordedTopic, other: RecordedTopic): number => {
  const others = levelsOf(other.topic);
  for (const [at, level] of levelsOf(one.topic).entries()) {
    const its = others[at];
    if (its === undefined) return 1;
    if (level !== its) return level < its ? -1 : 1;
  }
  return -1;
};

/** Small and repeatable. */
function random(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    return (state >>> 8) % below;
  };
}

const inOrder = async (client: MqttClient, from: readonly MqttClient[]) => {
  // Acknowledged behind what was sent at QoS 0.
  await Promise.all(from.map((one) => one.publishAsync('end', '', { qos: 1 })));
  return listed(client);
};

test('messages of random clients are listed in order with count, times, QoS, retain flag and payload', async () => {
  const { mqttPort } = shared();
  const admin = await connect(mqttPort);
  const clients = [await connect(mqttPort), await connect(mqttPort, { protocolVersion: 5 })];
  await statusOf(admin);
  const below = random(7);
  const truth = new Map<string, RecordedTopic>();
  for (let turn = 0; turn < 10; turn += 1) {
    await Promise.all(
      clients.flatMap((client, index) => {
        const sent: Promise<unknown>[] = [];
        for (let count = 0; count < 25; count += 1) {
          const levels = Array.from({ length: 1 + below(3) }, () => ['a', 'b', '', 'é', '10', '9'][below(6)]);
          const topic = ['random', index, ...levels].join('/');
          const payload = Buffer.from('x'.repeat([0, 1, 30, 1_000, 1_001, 5_000][below(6)] as number));
          const [qos, retain] = [below(3) as 0 | 1 | 2, below(4) === 0];
          const before = truth.get(topic);
          truth.set(topic, {
            topic,
            messages: (before?.messages ?? 0) + 1,
            firstSeen: before?.firstSeen ?? Date.now(),
            lastSeen: Date.now(),
            qos,
            retain: retain && payload.length > 0,
            payload: { data: payload.subarray(0, 1_000).toString('base64'), bytes: payload.length },
          });
          sent.push(client.publishAsync(topic, payload, { qos, retain }));
        }
        return sent;
      }),
    );
  }

  const found = (await inOrder(admin, clients)).filter(({ topic }) => topic.startsWith('random/'));

  const expected = [...truth.values()].sort(byLevels);
  const timeless = ({ firstSeen: _first, lastSeen: _last, ...rest }: RecordedTopic) => rest;
  expect(found.map(timeless)).toEqual(expected.map(timeless));
  for (const [at, { firstSeen, lastSeen }] of found.entries()) {
    const { firstSeen: first = 0, lastSeen: last = 0 } = expected[at] ?? {};
    // It was sent then, and came some time after.
    expect(firstSeen).toBeGreaterThan(first - RESOLUTION_MS);
    expect(lastSeen).toBeGreaterThan(last - RESOLUTION_MS);
    expect(lastSeen).toBeLessThan(Date.now() + RESOLUTION_MS);
  }
  const { published, messages } = await statusOf(admin);
  expect(published.count).toBe((await namesOf(admin)).length);
  expect(messages).toBeGreaterThanOrEqual(500);
});

test('wills and messages of streams are listed; a repeated publish counts once, a refused one does not count', async () => {
  const { mqttPort } = shared();
  const admin = await connect(mqttPort);
  await statusOf(admin);
  await dynsecDone(
    admin,
    {
      command: 'createRole',
      rolename: 'narrow',
      acls: [{ acltype: 'publishClientSend', topic: 'others/own', priority: 0, allow: true }],
    },
    { command: 'createClient', username: 'narrow', password: 'pw', roles: [{ rolename: 'narrow' }] },
  );
  const narrow = await connect(mqttPort, { username: 'narrow', password: 'pw' });
  await narrow.publishAsync('others/own', '', { qos: 1 });
  await narrow.publishAsync('others/foreign', '', { qos: 1 });
  const watcher = await connect(mqttPort);
  const gone = new Promise((resolve) => watcher.once('message', resolve));
  await watcher.subscribeAsync('others/will');
  const will = { topic: 'others/will', payload: Buffer.from('w'), qos: 1, retain: false } as const;
  (await connect(mqttPort, { clientId: 'willing', will })).stream.destroy();
  await streamDone(admin, 'createStream', {
    streamname: 'copy',
    sourcetopic: 'others/source',
    targettopic: 'others/target',
    targetqos: 1,
    query: {},
    active: true,
    process: true,
  });
  await admin.publishAsync('others/source', '{}', { qos: 1 });
  const raw = await rawClient(mqttPort, { clientId: 'twice' });
  const twice = { cmd: 'publish', topic: 'others/twice', payload: 'p', qos: 2, messageId: 5, retain: false } as const;
  raw.send({ ...twice, dup: false });
  await raw.until('pubrec', 1);
  raw.send({ ...twice, dup: true });
  await raw.until('pubrec', 2);
  await gone;

  const found = (await listed(admin)).filter(({ topic }) => topic.startsWith('others/'));
  expect(found.map(({ topic, messages, qos }) => [topic, messages, qos])).toEqual([
    ['others/own', 1, 1],
    ['others/source', 1, 1],
    ['others/target', 1, 1],
    ['others/twice', 1, 2],
    ['others/will', 1, 1],
  ]);
});

test('topics that begin with $ are recorded if a filter names them, except $CONTROL; new filters apply to recorded topics', async () => {
  const { mqttPort } = shared();
  const admin = await connect(mqttPort);
  await admin.publishAsync('kept/before', '1', { qos: 1, retain: true });
  await admin.publishAsync('other/now', '1', { qos: 1 });
  expect(await namesOf(admin)).toContain('other/now');
  expect((await namesOf(admin)).filter((topic) => topic.startsWith('$'))).toEqual([]);

  await setRecording(admin, {
    filters: ['$SYS/broker/version', '$CONTROL-not/#', 'kept/#'],
    excludedFilters: ['kept/x'],
  });
  await admin.publishAsync('other/now', '1', { qos: 1 });
  await admin.publishAsync('kept/x', '1', { qos: 1 });

  expect(await namesOf(admin)).toEqual(['$SYS/broker/version', 'kept/before']);
  const [version] = await listed(admin);
  expect(version).toMatchObject({ retain: true, messages: 1, payload: { bytes: expect.any(Number) } });
  await topicsDone(admin, 'clearFilters');
  expect(await namesOf(admin)).toContain('kept/before');
});
