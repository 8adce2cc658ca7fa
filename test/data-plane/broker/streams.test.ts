import { expect, test } from 'vitest';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { dynsecDone } from './dynsec.ts';
import { collect, connect, control, startBrokerHere, useTestBroker } from './embedded.ts';
import { storedCount, stream, streamDone } from './streams.ts';

const broker = useTestBroker();

test.each([0, 1, 2] as const)('a stream processes a message of QoS %i, and publishes with its own QoS', async (qos) => {
  const client = await connect(broker().mqttPort);
  const reader = await connect(broker().mqttPort);
  const { until } = collect(reader);
  const query = {
    select: [{ source: '[Machine][Speed]', target: '[speed]' }],
    where: [{ operator: '>', left: '[Machine][Speed]', right: 7 }],
  };
  await reader.subscribeAsync(`out/${qos}/#`, { qos: 2 });
  for (const targetqos of [-1, 0, 1, 2]) {
    const [sourcetopic, targettopic] = [`in/${qos}/+`, `out/${qos}/${targetqos}`];
    await streamDone(client, 'createStream', {
      streamname: `q${qos}${targetqos}`,
      sourcetopic,
      targettopic,
      targetqos,
      query,
    });
  }
  for (const Speed of [7.5, 1]) {
    await client.publishAsync(`in/${qos}/a`, JSON.stringify({ Machine: { Speed, Power: 1 } }), { qos, retain: true });
  }
  await client.publishAsync(`in/${qos}/a`, '{"Machine":{"Speed":9}}', { qos });
  const seen = await until((messages) => messages.length >= 8);
  const told = seen.map(({ topic, text, qos: at, retain }) => `${topic} ${text} ${at} ${retain}`).sort();
  const expected = [-1, 0, 1, 2].flatMap((targetqos) =>
    ['{"speed":7.5}', '{"speed":9}'].map(
      (text) => `out/${qos}/${targetqos} ${text} ${targetqos === -1 ? qos : targetqos} false`,
    ),
  );
  expect(told).toEqual(expected.sort());
  await client.publishAsync(`in/${qos}/a`, '', { retain: true });
});

test('a stream continues with its modified definition, and not while it is disabled', async () => {
  const client = await connect(broker().mqttPort);
  const { until } = collect(client);
  await client.subscribeAsync('changed/#', { qos: 1 });
  const about = { streamname: 'changing', sourcetopic: 'changing', targettopic: 'changed/1', process: false };
  await streamDone(client, 'createStream', about);
  await client.publishAsync('changing', 'a', { qos: 1 });
  await streamDone(client, 'modifyStream', { streamname: 'changing', targettopic: 'changed/2' });
  await client.publishAsync('changing', 'b', { qos: 1 });
  await streamDone(client, 'disableStream', { streamname: 'changing' });
  await client.publishAsync('changing', 'c', { qos: 1 });
  await streamDone(client, 'enableStream', { streamname: 'changing' });
  await client.publishAsync('changing', 'd', { qos: 1 });
  await streamDone(client, 'deleteStream', { streamname: 'changing' });
  await client.publishAsync('changing', 'e', { qos: 1 });
  await client.publishAsync('changed/end', 'end', { qos: 1 });
  const seen = await until((messages) => messages.some(({ text }) => text === 'end'));
  const passed = seen.filter(({ topic }) => !topic.startsWith('$'));
  expect(passed.map(({ topic, text }) => `${topic} ${text}`)).toEqual([
    'changed/1 a',
    'changed/2 b',
    'changed/2 d',
    'changed/end end',
  ]);
});

test('a stream may use the target of another, and all process a message before its acknowledgement; a loop is refused', async () => {
  const client = await connect(broker().mqttPort);
  const names = ['c1', 'c2', 'c3'];
  for (const [index, streamname] of names.entries()) {
    const [sourcetopic, targettopic] = [`chain/${index}`, `chain/${index + 1}`];
    await streamDone(client, 'createStream', { streamname, sourcetopic, targettopic, persist: true });
  }
  for (let index = 0; index < 50; index += 1) {
    await client.publishAsync('chain/0', String(index), { qos: index % 2 === 0 ? 1 : 2 });
  }
  expect(await Promise.all(names.map((name) => storedCount(client, name)))).toEqual([50, 50, 50]);
  const loop = { streamname: 'c4', sourcetopic: 'chain/+', targettopic: 'chain/0' };
  const { error } = await stream(client, 'createStream', loop);
  expect(error).toMatch(/^Invalid \/targettopic: .*c4/);
  const own = await stream(client, 'createStream', { streamname: 'own', sourcetopic: 'own/#', targettopic: 'own/x' });
  expect(own.error).toMatch(/own -> own/);
  await streamDone(client, 'createStream', { ...loop, targettopic: 'chained' });
  const back = await stream(client, 'modifyStream', { streamname: 'c4', targettopic: 'chain/1' });
  expect(back.error).toMatch(/^Invalid \/targettopic: /);
  // Errors name fields as in the commands.
  const nameless = await stream(client, 'replayStream', { streamname: 'c1', gte: 2, lte: 1 });
  expect(nameless.error).toBe('Invalid /replaytopic: is needed');
});

test('stored messages are counted, replayed and cleared; without stored messages these commands are refused', async () => {
  const { mqttPort } = broker();
  const client = await connect(mqttPort);
  const streamname = 'kept';
  await streamDone(client, 'createStream', { streamname, sourcetopic: 'kept/#', persist: true, ttl: 0 });
  for (let index = 0; index < 5; index += 1) client.publish(`kept/${index}`, String(index), { qos: 1 });
  await client.publishAsync('kept/5', '5', { qos: 1 });
  expect(await storedCount(client, streamname)).toBe(6);
  const { until } = collect(client);
  await client.subscribeAsync('again', { qos: 2 });
  await streamDone(client, 'replayStream', { streamname, replaytopic: 'again', speed: 'fastest' });
  const texts = (from: number) => (messages: { topic: string; text: string }[]) =>
    messages
      .filter(({ topic }) => topic === 'again')
      .slice(from)
      .map(({ text }) => text);
  const forth = await until((messages) => texts(0)(messages).length === 6);
  expect(texts(0)(forth)).toEqual(['0', '1', '2', '3', '4', '5']);
  await until((messages) => messages.some(({ text }) => text.includes('"DONE"')));
  await streamDone(client, 'replayStream', {
    streamname,
    replaytopic: 'again',
    speed: 'fastest',
    reverse: true,
    limit: 2,
  });
  const back = await until((messages) => texts(6)(messages).length === 2);
  expect(texts(6)(back)).toEqual(['5', '4']);
  await streamDone(client, 'clearStreamMessages', { streamname });
  expect(await storedCount(client, streamname)).toBe(0);
  await streamDone(client, 'createStream', { streamname: 'loose', sourcetopic: 'loose', targettopic: 'x' });
  const refused = await stream(client, 'getStreamMessageCount', { streamname: 'loose' });
  expect(refused.error).toBe('Persistence not configured for this stream');
});

test('the API is listed among the APIs, changes are sent as events, and queries need a permission', async () => {
  const client = await connect(broker().mqttPort);
  const one = async (api: string, command: object) => (await control(client, api, { commands: [command] }))[0]?.data;
  expect(await one('cedalo/license', { command: 'getLicenseInformation' })).toMatchObject({
    features: expect.arrayContaining([{ name: 'stream-processing' }]),
  });
  expect(await one('broker', { command: 'listPlugins' })).toMatchObject({
    plugins: expect.arrayContaining([expect.objectContaining({ name: 'stream-processing' })]),
  });
  const { until } = collect(client);
  await client.subscribeAsync('$CONTROL/stream-processing/v1/response');
  await streamDone(client, 'createStream', { streamname: 'told', sourcetopic: 'told' });
  const seen = await until((messages) => messages.some(({ text }) => text.includes('streamChanged')));
  const event = JSON.parse(seen.find(({ text }) => text.includes('streamChanged'))?.text ?? '{}');
  expect(event).toMatchObject({
    type: 'event',
    event: 'streamChanged',
    streamname: 'told',
    report: { state: 'RUNNING' },
  });

  const acl = (acltype: string, topic: string) => ({ acltype, topic, allow: true });
  await dynsecDone(
    client,
    {
      command: 'createRole',
      rolename: 'reader',
      acls: [acl('subscribePattern', '#'), acl('subscribePattern', '$CONTROL/#'), acl('publishClientSend', 'told')],
    },
    { command: 'createClient', username: 'other', password: 'p', roles: [{ rolename: 'reader' }] },
  );
  const other = await connect(broker().mqttPort, { username: 'other', password: 'p', protocolVersion: 5 });
  const request = JSON.stringify({ commands: [{ command: 'deleteStream', streamname: 'told' }] });
  const topic = '$CONTROL/stream-processing/v1';
  await expect(other.publishAsync(topic, request, { qos: 1 })).rejects.toMatchObject({ code: 135 });
  expect(await streamDone(client, 'listStreams')).toMatchObject({ streams: expect.arrayContaining(['told']) });
  await streamDone(client, 'deleteStream', { streamname: 'told' });
});

test('a broker restarts with its streams, their stored messages, and the wills of its last connections', async () => {
  const folder = temporaryFolder();
  const first = await startBrokerHere({ folder });
  const client = await connect(first.mqttPort);
  await streamDone(client, 'createStream', {
    streamname: 'all',
    sourcetopic: 'a/#',
    process: false,
    persist: true,
  });
  await streamDone(client, 'createStream', { streamname: 'none', sourcetopic: 'b', active: false });
  const will = { topic: 'a/will', payload: Buffer.from('gone'), qos: 1, retain: false } as const;
  await connect(first.mqttPort, { will });
  for (let index = 0; index < 20; index += 1) client.publish('a/x', String(index), { qos: 0 });
  await client.publishAsync('a/x', 'last', { qos: 1 });
  const before = await streamDone<{ streams: { replaying: boolean }[] }>(client, 'listStreams', { verbose: true });
  await client.endAsync();
  await first.close();
  const second = await startBrokerHere({ folder });
  const again = await connect(second.mqttPort);
  const after = await streamDone<{ streams: object[] }>(again, 'listStreams', { verbose: true });
  const withoutReport = ({ streams }: { streams: object[] }) => streams.map((one) => ({ ...one, report: null }));
  expect(withoutReport(after)).toEqual(withoutReport(before));
  expect(await storedCount(again, 'all')).toBe(22);
  await streamDone(again, 'deleteStream', { streamname: 'all' });
});

test('the disk space of streams is limited, and the limit is reported', async () => {
  const { mqttPort } = await startBrokerHere({ streamStorageBytes: 300_000 });
  const client = await connect(mqttPort);
  await streamDone(client, 'createStream', {
    streamname: 'full',
    sourcetopic: 'big',
    targettopic: 'through',
    persist: true,
    process: false,
  });
  const { until } = collect(client);
  await client.subscribeAsync('through', { qos: 1 });
  for (let index = 0; index < 60; index += 1) await client.publishAsync('big', 'x'.repeat(20_000), { qos: 1 });
  await until((messages) => messages.filter(({ topic }) => topic === 'through').length === 60);
  const { stream: full } = await streamDone<{ stream: { report: object } }>(client, 'getStream', {
    streamname: 'full',
  });
  expect(full.report).toMatchObject({ storage: { state: 'FULL' }, counters: { published: 60 } });
});
