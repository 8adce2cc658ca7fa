import { expect, onTestFinished, test } from 'vitest';
import {
  clearStreamMessages,
  createStream,
  getStream,
  getStreamMessageCount,
  listStreams,
  modifyStream,
  onStreamChanged,
  replayStream,
} from '../../../../src/data-plane/streams/control/stream-control.ts';
import {
  DEFAULT_DEFINITION,
  type StreamDefinition,
} from '../../../../src/data-plane/streams/model/stream-definition.ts';
import type { StreamReport } from '../../../../src/data-plane/streams/model/stream-report.ts';
import { BrokerControls } from '../../../../src/protocol/control/broker-controls.ts';
import { startScriptedBroker } from '../../../support/aedes-broker.ts';
import { connectedLink } from '../../../support/link.ts';
import { nested, odd } from './odd-values.ts';

interface Asked {
  readonly command: string;
  readonly correlationData: string;
  readonly count: number;
  readonly offset: number;
  readonly [field: string]: unknown;
}

/** A broker that serves streams as `dataOf` says; what it was asked is kept. */
async function startServing(dataOf: (asked: Asked) => unknown) {
  const asked: Asked[] = [];
  const broker = await startScriptedBroker((topic, payload) => {
    if (topic !== '$CONTROL/stream-processing/v1') return [];
    const { commands } = JSON.parse(payload) as { commands: Asked[] };
    const responses = commands.map((command) => {
      asked.push(command);
      const data = dataOf(command);
      const { command: name, correlationData } = command;
      return data instanceof Error
        ? { command: name, correlationData, error: data.message }
        : { command: name, correlationData, ...(data === undefined ? {} : { data }) };
    });
    return [JSON.stringify({ responses })];
  });
  const controls = new BrokerControls(await connectedLink({ url: broker.url }), { timeoutMs: 2_000, silenceMs: 2_000 });
  onTestFinished(() => controls.close());
  const last = () => {
    const { correlationData: _id, ...rest } = asked.at(-1) ?? { correlationData: '' };
    return rest;
  };
  return { broker, controls, asked, last };
}

const documented = (name: string) => ({
  streamname: name,
  sourcetopic: 'plant/line1',
  targettopic: 'plant/line1/fast',
  textname: '',
  textdescription: '',
  targetqos: -1,
  ttl: 60,
  active: true,
  process: true,
  persist: false,
  replaying: true,
  query: { select: [{ source: '[speed]', target: '[speed]' }], from: 'a broker that knows more' },
});

const expected = (name: string) => ({
  definition: {
    ...DEFAULT_DEFINITION,
    name,
    sourceTopic: 'plant/line1',
    targetTopic: 'plant/line1/fast',
    ttl: 60,
    query: documented(name).query,
  },
  replaying: true,
  report: null,
});

const NAMES = Array.from({ length: 250 }, (_, n) => `s${String(n).padStart(3, '0')}`);

test.each([
  ['as the documentation shows them', (stream: object) => stream, (streams: unknown[]) => streams[0]],
  ['as the Management Center reads them', (stream: object) => ({ stream }), (streams: unknown[]) => ({ streams })],
])('answers are read %s', async (_title, one, list) => {
  const { controls } = await startServing(({ command }) => {
    if (command === 'getStream') return one(documented('a'));
    return command === 'listStreams' ? list([documented('a')]) : { streamname: 'a', count: 12.5 };
  });
  expect(await getStream(controls, 'a')).toEqual(expected('a'));
  expect(await listStreams(controls)).toEqual({ items: [expected('a')], totalCount: 1 });
  expect(await getStreamMessageCount(controls, 'a')).toBe(12);
});

test.each([
  ['reports the total number', (page: unknown[], _all: unknown[]) => ({ streams: page, totalCount: NAMES.length })],
  ['does not report the total number', (page: unknown[], _all: unknown[]) => ({ streams: page })],
  ['reports an invalid total number', (page: unknown[], _all: unknown[]) => ({ streams: page, totalCount: 1.5 })],
  ['has no paging', (_page: unknown[], all: unknown[]) => ({ streams: all })],
])('a long list of a broker that %s is read completely', async (_title, answer) => {
  const { controls } = await startServing(({ verbose, count, offset = 0 }) => {
    const all = verbose ? NAMES.map(documented) : NAMES;
    return answer(all.slice(offset, offset + count), all);
  });
  const namesOf = async (page = {}) =>
    (await listStreams(controls, page)).items.map(({ definition }) => definition.name);
  expect(await namesOf()).toEqual(NAMES);
  expect(await namesOf({ offset: 120, count: 10 })).toEqual(NAMES.slice(120, 130));
});

test('commands are spelled as they are documented, with the flags whatever they are', async () => {
  const { controls, last, asked } = await startServing(() => undefined);
  const definition: StreamDefinition = { ...DEFAULT_DEFINITION, name: 'a', sourceTopic: 'x', targetTopic: 'y', ttl: 5 };
  await createStream(controls, definition);
  expect(last()).toEqual({
    command: 'createStream',
    streamname: 'a',
    sourcetopic: 'x',
    targettopic: 'y',
    targetqos: -1,
    ttl: 5,
    active: true,
    process: true,
    persist: false,
    query: {},
  });
  await modifyStream(controls, 'a', { targetTopic: null, persist: true });
  expect(last()).toEqual({ command: 'modifyStream', streamname: 'a', targettopic: '', persist: true });
  await clearStreamMessages(controls, 'a', { from: 1_500, to: null });
  expect(last()).toEqual({ command: 'clearStreamMessages', streamname: 'a', gte: 1.5 });
  const request = { topic: 't', from: null, to: 7_000, limit: null, speed: 1, reverse: true };
  await replayStream(controls, 'a', request);
  const replay = { command: 'replayStream', streamname: 'a', replaytopic: 't', lte: 7, limit: -1, speed: 'original' };
  expect(last()).toEqual({ ...replay, reverse: true });
  await replayStream(controls, 'a', { ...request, limit: 3, speed: 2.5 });
  expect(last()).toEqual({ ...replay, limit: 3, speed: 2.5, reverse: true });
  expect(asked.map(({ command }) => command)).not.toContain('enableStream');
});

test('a refusal keeps the text of the broker, and has the path if a plugin of this service sent it', async () => {
  let text = '';
  const { controls } = await startServing(({ command }) => (command === 'modifyStream' ? new Error(text) : {}));
  const refused = async (words: string) => {
    text = words;
    return modifyStream(controls, 'a', {}).then(
      () => null,
      (error: unknown) => error,
    );
  };
  expect(await refused('Persistence not configured for this stream')).toMatchObject({ code: 'BROKER_REJECTED' });
  expect(await refused('Stream not found')).toMatchObject({ code: 'NOT_FOUND' });
  expect(await refused('A replay of this stream is running')).toMatchObject({ code: 'IN_USE' });
  expect(await refused('Invalid ttl')).toMatchObject({ code: 'INVALID', info: { brokerError: 'Invalid ttl' } });
  expect(await refused('Invalid /query/where: has more than one: really')).toMatchObject({
    code: 'INVALID',
    info: { issues: [{ path: '/query/where', reason: 'has more than one: really' }] },
  });
  expect(await refused('Invalid /textname: is too long')).toMatchObject({
    code: 'INVALID',
    info: { issues: [{ path: '/textName', reason: 'is too long' }] },
  });
});

test('whatever a broker answers is read or refused, and stays within bounds', async () => {
  const next = odd(7);
  const deep = nested(3_000);
  const data = [
    undefined,
    deep,
    { ...documented('a'), query: deep },
    { streams: [deep, documented('a'), documented('a')] },
  ];
  const { controls, broker } = await startServing(({ command, count, offset }) => {
    if (command === 'listStreams' && count === 1 && offset === 0) return { streams: [] };
    return data.length > 0 ? data.shift() : next();
  });
  const changes: unknown[] = [];
  onStreamChanged(controls, 'last', (report) => changes.push(report));
  for (let n = 0; n < 100; n++) {
    const outcomes = await Promise.allSettled([
      getStream(controls, 'a'),
      listStreams(controls, { count: 20 }),
      getStreamMessageCount(controls, 'a'),
    ]);
    for (const outcome of outcomes) {
      if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ name: 'ServiceError' });
      else expect(JSON.stringify(outcome.value).length).toBeLessThan(10_000_000);
    }
    const [, list, count] = outcomes;
    if (count?.status === 'fulfilled') expect(Number.isSafeInteger(count.value)).toBe(true);
    for (const { definition, report } of list?.status === 'fulfilled'
      ? (list.value as never as { items: never[] }).items
      : [])
      checkOdd(definition, report);
    const event = { type: 'event', event: 'streamChanged', streamname: n % 4 === 0 ? next() : 'last', report: next() };
    await broker.publish('$CONTROL/stream-processing/v1/response', JSON.stringify(event));
  }
  const report = {
    state: 'WAITING',
    counters: { received: 5, lastError: { at: 1, reason: 'x' }, lastFiltered: { at: 2, reason: '[y] is missing' } },
    replay: { state: 'DONE' },
  };
  const event = { type: 'event', event: 'streamChanged', streamname: 'last', report, responses: [] };
  await broker.publish('$CONTROL/stream-processing/v1/response', JSON.stringify(event));
  await expect
    .poll(() => changes.at(-1))
    .toMatchObject({
      state: 'WAITING',
      counters: {
        received: 5,
        stored: 0,
        lastError: { at: 1, reason: 'x' },
        lastFiltered: { at: 2, reason: '[y] is missing' },
      },
    });
});

function checkOdd(definition: StreamDefinition, report: StreamReport | null): void {
  expect(definition.name).not.toBe('');
  expect(definition.name.length).toBeLessThan(65_536);
  expect([-1, 0, 1, 2]).toContain(definition.targetQos);
  expect(definition.ttl).toBeLessThan(2 ** 31);
  expect(typeof definition.active).toBe('boolean');
  if (report === null) return;
  for (const count of [report.counters.received, report.storage.bytes]) expect(Number.isSafeInteger(count)).toBe(true);
}
