import { expect, onTestFailed, test } from 'vitest';
import { type StorePlace, StreamThread } from '../../../src/data-plane/streams/hosting/stream-thread.ts';
import { DEFAULT_DEFINITION } from '../../../src/data-plane/streams/model/stream-definition.ts';
import { TopicThread } from '../../../src/data-plane/topic-tree/hosting/topic-thread.ts';
import { DEFAULT_TOPIC_SETTINGS } from '../../../src/data-plane/topic-tree/model/topic-settings.ts';
import { temporaryFolder } from '../../support/database.ts';
import { usePostgres } from '../../support/postgres.ts';
import { programUrl } from '../../support/programs.ts';
import { sharedDatabase } from '../../support/service.ts';
import { onTestFinished } from '../../support/shared.ts';
import { PoisonBroker } from './poison-broker.ts';
import { ordinaryPayload, POISONS } from './poison-messages.ts';

/** Each poison, with an ordinary message behind it, to streams and to the recorder of topics. */

const postgres = usePostgres();
const TOPIC = 'poison/ordinary';
const ORDINARY = Buffer.from(TOPIC);

/** A log, and its lines. */
function watched() {
  const lines: string[] = [];
  const line = (fields: object, text: string) => void lines.push(`${text} ${JSON.stringify(fields)}`);
  return { log: { info: line, warn: line, error: line }, lines };
}

test.each(['SQLite', 'PostgreSQL'])('a stream stores and publishes what follows each poison, in %s', async (engine) => {
  if (engine === 'PostgreSQL' && !postgres.available) return;
  const databaseUrl = engine === 'SQLite' ? null : await sharedDatabase(postgres);
  const folder = temporaryFolder();
  const place: StorePlace = databaseUrl === null ? { folder } : { databaseUrl, formerFolder: folder };
  const broker = await PoisonBroker.start();
  const arrived: number[] = [];
  let look = () => {};
  broker.onPublished = ({ topic, payload }) => {
    // Payloads of poison that are valid have smaller numbers, or are no numbers.
    if (topic === 'out' && /^\{"value":\d{1,3}\}$/.test(payload)) arrived.push(JSON.parse(payload).value);
    look();
  };
  const { log, lines } = watched();
  const workerUrl = programUrl('src/data-plane/streams/hosting/stream-worker.ts');
  const threads = new StreamThread({ place, maxBytes: 1e9, workerUrl, log });
  onTestFinished(() => threads.close());
  const stream = threads.openEngine('b1', { id: 'b1', url: broker.url, timeoutMs: 30_000 });
  const query = { select: [{ source: '[value]', target: '[value]' }], where: [] };
  const definition = { ...DEFAULT_DEFINITION, name: 's', sourceTopic: '#', targetTopic: 'out', persist: true, query };
  await stream.put('str_1', definition);
  await broker.subscribed();
  let current = '';
  onTestFailed(() => console.log(`The last poison was ${current}`));
  const closed: string[] = [];
  for (const [number, poison] of POISONS.entries()) {
    current = poison.what;
    if (!(await broker.send(poison))) closed.push(current);
    await broker.subscribed();
    await broker.send({ topic: ORDINARY, payload: ordinaryPayload(number) });
    await new Promise<void>((resolve) => {
      look = () => arrived.includes(number) && resolve();
      look();
    });
  }
  expect({ closed, lines }).toEqual({ closed: [], lines: [] });
  const report = (await stream.report(['str_1'])).get('str_1');
  expect(report).toMatchObject({ state: 'RUNNING', storage: { state: 'STORING' } });
  const { received = 0, published = 0, failed = 0, filtered = 0 } = report?.counters ?? {};
  // Streams do not receive retained messages.
  const sent = 2 * POISONS.length - POISONS.filter(({ retain }) => retain).length;
  expect([received, published + failed + filtered]).toEqual([sent, sent]);
});

test('the topics are recorded that follow each poison', async () => {
  const broker = await PoisonBroker.start();
  const { log, lines } = watched();
  const workerUrl = programUrl('src/data-plane/topic-tree/hosting/topic-worker.ts');
  const thread = new TopicThread({ workerUrl, log });
  onTestFinished(() => thread.close());
  const recorder = thread.openRecorder({
    durations: {},
    local: { id: 'b1', url: broker.url, timeoutMs: 30_000 },
    clientId: 'topics',
    maxBytes: 64 * 1_048_576,
  });
  await recorder.apply({ ...DEFAULT_TOPIC_SETTINGS, isAlwaysOn: true });
  await broker.subscribed();
  const closed: string[] = [];
  for (const [number, poison] of POISONS.entries()) {
    if (!(await broker.send(poison))) closed.push(poison.what);
    await broker.subscribed();
    await broker.send({ topic: ORDINARY, payload: ordinaryPayload(number) });
  }
  const ordinary = () => recorder.query('topic', { kind: 'PUBLISHED', topic: TOPIC });
  await expect.poll(ordinary).toMatchObject({ messages: POISONS.length });
  const { topics } = await recorder.query('find', { kind: 'PUBLISHED', first: 100 });
  expect(topics.length).toBeGreaterThan(10);
  expect({ closed, lines }).toEqual({ closed: [], lines: [] });
});
