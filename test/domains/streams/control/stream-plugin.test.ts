import { expect, onTestFinished, test } from 'vitest';
import {
  clearStreamMessages,
  commandStream,
  createStream,
  getStream,
  getStreamMessageCount,
  listStreams,
  modifyStream,
  replayStream,
  STREAM_API,
} from '../../../../src/data-plane/streams/control/stream-control.ts';
import { StreamPlugin } from '../../../../src/data-plane/streams/control/stream-plugin.ts';
import {
  DEFAULT_DEFINITION,
  type StreamDefinition,
} from '../../../../src/data-plane/streams/model/stream-definition.ts';
import type { ReplayRequest } from '../../../../src/data-plane/streams/model/stream-replay.ts';
import { StreamCache } from '../../../../src/domains/streams/hosting/stream-cache.ts';
import { nested, odd } from '../../../data-plane/streams/control/odd-values.ts';
import { startEngine } from '../../../data-plane/streams/engine/engine-parts.ts';
import { ScriptedSession } from '../../../data-plane/streams/engine/scripted-session.ts';
import { openTestStorage, silentLog } from '../../../support/database.ts';
import { heard, startMosquitto } from '../../../support/mosquitto.ts';
import { addBroker, startStreams } from './stream-world.ts';

const stream = (fields: Partial<StreamDefinition> = {}): StreamDefinition => ({
  ...DEFAULT_DEFINITION,
  name: 'fast',
  sourceTopic: 'plant/+',
  targetTopic: 'fast',
  ...fields,
});

const everything: ReplayRequest = {
  topic: 'again',
  from: null,
  to: null,
  limit: null,
  speed: 'fastest',
  reverse: false,
};

test('a stream is created, returned, changed, switched off and on, and deleted', async () => {
  const broker = await startMosquitto();
  const { controls, events, faults } = await startStreams({ url: broker.url });
  const definition = stream({
    query: { select: [{ source: '[speed]', target: '[v]' }], where: [{ operator: '>', left: '[speed]', right: 1 }] },
    textName: 'Fast ones',
    key: 'k',
    ttl: 60,
    targetQos: 1,
  });
  await createStream(controls, definition);
  const made = await getStream(controls, 'fast');
  expect(made).toMatchObject({ definition, replaying: false, report: { replay: null, storage: { state: 'OFF' } } });
  await expect.poll(async () => (await getStream(controls, 'fast')).report?.state).toBe('RUNNING');

  const client = await broker.client();
  const outputs = await heard(client, 'fast');
  await client.publishAsync('plant/a', '{"speed":1}', { qos: 1 });
  await client.publishAsync('plant/b', '{"speed":2}', { qos: 1 });
  await expect.poll(() => outputs).toEqual(['{"v":2}']);

  await commandStream(controls, 'disableStream', 'fast');
  expect(await getStream(controls, 'fast')).toMatchObject({
    definition: { active: false },
    report: { state: 'INACTIVE' },
  });
  await commandStream(controls, 'enableStream', 'fast');
  await modifyStream(controls, 'fast', { process: false, textName: null });
  expect((await getStream(controls, 'fast')).definition).toEqual({ ...definition, process: false, textName: null });
  await expect.poll(async () => (await getStream(controls, 'fast')).report?.state).toBe('RUNNING');
  await client.publishAsync('plant/a', 'as it is', { qos: 1 });
  await expect.poll(() => outputs).toEqual(['{"v":2}', 'as it is']);

  await createStream(controls, stream({ name: 'other', targetTopic: null }));
  const names = () => controls.call(STREAM_API, 'listStreams', { verbose: false, count: 10, offset: 0 });
  expect(await names()).toEqual({ streams: ['fast', 'other'], totalCount: 2 });
  expect(await listStreams(controls, { offset: 1, count: 1 })).toMatchObject({
    items: [{ definition: { name: 'other' }, report: { state: expect.any(String) } }],
    totalCount: 2,
  });
  await commandStream(controls, 'deleteStream', 'fast');
  expect(await names()).toMatchObject({ streams: ['other'] });
  await expect(getStream(controls, 'fast')).rejects.toMatchObject({ code: 'NOT_FOUND' });
  expect(events).toContainEqual(
    expect.objectContaining({
      event: 'streamChanged',
      streamname: 'fast',
      report: expect.objectContaining({ state: 'RUNNING' }),
    }),
  );
  expect(faults).toEqual([]);
});

test('what may not be is refused, with the place and the reason', async () => {
  const broker = await startMosquitto();
  const { controls } = await startStreams({ url: broker.url });
  await createStream(controls, stream());
  await expect(createStream(controls, stream())).rejects.toMatchObject({ code: 'ALREADY_EXISTS' });
  for (const asked of [
    modifyStream(controls, 'none', { ttl: 1 }),
    commandStream(controls, 'deleteStream', 'none'),
    commandStream(controls, 'enableStream', 'none'),
    commandStream(controls, 'disableStream', 'none'),
    getStreamMessageCount(controls, 'none'),
    clearStreamMessages(controls, 'none', { from: null, to: null }),
    replayStream(controls, 'none', everything),
    commandStream(controls, 'stopStreamReplay', 'none'),
  ]) {
    await expect(asked).rejects.toMatchObject({
      code: 'NOT_FOUND',
      message: expect.stringContaining('Stream not found'),
    });
  }
  const at = (path: string) => ({ code: 'INVALID', info: { issues: [{ path, reason: expect.any(String) }] } });
  await expect(createStream(controls, stream({ name: 'b', sourceTopic: '$SYS/#' }))).rejects.toMatchObject(
    at('/sourceTopic'),
  );
  await expect(modifyStream(controls, 'fast', { ttl: -1 })).rejects.toMatchObject(at('/ttl'));
  const badQuery = { select: [{ source: 'speed', target: '[v]' }] };
  await expect(modifyStream(controls, 'fast', { query: badQuery })).rejects.toMatchObject(at('/query/select/0/source'));
  // Itself, and by way of another one.
  await expect(modifyStream(controls, 'fast', { targetTopic: 'plant/x' })).rejects.toMatchObject(at('/targetTopic'));
  await expect(
    createStream(controls, stream({ name: 'b', sourceTopic: 'fast', targetTopic: 'plant/back' })),
  ).rejects.toMatchObject({ ...at('/targetTopic'), message: expect.stringContaining('b -> fast -> b') });
  expect((await getStream(controls, 'fast')).definition).toEqual(stream());
  await expect(controls.call(STREAM_API, 'createStream', { sourcetopic: 'a' })).rejects.toMatchObject({
    code: 'INVALID',
  });
  await expect(controls.call(STREAM_API, 'modifyStream', { streamname: 'fast', active: 'yes' })).rejects.toMatchObject(
    at('/active'),
  );
  await expect(controls.call(STREAM_API, 'wash')).rejects.toMatchObject({ code: 'NOT_SUPPORTED_BY_BROKER' });
  // Spelled otherwise, with what is no change, and what is not known.
  const odd = { STREAMNAME: 'fast', targetTopic: '', replace: true, ttl: null };
  await controls.call(STREAM_API, 'MODIFYSTREAM', odd);
  expect((await getStream(controls, 'fast')).definition).toEqual(stream({ targetTopic: null }));
  expect(await controls.call(STREAM_API, 'getLicense')).toMatchObject({
    features: [{ name: 'stream-count', count: -1 }, { name: 'stream-processing' }, { name: 'stream-persistence' }],
  });
});

test('stored messages are counted, replayed, cleared, and kept when nothing more is stored', async () => {
  const broker = await startMosquitto();
  const { controls } = await startStreams({ url: broker.url });
  await createStream(controls, stream({ targetTopic: null }));
  const refused = {
    code: 'BROKER_REJECTED',
    message: expect.stringContaining('Persistence not configured for this stream'),
  };
  await expect(getStreamMessageCount(controls, 'fast')).rejects.toMatchObject(refused);
  await expect(replayStream(controls, 'fast', everything)).rejects.toMatchObject(refused);
  await expect(clearStreamMessages(controls, 'fast', { from: null, to: null })).rejects.toMatchObject(refused);

  await modifyStream(controls, 'fast', { persist: true });
  await expect.poll(async () => (await getStream(controls, 'fast')).report?.state).toBe('RUNNING');
  expect(await getStreamMessageCount(controls, 'fast')).toBe(0);
  const client = await broker.client();
  for (const n of [1, 2, 3]) await client.publishAsync('plant/a', `{"n":${n}}`, { qos: 1 });
  await expect.poll(() => getStreamMessageCount(controls, 'fast')).toBe(3);
  await modifyStream(controls, 'fast', { persist: false });

  const again = await heard(client, 'again');
  const replayed = async () => (await getStream(controls, 'fast')).report?.replay?.state;
  await replayStream(controls, 'fast', { ...everything, reverse: true, limit: 2 });
  await expect.poll(() => again).toEqual(['{"n":3}', '{"n":2}']);
  await expect.poll(replayed).toBe('DONE');
  await expect(replayStream(controls, 'fast', { ...everything, limit: 0 })).rejects.toMatchObject({ code: 'INVALID' });
  await expect(replayStream(controls, 'fast', { ...everything, topic: 'a/#' })).rejects.toMatchObject({
    code: 'INVALID',
  });
  const texts = { streamname: 'fast', replayTopic: 'again', gte: '', lte: '1.5', speed: 'fastest' };
  await controls.call(STREAM_API, 'replayStream', texts);
  await expect.poll(replayed).toBe('DONE');
  expect((await getStream(controls, 'fast')).report?.replay?.request).toMatchObject({ from: null, to: 1_500 });
  await expect(controls.call(STREAM_API, 'replayStream', { ...texts, gte: 'soon' })).rejects.toMatchObject({
    code: 'INVALID',
  });

  // A thousand times slower than they came: long enough to be there when it is looked at.
  await replayStream(controls, 'fast', { ...everything, speed: 0.001 });
  expect(await getStream(controls, 'fast')).toMatchObject({ replaying: true });
  await expect(replayStream(controls, 'fast', everything)).rejects.toMatchObject({ code: 'IN_USE' });
  await commandStream(controls, 'stopStreamReplay', 'fast');
  expect(await getStream(controls, 'fast')).toMatchObject({
    replaying: false,
    report: { replay: { state: 'STOPPED' } },
  });
  await commandStream(controls, 'stopStreamReplay', 'fast');

  const now = Date.now() + 60_000;
  await clearStreamMessages(controls, 'fast', { from: now, to: null });
  expect(await getStreamMessageCount(controls, 'fast')).toBe(3);
  await modifyStream(controls, 'fast', { persist: true });
  // It would store them again.
  await expect(replayStream(controls, 'fast', { ...everything, topic: 'plant/x' })).rejects.toMatchObject({
    code: 'INVALID',
  });
  await clearStreamMessages(controls, 'fast', { from: null, to: now });
  expect(await getStreamMessageCount(controls, 'fast')).toBe(0);
});

test('commands given at once are done one after the other', async () => {
  const broker = await startMosquitto();
  const { controls, streamCache, brokerId } = await startStreams({ url: broker.url });
  const outcomes = await Promise.allSettled([
    createStream(controls, stream({ name: 'a', sourceTopic: 'x', targetTopic: 'y' })),
    createStream(controls, stream({ name: 'b', sourceTopic: 'y', targetTopic: 'x' })),
    modifyStream(controls, 'a', { ttl: 5 }),
    modifyStream(controls, 'a', { textName: 'A' }),
    createStream(controls, stream({ name: 'a' })),
    commandStream(controls, 'deleteStream', 'a'),
    createStream(controls, stream({ name: 'b', sourceTopic: 'y', targetTopic: 'x' })),
  ]);
  expect(outcomes.map(({ status }) => status === 'fulfilled')).toEqual([true, false, true, true, false, true, true]);
  expect(
    streamCache
      .of(brokerId)
      .all()
      .map(({ definition }) => definition.name),
  ).toEqual(['b']);
});

/** Over a broker of which the test decides what it answers. */
async function startPlugin() {
  const storage = await openTestStorage();
  const { db, changes } = storage;
  const streamCache = new StreamCache({ db, changes, log: silentLog });
  await streamCache.load();
  const session = new ScriptedSession();
  const engine = startEngine(session);
  const definitions = streamCache.of(await addBroker(storage));
  const plugin = new StreamPlugin({ definitions, engine, emit: () => undefined });
  onTestFinished(async () => {
    await plugin.close();
    await streamCache.close();
  });
  return { storage, session, plugin };
}

test('a stream whose subscription has no response yet delays no other command, and is confirmed after the response', async () => {
  const { storage, session, plugin } = await startPlugin();
  session.grantsAtOnce = false;
  const create = (streamname: string) =>
    plugin.execute({ command: 'createStream', streamname, sourcetopic: streamname });
  const ended: string[] = [];
  const creating = ['a', 'b'].map(async (name) => {
    await create(name);
    ended.push(name);
  });
  await expect.poll(() => session.asked.map(({ filter }) => filter)).toEqual(['a', 'b']);
  expect(await plugin.execute({ command: 'listStreams' })).toEqual({ totalCount: 2, streams: ['a', 'b'] });
  expect(await storage.db.stream.count()).toBe(2);
  expect(ended).toEqual([]);
  for (const asked of session.asked) asked.answer();
  await Promise.all(creating);
});

test('streams that are kept run again without being asked for, with what came meanwhile', async () => {
  const broker = await startMosquitto();
  const first = await startStreams({ url: broker.url });
  await createStream(first.controls, stream({ persist: true }));
  await expect.poll(async () => (await getStream(first.controls, 'fast')).report?.state).toBe('RUNNING');
  await first.close();
  const client = await broker.client();
  const outputs = await heard(client, 'fast');
  for (const n of [1, 2, 3]) await client.publishAsync('plant/a', String(n), { qos: 1 });
  const { storage, brokerId, folder } = first;
  const second = await startStreams({ url: broker.url, storage, brokerId, folder });
  await expect.poll(() => outputs).toEqual(['1', '2', '3']);
  await expect.poll(() => getStreamMessageCount(second.controls, 'fast')).toBe(3);
});

test('whatever a command holds, it is done or refused, and what runs goes on', async () => {
  const broker = await startMosquitto();
  const { controls, faults } = await startStreams({ url: broker.url });
  await createStream(controls, stream({ persist: true }));
  const next = odd(11);
  const commands = ['createStream', 'modifyStream', 'replayStream', 'clearStreamMessages', 'listStreams', 'getStream'];
  const sound = { streamname: 'a', sourcetopic: 'x', replaytopic: 'again' };
  for (let n = 0; n < 300; n++) {
    const fields = next();
    const about = n % 2 === 0 ? sound : { ...sound, query: next(), ttl: next(), gte: next(), speed: next() };
    const command = commands[n % commands.length] ?? '';
    const given = { ...about, ...(typeof fields === 'object' ? fields : {}) };
    const [outcome] = await Promise.allSettled([controls.call(STREAM_API, command, given)]);
    if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ name: 'ServiceError' });
  }
  const deep = { streamname: 'fast', query: nested(20_000) };
  await expect(controls.call(STREAM_API, 'modifyStream', deep)).rejects.toMatchObject({ code: 'INVALID' });
  await expect.poll(async () => (await getStream(controls, 'fast')).report?.state).toBe('RUNNING');
  expect(faults).toEqual([]);
});
