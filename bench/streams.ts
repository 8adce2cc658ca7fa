/**
 * The first part compares one processing stream of the product (three values, one condition) with mqtt.js that forwards
 * messages, mqtt.js that also parses, selects and formats JSON, and Node-RED. All use the same Mosquitto at QoS 1. The
 * second part measures the rate at which a stream stores messages, and replays them at the speed `fastest`. Requires
 * `mosquitto`. Linux only.
 *
 * The contenders receive load in turns, with a fixed number of messages in flight. They run on one processor, the
 * broker and the load on the other one. Broker and load may limit the rate of fast contenders, so the result is
 * messages per second of processor time, see measure.ts; for the product, of the whole service. A ratio is the median
 * of the ratios of the rounds. The first part runs with the default settings of Mosquitto, which allow 20 QoS 1
 * messages in flight for each connection (mqtt.js ignores that), and with the higher limit of docs/streams.md.
 *
 * `streams [processing|storing]` runs only one part.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { check } from './support/bars.ts';
import { cpuSeconds } from './support/cpu-time.ts';
import { median } from './support/figures.ts';
import { startMosquitto } from './support/mosquitto.ts';
import { startNodeRed } from './support/node-red.ts';
import { pin } from './support/pin.ts';
import { startProduct } from './support/product.ts';
import { type ProductStreams, startProductStreams } from './support/product-streams.ts';
import { startRepublish } from './support/republish-peer.ts';
import { type StreamLoad, startStreamLoad } from './support/stream-load.ts';

/** Numbers of processors. */
const WORKING = 0;
const LOADING = 1;
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 9);
const ROUND_MS = 2_000;
const WARM_UP_ROUNDS = 2;
const STORED = 200_000;
const REPLAYS = 5;
/** Lines of mosquitto.conf. */
const SETTINGS = { 'as it comes': [], 'max_inflight_messages 1000': ['max_inflight_messages 1000'] };
const MIN_REPLAY_PER_SECOND = 20_000;

const STREAM = 'a stream';
const RAW = 'mqtt.js';
const RAW_JSON = 'mqtt.js with JSON';
const NODE_RED = 'Node-RED';
const MIN_RATIOS = { [RAW]: 0.8, [RAW_JSON]: null, [NODE_RED]: 3 };

const QUERY = {
  select: [
    { source: '[device]', target: '[device]' },
    { source: '[values][temperature]', target: '[temperature]' },
    { source: '[values][pressure]', target: '[pressure]' },
  ],
  where: [{ operator: '>', left: '[values][temperature]', right: -40 }],
};
const PICKED = /^\{"device":"pump-\d+","temperature":[\d.]+,"pressure":[\d.]+\}$/;
const UNCHANGED = /^\{"device":"pump-\d+","hall"/;

interface Contender {
  readonly pid: number;
  readonly source: string;
  readonly target: string;
  readonly output: RegExp;
}

interface Round {
  readonly perSecond: number;
  readonly perCpuSecond: number;
}

const [only] = process.argv.slice(2);
if (only !== 'storing') for (const [name, lines] of Object.entries(SETTINGS)) await withBroker(name, lines, processing);
if (only !== 'processing') await withBroker('as it comes', SETTINGS['as it comes'], storing);

interface Parts {
  /** The settings of Mosquitto, for the output. */
  readonly setting: string;
  readonly port: number;
  /** A folder for files. */
  readonly folder: string;
  readonly load: StreamLoad;
  readonly productPid: number;
  readonly streams: ProductStreams;
  /** Registers a part that is closed with the others. */
  started<T extends { close(): unknown }>(part: T): T;
}

async function withBroker(
  setting: string,
  lines: readonly string[],
  measure: (parts: Parts) => Promise<void>,
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'brokergraph-streams-'));
  const closers: (() => unknown)[] = [() => rmSync(folder, { recursive: true, force: true })];
  const started = <T extends { close(): unknown }>(part: T): T => {
    closers.push(part.close);
    return part;
  };
  try {
    const { port, pid } = started(await startMosquitto(folder, lines));
    const load = started(await startStreamLoad(port));
    for (const each of [pid, load.pid]) pin(each, LOADING);
    const product = started(await startProduct(join(folder, 'data')));
    const streams = await startProductStreams(product, `mqtt://127.0.0.1:${port}`);
    await measure({ setting, port, folder, load, productPid: product.process.pid ?? 0, streams, started });
  } finally {
    for (let closer = closers.pop(); closer; closer = closers.pop()) await closer();
  }
}

async function processing({ setting, port, folder, load, productPid, streams, started }: Parts): Promise<void> {
  await streams.create({ name: 'picked', sourceTopic: 'in/stream', targetTopic: 'out/stream', query: QUERY });
  const topics = (name: string) => ({ source: `in/${name}`, target: `out/${name}` });
  const peers: Record<string, Contender> = {
    [STREAM]: { pid: productPid, ...topics('stream'), output: PICKED },
    [RAW]: {
      pid: started(await startRepublish(port, 'in/raw', 'out/raw', false)).pid,
      ...topics('raw'),
      output: UNCHANGED,
    },
    [RAW_JSON]: {
      pid: started(await startRepublish(port, 'in/json', 'out/json', true)).pid,
      ...topics('json'),
      output: PICKED,
    },
    [NODE_RED]: {
      pid: started(startNodeRed(folder, port, 'in/red', 'out/red')).pid,
      ...topics('red'),
      output: PICKED,
    },
  };
  const contenders = Object.entries(peers);
  for (const [name, { pid, output, ...topics }] of contenders) {
    const { last } = await load.probe(topics);
    if (!output.test(last)) throw new Error(`${name} publishes an unexpected payload: ${last}`);
    // After the probe, because all threads of the contender run then.
    pin(pid, WORKING);
  }
  const figures = new Map<string, Round[]>(contenders.map(([name]) => [name, []]));
  for (let round = -WARM_UP_ROUNDS; round < ROUNDS; round += 1) {
    for (const [name, { pid, source, target }] of contenders) {
      const before = cpuSeconds(pid);
      const { messages, seconds } = await load.roundTrip({ source, target, milliseconds: ROUND_MS });
      const perCpuSecond = messages / (cpuSeconds(pid) - before);
      if (round >= 0) figures.get(name)?.push({ perSecond: messages / seconds, perCpuSecond });
    }
  }
  console.log(
    `one stream on Mosquitto (${setting}), QoS 1 in and out, ${ROUNDS} rounds of ${ROUND_MS} ms, load ${loadavg()[0]?.toFixed(1)}`,
  );
  for (const [name, rounds] of figures) {
    const perSecond = median(rounds.map((round) => round.perSecond))
      .toFixed(0)
      .padStart(7);
    const perCpuSecond = median(rounds.map((round) => round.perCpuSecond))
      .toFixed(0)
      .padStart(7);
    console.log(`  ${name.padEnd(20)} ${perSecond} messages/s, ${perCpuSecond} per CPU second`);
  }
  const own = figures.get(STREAM) ?? [];
  for (const [name, least] of Object.entries(MIN_RATIOS)) {
    const others = figures.get(name) ?? [];
    const ratioOf = (rate: keyof Round) =>
      median(own.map((round, i) => round[rate] / (others[i]?.[rate] ?? Number.NaN)));
    const ratio = ratioOf('perCpuSecond');
    const text = `${ratio.toFixed(2)} times ${name} per CPU second, ${ratioOf('perSecond').toFixed(2)} times per second`;
    if (least === null) console.log(`       ${text}`);
    else check(`${text} (at least ${least} per CPU second)`, ratio >= least);
  }
}

async function storing({ load, productPid, streams }: Parts): Promise<void> {
  await streams.create({ name: 'kept', sourceTopic: 'in/kept', persist: true, targetQos: 1, process: false });
  const before = cpuSeconds(productPid);
  const from = performance.now();
  await load.flood({ source: 'in/kept', messages: STORED });
  while ((await streams.stored('kept')) < STORED) await delay(20);
  const perSecond = STORED / ((performance.now() - from) / 1_000);
  const perCpuSecond = STORED / (cpuSeconds(productPid) - before);
  console.log(`\nstored on disk (segments of SQLite, written ahead, FULL synchronous), ${STORED} messages of QoS 1`);
  console.log(`  ${perSecond.toFixed(0)} messages/s, ${perCpuSecond.toFixed(0)} per CPU second`);

  await streams.create({ name: 'kept0', sourceTopic: 'in/kept0', persist: true, targetQos: 0, process: false });
  await load.flood({ source: 'in/kept0', messages: STORED });
  while ((await streams.stored('kept0')) < STORED) await delay(20);
  for (const [streamName, qos] of [
    ['kept0', 0],
    ['kept', 1],
  ] as const) {
    const rates: number[] = [];
    for (let turn = 0; turn < REPLAYS; turn += 1) {
      const target = `again/${streamName}/${turn}`;
      let replaying: Promise<void> | null = null;
      const { messages, seconds } = await load.count({ target, messages: STORED }, () => {
        replaying = streams.replay({ name: streamName, topic: target, fastest: true });
      });
      await replaying;
      rates.push(messages / seconds);
    }
    const rate = median(rates);
    check(
      `replayed at QoS ${qos}: ${rate.toFixed(0)} messages/s (at least ${MIN_REPLAY_PER_SECOND})`,
      rate >= MIN_REPLAY_PER_SECOND,
    );
  }
}
