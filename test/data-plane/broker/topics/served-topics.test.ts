import fc from 'fast-check';
import { expect, test } from 'vitest';
import { TOPIC_API } from '../../../../src/data-plane/topic-tree/control/topic-control.ts';
import { DEFAULT_TOPIC_SETTINGS } from '../../../../src/data-plane/topic-tree/model/topic-settings.ts';
import { runs } from '../../../support/suite.ts';
import { temporaryFolder } from '../../../support/temporary-folder.ts';
import { dynsecDone } from '../dynsec.ts';
import { collect, connect, control, startTestBroker, useTestBroker } from '../embedded.ts';
import { listed, namesOf, setRecording, statusOf, topicsDone } from './topics.ts';

const problems: string[] = [];
const shared = useTestBroker({
  log: {
    info: () => {},
    warn: (_fields, text) => void problems.push(text),
    error: (_fields, text) => void problems.push(text),
  },
});

const REQUEST = `$CONTROL/${TOPIC_API}/v1`;

test('only clients that may publish to the API may query, also for topics to which they may not subscribe', async () => {
  const { mqttPort } = shared();
  const admin = await connect(mqttPort);
  const may = (acltype: string, topic: string, allow = true) => ({ acltype, topic, priority: 0, allow });
  await dynsecDone(
    admin,
    {
      command: 'createRole',
      rolename: 'asks',
      acls: [
        may('publishClientSend', REQUEST),
        may('subscribePattern', '$CONTROL/#'),
        may('publishClientReceive', '$CONTROL/#'),
        may('subscribePattern', 'secret/#', false),
        may('publishClientReceive', 'secret/#', false),
      ],
    },
    {
      command: 'createRole',
      rolename: 'plain',
      acls: [
        may('publishClientSend', 'plain/#'),
        may('subscribePattern', '$CONTROL/#'),
        may('publishClientReceive', '$CONTROL/#'),
      ],
    },
    { command: 'createClient', username: 'asks', password: 'pw', roles: [{ rolename: 'asks' }] },
    { command: 'createClient', username: 'plain', password: 'pw', roles: [{ rolename: 'plain' }] },
  );
  const plain = await connect(mqttPort, { username: 'plain', password: 'pw', protocolVersion: 5 });
  const seen = collect(plain);
  await plain.subscribeAsync(`${REQUEST}/response`);
  const body = JSON.stringify({ commands: [{ command: 'setTTL', ttl: 1 }, { command: 'getTTL' }] });
  await expect(plain.publishAsync(REQUEST, body, { qos: 1 })).rejects.toThrow(/Not authorized/i);

  const asks = await connect(mqttPort, { username: 'asks', password: 'pw' });
  await statusOf(asks);
  await admin.publishAsync('secret/topic', 'secret', { qos: 1 });
  expect(await listed(asks)).toMatchObject([
    { topic: 'secret/topic', payload: { data: Buffer.from('secret').toString('base64') } },
  ]);
  expect(await topicsDone(asks, 'getTTL')).toEqual({ ttl: DEFAULT_TOPIC_SETTINGS.ttlSeconds });
  // Responses go to all who may have them; the one who may not ask caused none.
  const told = await seen.until((messages) => messages.length >= 3);
  expect(
    told.flatMap(({ text }) => JSON.parse(text).responses.map(({ command }: { command: string }) => command)),
  ).toEqual(['getTopicStatus', 'findTopics', 'getTTL']);
});

test('each request gets a response, and none ends the broker or causes a bug', async () => {
  const { mqttPort } = shared();
  const client = await connect(mqttPort);
  problems.length = 0;
  const names = [
    ...['topicCount', 'listTopics', 'getTTL', 'setTTL', 'addFilter', 'removeFilter', 'clearFilters', 'listFilters'],
    ...['getLimits', 'setLimits', 'getRecording', 'setRecording', 'getTopicStatus', 'findTopics', 'listLevels'],
    ...['getTopic', 'topicChanges', 'constructor', 'FINDTOPICS'],
  ];
  const fields = [
    ...['kind', 'prefix', 'search', 'filter', 'after', 'offset', 'first', 'withCount', 'of', 'topic', 'since', 'ttl'],
    ...['filters', 'excludedFilters', 'exclude', 'publishLimit', 'payloadLimit', 'always', 'count', '__proto__'],
  ];
  const value = fc.oneof(
    fc.constantFrom<unknown>(
      'a',
      'a/#',
      '',
      '#/#',
      '\0',
      '\ud800',
      '$SYS/#',
      'SUBSCRIBED',
      null,
      true,
      -1,
      1,
      0.5,
      1e308,
    ),
    fc.jsonValue({ maxDepth: 2 }),
  );
  const command = fc
    .tuple(fc.constantFrom(...names), fc.dictionary(fc.constantFrom(...fields), value))
    .map(([name, given]) => ({ ...given, command: name }));
  const bytes = fc.uint8Array({ minLength: 1, maxLength: 60 }).map((array) => Buffer.from(array));
  const request = fc.array(command, { minLength: 1, maxLength: 5 }).map((commands) => JSON.stringify({ commands }));
  await fc.assert(
    fc.asyncProperty(fc.oneof({ weight: 4, arbitrary: request }, { weight: 1, arbitrary: bytes }), async (payload) => {
      const answers = await control(client, TOPIC_API, payload);
      expect(answers.length).toBeGreaterThan(0);
      expect(answers.filter(({ error }) => error === 'Internal error')).toEqual([]);
    }),
    { numRuns: runs(500) },
  );
  expect(problems).toEqual([]);
});

test('settings, retained messages and sessions are restored by a restart', async () => {
  const folder = temporaryFolder();
  const settings = { ttlSeconds: 3_600, excludedFilters: ['left/out'], payloadLimit: 4, isAlwaysOn: true };
  const before = await startTestBroker({ folder });
  const first = await connect(before.mqttPort, { clientId: 'lasting', clean: false });
  await setRecording(first, settings);
  await first.subscribeAsync('lasting/#', { qos: 1 });
  for (const topic of ['kept/cleared', 'kept/on', 'left/out'])
    await first.publishAsync(topic, 'payload', { qos: 1, retain: true });
  await first.publishAsync('passing', 'payload', { qos: 1 });
  await first.publishAsync('kept/cleared', '', { qos: 1, retain: true });
  expect(await listed(first)).toMatchObject([
    { topic: 'kept/cleared', messages: 2, retain: false, payload: { data: '', bytes: 0 } },
    {
      topic: 'kept/on',
      messages: 1,
      retain: true,
      payload: { data: Buffer.from('payl').toString('base64'), bytes: 7 },
    },
    { topic: 'passing', messages: 1, retain: false },
  ]);
  expect(await topicsDone(first, 'topicCount')).toEqual({ publishCount: 3, subscribeCount: 1 });
  expect(await topicsDone(first, 'listTopics')).toMatchObject({
    publishTopics: {
      count: 3,
      data: [{ topic: 'kept/cleared' }, { topic: 'kept/on' }, { topic: 'passing', payload: 'payl' }],
    },
    subscribeTopics: { count: 1, data: [{ topic: 'lasting/#' }] },
  });
  await before.close();

  const startedAt = Date.now();
  const { mqttPort } = await startTestBroker({ folder });
  const publisher = await connect(mqttPort, { clientId: 'publisher' });
  // Before the first query.
  await publisher.publishAsync('unasked', '1', { qos: 1 });
  const admin = await connect(mqttPort);
  expect(await topicsDone(admin, 'getRecording')).toMatchObject({
    ttl: 3_600,
    excludedFilters: ['left/out'],
    payloadLimit: 4,
    always: true,
  });
  const again = await listed(admin);
  expect(again).toMatchObject([
    { topic: 'kept/on', messages: 1, qos: 1, retain: true, payload: { bytes: 7 } },
    { topic: 'unasked', messages: 1, retain: false },
  ]);
  for (const { firstSeen } of again) expect(firstSeen).toBeGreaterThan(startedAt - 300);
  expect(await namesOf(admin, 'SUBSCRIBED')).toEqual(['lasting/#']);
  const { since } = await statusOf(admin);
  expect(since).toBeGreaterThan(startedAt - 300);
});
