import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { TopicThread, type TopicThreadOptions } from '../../../../src/data-plane/topic-tree/hosting/topic-thread.ts';
import type {
  RecorderState,
  RecorderStatus,
  TopicRecorder,
} from '../../../../src/data-plane/topic-tree/model/topic-recorder.ts';
import { DEFAULT_TOPIC_SETTINGS } from '../../../../src/data-plane/topic-tree/model/topic-settings.ts';
import { FOLLOWED_LOG, type Mosquitto, startMosquitto } from '../../../support/mosquitto.ts';
import { programUrl } from '../../../support/programs.ts';

const topicWorker = programUrl('src/data-plane/topic-tree/hosting/topic-worker.ts');
const failingWorker = programUrl('test/data-plane/topic-tree/hosting/failing-worker.mjs');

function startThread(options: Partial<TopicThreadOptions> = {}) {
  const lines: string[] = [];
  const line = (fields: object, text: string) => {
    lines.push(`${text} ${JSON.stringify(fields)}`);
  };
  const log = { info: line, warn: line, error: line };
  const thread = new TopicThread({ workerUrl: topicWorker, log, ...options });
  onTestFinished(() => thread.close());
  const open = ({ url }: Pick<Mosquitto, 'url'>, id = 'b1', durations = {}) =>
    thread.openRecorder({
      durations,
      local: { id, url, timeoutMs: 30_000 },
      clientId: `brokergraph-${id}-topics`,
      maxBytes: 64 * 1_048_576,
    });
  return { thread, open, lines };
}

const isGone = (error: unknown) => (error as { code?: unknown }).code === 'BROKER_UNREACHABLE';

/** As it is once the recorder is in that state; errors while the thread is away are no answer yet. */
async function statusOf(recorder: TopicRecorder, state: RecorderState = 'RECORDING'): Promise<RecorderStatus> {
  let status: RecorderStatus | null = null;
  await expect
    .poll(async () => {
      status = await recorder.query('status', {}).catch((error: unknown) => {
        if (isGone(error)) return null;
        throw error;
      });
      return status?.state;
    })
    .toBe(state);
  return status as unknown as RecorderStatus;
}

/** Client ids of connections in the log of the broker. */
async function connections(broker: Mosquitto) {
  const client = await broker.client();
  const ids: string[] = [];
  client.on('message', (_topic, line) => {
    const id = / as (brokergraph-\S+) /.exec(line.toString())?.[1];
    if (id !== undefined) ids.push(id);
  });
  await client.subscribeAsync('$SYS/broker/log/N');
  return ids;
}

test('a recorder starts with the first request or with isAlwaysOn, and not before', async () => {
  const broker = await startMosquitto({ logTypes: FOLLOWED_LOG });
  const client = await broker.client();
  await client.publishAsync('plant/a', 'kept', { retain: true, qos: 1 });
  const connected = await connections(broker);
  const { open } = startThread();
  const [asked, always, idle] = [open(broker, 'asked'), open(broker, 'always'), open(broker, 'idle')];
  for (const recorder of [asked, idle]) await recorder.apply({ ...DEFAULT_TOPIC_SETTINGS, payloadLimit: 2 });
  await always.apply({ ...DEFAULT_TOPIC_SETTINGS, isAlwaysOn: true });
  await expect.poll(() => connected.some((id) => id.startsWith('brokergraph-always-topics-'))).toBe(true);

  const { topics } = await asked.query('find', { kind: 'PUBLISHED', first: 10 });
  // The settings from before it began.
  const payload = { data: Buffer.from('ke').toString('base64'), bytes: 4 };
  expect(topics).toMatchObject([{ topic: 'plant/a', messages: 1, retain: true, payload }]);
  await asked.apply({ ...DEFAULT_TOPIC_SETTINGS, payloadLimit: 0 });
  expect(await asked.query('topic', { kind: 'PUBLISHED', topic: 'plant/a' })).toMatchObject({ payload: null });
  expect(connected.filter((id) => id.startsWith('brokergraph-idle-'))).toEqual([]);

  await asked.close();
  await expect(asked.query('status', {})).rejects.toMatchObject({ code: 'BROKER_UNREACHABLE' });
  expect((await statusOf(always)).published.count).toBe(1);
});

test('a thread that exits is restarted, and its recordings start again with a later `since`', async () => {
  const broker = await startMosquitto();
  const client = await broker.client();
  const { open, lines } = startThread({ workerUrl: failingWorker });
  const [asked, always] = [open(broker, 'asked'), open(broker, 'always')];
  await always.apply({ ...DEFAULT_TOPIC_SETTINGS, isAlwaysOn: true });
  const before = await Promise.all([statusOf(asked), statusOf(always)]);
  await client.publishAsync('plant/a', '1', { qos: 1 });
  await expect.poll(async () => (await statusOf(asked)).published.count).toBe(1);

  const failing = asked.query('topic', { kind: 'PUBLISHED', topic: 'fail' });
  await expect(failing).rejects.toMatchObject({ code: 'BROKER_UNREACHABLE' });
  await expect(always.query('status', {})).rejects.toThrow(/exited and is being restarted: a bug/);
  const after = await Promise.all([statusOf(asked), statusOf(always)]);
  for (const [index, { since, published }] of after.entries()) {
    expect(since).toBeGreaterThan(before[index]?.since ?? Number.POSITIVE_INFINITY);
    expect(published.count).toBe(0);
  }
  await client.publishAsync('plant/b', '1', { qos: 1 });
  await expect.poll(async () => (await statusOf(always)).published.count).toBe(1);
  expect(lines).toContain('the worker thread of topics failed {"reason":"a bug"}');
});

test('without requests the thread exits and its recording is deleted, and the next request starts another', async () => {
  const broker = await startMosquitto();
  const client = await broker.client();
  const { open, thread } = startThread({ lingerMs: 0 });
  const recorder = open(broker, 'b1', { idleMs: 300 });
  const { since } = await statusOf(recorder);
  expect(thread.isRunning).toBe(true);
  await client.publishAsync('plant/a', '1', { qos: 1 });
  await expect.poll(() => thread.isRunning).toBe(false);
  const again = await statusOf(recorder);
  expect(again.since).toBeGreaterThan(since ?? Number.POSITIVE_INFINITY);
  expect(again.published.count).toBe(0);
  await recorder.close();
  await expect.poll(() => thread.isRunning).toBe(false);
});

/** It takes connections, and answers nothing. */
async function silentBroker(): Promise<{ readonly url: string }> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => sockets.add(socket.on('error', () => undefined).resume()));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { url: `mqtt://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

test('5,000 requests wait for a broker that does not respond, one more is refused, and a close ends them', async () => {
  const broker = await silentBroker();
  const { open } = startThread();
  const recorder = open(broker);
  const ask = () => recorder.query('topic', { kind: 'PUBLISHED', topic: 'plant/a' });
  const waiting = Promise.allSettled(Array.from({ length: 5_000 }, ask));
  await expect(ask()).rejects.toMatchObject({ code: 'BROKER_TIMEOUT' });
  await recorder.close();
  const codes = (await waiting).map((one) => one.status === 'rejected' && one.reason.code);
  expect(new Set(codes)).toEqual(new Set(['BROKER_UNREACHABLE']));
});
