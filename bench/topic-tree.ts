/**
 * Compares the topic recorder with mqtt.js, which subscribes to `#` and only counts messages. Both receive a million
 * distinct topics at the full rate of Mosquitto, in two shapes: one level with a million children, and six levels with
 * shared parents. Requires `mosquitto`. Linux only.
 *
 * Each contender has its own Mosquitto with default settings. The contenders receive the same messages in turns: first
 * each topic once, which the recorder must add, then known topics in another order. They run on one processor, the
 * brokers and the load on the other one. A broker drops QoS 0 messages for a slow reader. The result is therefore the
 * received messages per second and per second of processor time, and their share of the published messages. A ratio is
 * the median of the ratios of the rounds.
 *
 * Then it measures the memory of the million topics with and without previews of payloads, as the recorder and as the
 * system counts it, and the duration of pages, searches and levels.
 *
 * `topic-tree [topics]`, 1,000,000 by default.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { connectAsync } from 'mqtt';
import type { LevelPage, RecorderStatus, TopicPage } from '../src/data-plane/topic-tree/model/topic-recorder.ts';
import { check } from './support/bars.ts';
import { cpuSeconds } from './support/cpu-time.ts';
import { median } from './support/figures.ts';
import { rssOf } from './support/memory.ts';
import { startMosquitto } from './support/mosquitto.ts';
import { pin } from './support/pin.ts';
import { numberAt, startTopicLoad, type TopicLoad, type TopicShape, topicOf } from './support/topic-load.ts';
import { startHandler, startRecorder, type TopicQuestion, type TopicReader } from './support/topic-readers.ts';

/** Numbers of processors. */
const READING = 0;
const LOADING = 1;
const TOPICS = Number(process.argv[2] ?? 1_000_000);
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 9);
const FILL_ROUNDS = 10;
const ROUND_MESSAGES = 200_000;
const PUBLISHERS = 2;
const PAYLOAD_BYTES = 20;
const PREVIEW_BYTES = 100;
const ASKED = 25;
const MIN_RATIO = 0.8;
const MAX_BYTES_PER_TOPIC = 350;

/** The default limit of Mosquitto for messages that wait for a QoS 0 reader. */
const AS_IT_COMES = ['max_queued_messages 1000'];

interface Contender {
  readonly name: string;
  readonly port: number;
  readonly reader: TopicReader;
  /** Resolves when all previous messages have arrived, with the number of messages that `mark` itself sent. */
  mark(): Promise<number>;
}

interface Round {
  readonly perSecond: number;
  readonly perCpuSecond: number;
  readonly share: number;
}

for (const shape of ['WIDE', 'DEEP'] as const) await withParts((parts) => compare(shape, parts));
for (const shape of ['WIDE', 'DEEP'] as const) await withParts((parts) => previews(shape, parts));

interface Parts {
  readonly load: TopicLoad;
  contender(name: string, start: (port: number) => Promise<TopicReader>): Promise<Contender>;
}

async function withParts(measure: (parts: Parts) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'brokergraph-topics-'));
  const closers: (() => unknown)[] = [() => rmSync(folder, { recursive: true, force: true })];
  const started = <T extends { close(): unknown }>(part: T): T => {
    closers.push(() => part.close());
    return part;
  };
  try {
    const load = started(startTopicLoad(PUBLISHERS));
    for (const pid of load.pids) pin(pid, LOADING);
    await measure({
      load,
      contender: async (name, start) => {
        const { port, pid } = started(await startMosquitto(mkdtempSync(join(folder, 'broker-')), AS_IT_COMES));
        pin(pid, LOADING);
        const reader = started(await start(port));
        pin(reader.pid, READING);
        const marker = await connectAsync(`mqtt://127.0.0.1:${port}`, { clientId: 'bench-marker' });
        closers.push(() => marker.endAsync(true));
        let marks = 0;
        const mark = async () => {
          const topic = `mark/${marks++}`;
          let sent = 0;
          for (let turn = 0; !(await reader.hasSeen(topic)); turn += 1) {
            // Repeated, because the broker may drop it like any other message.
            if (turn % 20 === 0) {
              await marker.publishAsync(topic, '');
              sent += 1;
            }
            await delay(5);
          }
          return sent;
        };
        return { name, port, reader, mark };
      },
    });
  } finally {
    for (let closer = closers.pop(); closer; closer = closers.pop()) await closer();
  }
}

async function compare(shape: TopicShape, { load, contender }: Parts): Promise<void> {
  console.log(`\n${TOPICS} topics like ${topicOf(shape, TOPICS / 2)}, load ${loadavg()[0]?.toFixed(1)}`);
  const recorder = await contender('the recorder', (port) => startRecorder(port, 0));
  const handler = await contender('mqtt.js', startHandler);
  const both = [recorder, handler];
  // A round without measurement, in which V8 compiles the code.
  for (const each of both) await round(load, each, 'WARM_UP', 0, 50_000, 50_000);
  await recorder.reader.tidy();
  const before = { count: (await statusOf(recorder)).published.count, rss: rssOf(recorder.reader.pid) };
  const bytesBefore = (await statusOf(recorder)).memoryBytes;

  const fill = await inTurns(load, both, shape, FILL_ROUNDS, TOPICS / FILL_ROUNDS);
  report('each topic for the first time', both, fill, null);
  await complete(load, recorder, shape, PAYLOAD_BYTES);
  await recorder.reader.tidy();
  const status = await statusOf(recorder);
  const added = status.published.count - before.count;
  perTopic('without payloads, as the recorder counts', (status.memoryBytes - bytesBefore) / added, MAX_BYTES_PER_TOPIC);
  perTopic('as resident memory grew', ((rssOf(recorder.reader.pid) - before.rss) * 2 ** 20) / added, null);

  report('topics that are known', both, await inTurns(load, both, shape, ROUNDS, ROUND_MESSAGES), MIN_RATIO);
  await questions(recorder, shape);
}

/** Measures memory with previews of payloads. */
async function previews(shape: TopicShape, { load, contender }: Parts): Promise<void> {
  const recorder = await contender('the recorder', (port) => startRecorder(port, PREVIEW_BYTES));
  await round(load, recorder, 'WARM_UP', 0, 50_000, 50_000);
  await recorder.reader.tidy();
  const before = { ...(await statusOf(recorder)), rss: rssOf(recorder.reader.pid) };
  await round(load, recorder, shape, 0, TOPICS, TOPICS, PREVIEW_BYTES);
  await complete(load, recorder, shape, PREVIEW_BYTES);
  await recorder.reader.tidy();
  const status = await statusOf(recorder);
  const added = status.published.count - before.published.count;
  console.log(`\n${shape}, with ${PREVIEW_BYTES} bytes of each payload`);
  perTopic('as the recorder counts', (status.memoryBytes - before.memoryBytes) / added, null);
  perTopic('as resident memory grew', ((rssOf(recorder.reader.pid) - before.rss) * 2 ** 20) / added, null);
}

/** Publishes all topics again until the recorder has the topics that the broker dropped. */
async function complete(load: TopicLoad, contender: Contender, shape: TopicShape, payloadBytes: number): Promise<void> {
  const { port, reader, mark } = contender;
  const prefix = topicOf(shape, 0).split('/')[0];
  const count: TopicQuestion = { type: 'find', request: { kind: 'PUBLISHED', prefix, first: 0, withCount: true } };
  for (let turn = 0; turn < 5; turn += 1) {
    const { totalCount } = (await reader.ask(count, 1)).answer as TopicPage;
    const missing = TOPICS - (totalCount ?? 0);
    if (missing === 0) return;
    console.log(`  ${missing} topics were lost: all are published again at a lower rate`);
    await load.publish({ port, shape, topics: TOPICS, from: 0, messages: TOPICS, payloadBytes, perSecond: 20_000 });
    await mark();
  }
  throw new Error('Topics are lost even at a low rate');
}

async function statusOf({ reader }: Contender): Promise<RecorderStatus> {
  return (await reader.ask({ type: 'status', request: {} }, 1)).answer as RecorderStatus;
}

/** Returns the rounds of each contender. */
async function inTurns(
  load: TopicLoad,
  contenders: readonly Contender[],
  shape: TopicShape,
  rounds: number,
  messages: number,
): Promise<Round[][]> {
  const figures: Round[][] = contenders.map(() => []);
  for (let turn = 0; turn < rounds; turn += 1) {
    for (const [index, contender] of contenders.entries()) {
      figures[index]?.push(await round(load, contender, shape, turn * messages, TOPICS, messages));
    }
  }
  return figures;
}

async function round(
  load: TopicLoad,
  { port, reader, mark }: Contender,
  shape: TopicShape,
  from: number,
  topics: number,
  messages: number,
  payloadBytes = PAYLOAD_BYTES,
): Promise<Round> {
  const before = await reader.count();
  const cpu = cpuSeconds(reader.pid);
  const started = performance.now();
  await load.publish({ port, shape, topics, from, messages, payloadBytes });
  const marks = await mark();
  const seconds = (performance.now() - started) / 1_000;
  const came = (await reader.count()) - before - marks;
  return { perSecond: came / seconds, perCpuSecond: came / (cpuSeconds(reader.pid) - cpu), share: came / messages };
}

/** `least`: minimum ratio to mqtt.js; `null` for new topics, which the recorder adds and mqtt.js only counts. */
function report(
  title: string,
  contenders: readonly Contender[],
  figures: readonly Round[][],
  least: number | null,
): void {
  console.log(`  ${title}`);
  for (const [index, { name }] of contenders.entries()) {
    const of = (rate: keyof Round) => median((figures[index] ?? []).map((each) => each[rate]));
    const shares = (figures[index] ?? []).map(({ share }) => share);
    const lowest = Math.min(...shares);
    console.log(
      `    ${name.padEnd(14)} ${of('perSecond').toFixed(0).padStart(7)} messages/s, ${of('perCpuSecond').toFixed(0).padStart(7)} per CPU second (${(1e6 / of('perCpuSecond')).toFixed(1)} µs each); received: ${percent(of('share'))}, at least ${percent(lowest)}`,
    );
  }
  const [own = [], others = []] = figures;
  const ratioOf = (rate: keyof Round) => median(own.map((each, i) => each[rate] / (others[i]?.[rate] ?? Number.NaN)));
  for (const [rate, unit] of [
    ['perSecond', 'second'],
    ['perCpuSecond', 'CPU second'],
  ] as const) {
    const ratio = ratioOf(rate);
    const text = `${ratio.toFixed(2)} times mqtt.js per ${unit}`;
    if (least === null) console.log(`       ${text}`);
    else check(`${text} (at least ${least})`, ratio >= least);
  }
}

function perTopic(text: string, bytes: number, most: number | null): void {
  const line = `${text}: ${bytes.toFixed(0)} bytes per topic`;
  if (most === null) console.log(`       ${line}`);
  else check(`${line} (at most ${most})`, bytes <= most);
}

async function questions({ reader }: Contender, shape: TopicShape): Promise<void> {
  const kind = 'PUBLISHED';
  const of = (number: number) => topicOf(shape, number);
  // A level with hundreds or thousands of topics.
  const parent = of(0).split('/').slice(0, -2).join('/');
  const wide = shape === 'WIDE' ? 'fleet' : (of(0).split('/')[0] as string);
  const asked: readonly (readonly [string, TopicQuestion])[] = [
    ['a page of 100 at the start', { type: 'find', request: { kind, first: 100 } }],
    ['  with the count of all', { type: 'find', request: { kind, first: 100, withCount: true } }],
    ['after the middle', { type: 'find', request: { kind, first: 100, after: of(Math.floor(TOPICS / 2)) } }],
    ['after 99.9 %', { type: 'find', request: { kind, first: 100, after: of(Math.floor(TOPICS * 0.999)) } }],
    ['with half left out before it', { type: 'find', request: { kind, first: 100, offset: TOPICS / 2 } }],
    ['with all but 100 left out', { type: 'find', request: { kind, first: 100, offset: TOPICS - 100 } }],
    ['10,000 from the middle', { type: 'find', request: { kind, first: 10_000, offset: TOPICS / 2 } }],
    ['below a prefix, counted', { type: 'find', request: { kind, first: 100, prefix: parent, withCount: true } }],
    ['search, the first 100 of many', { type: 'find', request: { kind, first: 100, search: '-00' } }],
    ['search, many, counted', { type: 'find', request: { kind, first: 100, search: '-00', withCount: true } }],
    [
      'search, over two levels, counted',
      { type: 'find', request: { kind, first: 100, search: '9/SEN', withCount: true } },
    ],
    ['search, nothing', { type: 'find', request: { kind, first: 100, search: 'nowhere' } }],
    [
      'filter with +, counted',
      { type: 'find', request: { kind, first: 100, filter: filterOf(shape), withCount: true } },
    ],
    ['first levels', { type: 'levels', request: { kind, of: null, first: 100 } }],
    ['levels below the widest', { type: 'levels', request: { kind, of: wide, first: 100 } }],
    ['one topic', { type: 'topic', request: { kind, topic: of(numberAt(TOPICS / 3, TOPICS)) } }],
  ];
  console.log(`  questions, ${ASKED} times each: median, slowest (ms)`);
  for (const [text, question] of asked) {
    const { milliseconds, answer } = await reader.ask(question, ASKED);
    const [shown, slowest] = [median(milliseconds), Math.max(...milliseconds)];
    console.log(
      `    ${text.padEnd(34)} ${shown.toFixed(2).padStart(8)} ${slowest.toFixed(2).padStart(8)}   ${found(answer)}`,
    );
  }
}

function filterOf(shape: TopicShape): string {
  return shape === 'WIDE' ? '+/device-0000777/+/temp' : '+/+/area-07/+/cell-011/rpm';
}

function found(answer: unknown): string {
  const { topics, levels, totalCount } = (answer ?? {}) as Partial<TopicPage & LevelPage>;
  const list = topics ?? levels;
  if (!list) return answer === null ? 'nothing' : '';
  return `${list.length}${typeof totalCount === 'number' ? ` of ${totalCount}` : ''}`;
}

function percent(share: number): string {
  return `${(share * 100).toFixed(2)} %`;
}
