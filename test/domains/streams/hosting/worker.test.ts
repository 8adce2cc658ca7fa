import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { MqttClient } from 'mqtt';
import { expect, onTestFinished, test } from 'vitest';
import { StreamThread, type StreamThreadOptions } from '../../../../src/data-plane/streams/hosting/stream-thread.ts';
import {
  DEFAULT_DEFINITION,
  type StreamDefinition,
} from '../../../../src/data-plane/streams/model/stream-definition.ts';
import type { StreamEngine } from '../../../../src/data-plane/streams/model/stream-engine.ts';
import type { StreamReport } from '../../../../src/data-plane/streams/model/stream-report.ts';
import { type Mosquitto, startMosquitto } from '../../../support/mosquitto.ts';
import { UNAVAILABLE, usePostgres } from '../../../support/postgres.ts';
import { programUrl } from '../../../support/programs.ts';
import { sharedDatabase } from '../../../support/service.ts';

const postgres = usePostgres();
const workerUrl = programUrl('src/data-plane/streams/hosting/stream-worker.ts');
const failingWorkerUrl = programUrl('test/domains/streams/hosting/failing-worker.mjs');

function startEngines(options: Partial<StreamThreadOptions> = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'brokergraph-streams-'));
  const lines: string[] = [];
  const line = (fields: object, text: string) => {
    lines.push(`${text} ${JSON.stringify(fields)}`);
  };
  const log = { info: line, warn: line, error: line };
  const engines = new StreamThread({ place: { folder }, maxBytes: 100_000_000, workerUrl, log, ...options });
  onTestFinished(async () => {
    await engines.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return { engines, folder, lines };
}

const open = (engines: StreamThread, { url }: Mosquitto) =>
  engines.openEngine('b1', { id: 'b1', url, timeoutMs: 30_000 });

const define = (more: Partial<StreamDefinition>): StreamDefinition => ({
  ...DEFAULT_DEFINITION,
  name: 's',
  sourceTopic: 'in/#',
  targetTopic: 'out',
  process: more.query !== undefined,
  ...more,
});

/** The first matching report of the stream. Polls, because counters have no events. */
async function reported(
  engine: StreamEngine,
  id: string,
  is: (report: StreamReport) => boolean,
): Promise<StreamReport> {
  for (;;) {
    const report = (await engine.report([id])).get(id);
    if (report !== undefined && is(report)) return report;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

const running = ({ state }: StreamReport) => state === 'RUNNING';

async function listen(
  broker: Mosquitto,
): Promise<{ client: MqttClient; heard: string[]; count(count: number): Promise<void> }> {
  const client = await broker.client();
  const heard: string[] = [];
  let look: () => void = () => undefined;
  client.on('message', (_topic, payload) => {
    heard.push(payload.toString());
    look();
  });
  await client.subscribeAsync('out', { qos: 1 });
  return {
    client,
    heard,
    count: (count) =>
      new Promise((resolve) => {
        look = () => {
          if (heard.length >= count) resolve();
        };
        look();
      }),
  };
}

test('streams run in the thread: messages are processed, stored, counted, replayed and cleared', async () => {
  const broker = await startMosquitto();
  const { client, heard, count } = await listen(broker);
  const { engines } = startEngines();
  const engine = open(engines, broker);
  expect(await engine.report()).toEqual(new Map());
  await expect(engine.clear('str_1', { from: null, to: null })).rejects.toMatchObject({ code: 'BROKER_UNREACHABLE' });
  await engine.put('str_1', define({ persist: true, query: { select: [{ source: '[a]', target: '[b]' }] } }));
  await reported(engine, 'str_1', running);
  await client.publishAsync('in/x', '{"a":1}', { qos: 1 });
  await client.publishAsync('in/x', '{"a":2}', { qos: 2 });
  await count(2);
  expect(heard).toEqual(['{"b":1}', '{"b":2}']);
  await expect(engine.startReplay('nobody', request('out'))).rejects.toMatchObject({ code: 'NOT_FOUND' });
  await expect(engine.startReplay('str_1', request('a/#'))).rejects.toMatchObject({
    code: 'INVALID',
    info: { issues: [{ path: '/topic' }] },
  });
  expect(await engine.startReplay('str_1', request('out'))).toMatchObject({ total: 2 });
  await count(4);
  const done = await reported(engine, 'str_1', ({ replay }) => replay?.state === 'DONE');
  expect(done).toMatchObject({ counters: { received: 2, stored: 2, replayed: 2 }, storage: { messages: 2 } });
  expect(await engine.clear('str_1', { from: null, to: null })).toBe(2);
  await engine.remove('str_1');
  expect(await engine.report()).toEqual(new Map());
});

const request = (topic: string) => ({
  topic,
  from: null,
  to: null,
  limit: null,
  speed: 'fastest' as const,
  reverse: false,
});

test('messages that arrive while the service is closed are processed by the next one, and stored messages remain', async () => {
  const broker = await startMosquitto();
  const { client, heard, count } = await listen(broker);
  const { engines, folder } = startEngines();
  const first = open(engines, broker);
  await first.put('str_1', define({ persist: true }));
  await reported(first, 'str_1', running);
  await client.publishAsync('in/x', 'before', { qos: 1 });
  await count(1);
  await engines.close();
  await expect(first.report()).rejects.toMatchObject({ code: 'BROKER_UNREACHABLE' });
  await client.publishAsync('in/x', 'meanwhile', { qos: 1 });

  const second = open(startEngines({ place: { folder } }).engines, broker);
  await second.put('str_1', define({ persist: true }));
  await count(2);
  expect(heard).toEqual(['before', 'meanwhile']);
  const report = await reported(second, 'str_1', ({ storage }) => storage.messages === 2);
  expect(report.counters.received).toBe(1);
});

test.skipIf(!postgres.available)(
  `a thread with connections to PostgreSQL ends when it is asked to ${postgres.available ? '' : `(${UNAVAILABLE})`}`,
  async () => {
    const broker = await startMosquitto();
    const { client } = await listen(broker);
    const databaseUrl = await sharedDatabase(postgres);
    const { engines, folder, lines } = startEngines();
    const { engines: onPostgres, lines: linesOfPostgres } = startEngines({
      place: { databaseUrl, formerFolder: folder },
    });
    for (const [id, thread] of [
      ['str_1', engines],
      ['str_2', onPostgres],
    ] as const) {
      const engine = open(thread, broker);
      await engine.put(id, define({ persist: true }));
      await reported(engine, id, running);
      await client.publishAsync('in/x', 'stored', { qos: 1 });
      await reported(engine, id, ({ storage }) => storage.messages > 0);
      const from = performance.now();
      await thread.close();
      console.info(`    ${id} closed after ${Math.round(performance.now() - from)} ms`);
    }
    expect([lines, linesOfPostgres]).toEqual([[], []]);
  },
);

test('the broker deletes the session with the last stream, and the next stream gets a new session', async () => {
  const broker = await startMosquitto();
  const { client, heard, count } = await listen(broker);
  const { engines } = startEngines({ lingerMs: 0 });
  const engine = open(engines, broker);
  await engine.put('str_1', define({}));
  await reported(engine, 'str_1', running);
  await engine.remove('str_1');
  await engine.put('str_2', define({}));
  await reported(engine, 'str_2', running);
  await client.publishAsync('in/x', 'new', { qos: 1 });
  await count(1);
  await engine.remove('str_2');
  await engine.close();
  await client.publishAsync('in/x', 'nobody asks for it', { qos: 1 });
  const again = open(engines, broker);
  await again.put('str_3', define({}));
  await reported(again, 'str_3', running);
  await client.publishAsync('in/x', 'last', { qos: 1 });
  await count(2);
  expect(heard).toEqual(['new', 'last']);
});

test('a worker thread that fails is logged and restarted, and its streams run again', async () => {
  const broker = await startMosquitto();
  const { client, heard, count } = await listen(broker);
  const { engines, lines } = startEngines({ workerUrl: failingWorkerUrl });
  const engine = open(engines, broker);
  await engine.put('str_1', define({}));
  await reported(engine, 'str_1', running);
  const states: string[] = [];
  let isBack: () => void = () => undefined;
  const back = new Promise<void>((resolve) => {
    isBack = resolve;
  });
  engine.onChange((id, { state, problem }) => {
    if (id !== 'str_1') return;
    states.push(state);
    if (state === 'FAILED') {
      expect(problem).toContain('a bug');
      // It takes the place of what would fail again.
      void engine.put('str_2', define({ name: 't', sourceTopic: 'u' }));
    }
    if (state === 'RUNNING') isBack();
  });
  await expect(engine.put('str_2', define({ name: 't', sourceTopic: 'u', textName: 'fail' }))).rejects.toMatchObject({
    code: 'BROKER_UNREACHABLE',
  });
  const failed = await engine.report();
  expect([...failed.keys()]).toEqual(['str_1', 'str_2']);
  expect(failed.get('str_1')).toMatchObject({ state: 'FAILED' });
  await expect(engine.stopReplay('str_1')).rejects.toMatchObject({ code: 'BROKER_UNREACHABLE' });
  await back;
  expect(states[0]).toBe('FAILED');
  await client.publishAsync('in/x', 'after', { qos: 1 });
  await count(1);
  expect(heard).toEqual(['after']);
  expect(lines.some((line) => line.startsWith('the worker thread of streams failed {"reason":"a bug"}'))).toBe(true);
});

test('a replay of a job pauses while the thread is restarted, and continues where it was', async () => {
  const broker = await startMosquitto();
  const { client, heard, count } = await listen(broker);
  const { engines } = startEngines({ workerUrl: failingWorkerUrl });
  const engine = open(engines, broker);
  await engine.put('str_1', define({ persist: true, targetTopic: null }));
  await reported(engine, 'str_1', running);
  for (let n = 0; n < 100; n += 1) await client.publishAsync('in/x', String(n), { qos: 1 });
  await reported(engine, 'str_1', ({ storage }) => storage.messages === 100);
  const states: (string | undefined)[] = [];
  let published = 0;
  engine.onChange((changed, { replay }) => {
    if (changed !== 'str_1') return;
    if (replay?.state !== states.at(-1)) states.push(replay?.state);
    published = replay?.checkpoint?.published ?? published;
  });
  const { id } = await engine.startReplay(
    'str_1',
    { ...request('out'), speed: 0.05 },
    { jobId: 'job_1', continued: null },
  );
  await count(3);
  await expect.poll(() => published).toBeGreaterThan(0);
  await expect(engine.put('str_2', define({ name: 't', sourceTopic: 'u', textName: 'fail' }))).rejects.toMatchObject({
    code: 'BROKER_UNREACHABLE',
  });
  const down = await engine.report();
  expect(down.get('str_1')).toMatchObject({
    state: 'FAILED',
    replay: { id, jobId: 'job_1', state: 'PAUSED', endedAt: null },
  });
  await engine.put('str_2', define({ name: 't', sourceTopic: 'u' }));
  await reported(engine, 'str_1', ({ replay }) => replay?.id === id && replay.state === 'RUNNING');
  expect(await engine.stopReplay('str_1')).toBe(true);
  expect(states).toEqual(['RUNNING', 'PAUSED', 'RUNNING', 'STOPPED']);
  // From the checkpoint, not from the start.
  expect(heard.filter((payload) => payload === '0')).toEqual(['0']);
});

test('an unusable folder fails the streams of its broker, and not those of another broker', async () => {
  const broker = await startMosquitto();
  const { engines, folder } = startEngines();
  writeFileSync(join(folder, 'b1'), 'not a folder');
  const engine = open(engines, broker);
  await engine.put('str_1', define({ persist: true }));
  const report = await reported(engine, 'str_1', ({ state }) => state === 'FAILED');
  expect(report.problem).toMatch(/^The stream engine cannot run: /);
  const other = engines.openEngine('b2', { id: 'b2', url: broker.url, timeoutMs: 30_000 });
  await other.put('str_2', define({ persist: true }));
  await reported(other, 'str_2', running);
});

test('a busy stream does not delay the main thread', async () => {
  const broker = await startMosquitto({ lines: ['max_queued_messages 100000', 'max_inflight_messages 1000'] });
  const { client, heard, count } = await listen(broker);
  const { engines } = startEngines();
  const engine = open(engines, broker);
  await engine.put('str_1', define({ targetTopic: 'worked', query: { select: [{ source: '[a]', target: '[b]' }] } }));
  await reported(engine, 'str_1', running);
  await engine.put('str_2', define({ sourceTopic: 'last', targetTopic: 'out' }));
  await reported(engine, 'str_2', running);
  const payload = JSON.stringify({ a: 1, text: 'x'.repeat(100) });
  for (let index = 0; index < 5_000; index += 1) client.publish('in/x', payload, { qos: 1 });
  await client.publishAsync('last', 'done', { qos: 1 });
  const delay = monitorEventLoopDelay({ resolution: 5 });
  delay.enable();
  await count(1);
  delay.disable();
  expect(heard).toEqual(['done']);
  const { counters } = await reported(engine, 'str_1', ({ counters: { published } }) => published === 5_000);
  expect(counters).toMatchObject({ received: 5_000, failed: 0 });
  console.log(
    `event loop delay of the service: p99 ${(delay.percentile(99) / 1e6).toFixed(1)} ms, most ${(delay.max / 1e6).toFixed(1)} ms`,
  );
});
