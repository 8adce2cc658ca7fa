/**
 * What it costs to share: three embedded brokers that are nodes of one cluster, in both of its modes, against one that is by itself;
 * messages of QoS 1 from a publisher at one node to a subscriber at another one. What a broker by itself does with the compiled worker of
 * another version, whose path BENCH_WORKER names, is measured with them. Needs `redis-server`; Linux only.
 *
 * All run all the time and are given work in turns, by a process each that keeps a window of messages on their way; its latencies are
 * those of one message at a time. Processor time is that of all processes of a contender, Redis included; idle, it is what heartbeats
 * take. Brokers by themselves are threads of this process, as in the product.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { connectAsync, type MqttClient } from 'mqtt';
import { startEmbeddedBroker } from '../src/embedded/embedded-broker.ts';
import type { ClusterOptions } from '../src/embedded/worker-protocol.ts';
import { cpuSeconds } from './support/cpu-time.ts';
import { freePort } from './support/free-port.ts';
import { type StreamLoad, startStreamLoad } from './support/stream-load.ts';

const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 9);
const ROUND_MS = 2_000;
const WARM_UP_ROUNDS = 2;
const IDLE_MS = 10_000;
const TOPIC = 'bench/pump';
const ADMIN = { username: 'admin', password: 'of a benchmark' };
const ALONE = 'one broker';
/** Of one broker by itself, messages per second. */
const MIN_RATIOS = { FULL: 0.1, HP: 0.1 };

interface Contender {
  readonly load: StreamLoad;
  readonly pids: readonly number[];
  readonly publisher: MqttClient;
  readonly subscriber: MqttClient;
}

interface Round {
  readonly perSecond: number;
  readonly perCpuSecond: number;
  readonly latency: number;
}

const folder = mkdtempSync(join(tmpdir(), 'brokergraph-nodes-'));
const closers: (() => unknown)[] = [() => rmSync(folder, { recursive: true, force: true })];
let good = true;
try {
  const redis = await startRedis();
  const contenders = new Map<string, Contender>([[ALONE, await startOne(ALONE)]]);
  const { BENCH_WORKER: other } = process.env;
  if (other) contenders.set(other, await startOne(other, other));
  for (const mode of ['FULL', 'HP'] as const) contenders.set(mode, await startCluster(mode, redis));
  await measure(contenders);
  if (!good) process.exitCode = 1;
} finally {
  for (let closer = closers.pop(); closer; closer = closers.pop()) await closer();
}

async function measure(contenders: ReadonlyMap<string, Contender>): Promise<void> {
  const figures = new Map<string, Round[]>([...contenders.keys()].map((name) => [name, []]));
  for (const { load } of contenders.values()) await load.probe({ source: TOPIC, target: TOPIC });
  for (let round = -WARM_UP_ROUNDS; round < ROUNDS; round += 1) {
    for (const [name, contender] of contenders) {
      const result = await oneRound(contender);
      if (round >= 0) figures.get(name)?.push(result);
    }
  }
  console.log(`QoS 1, ${ROUNDS} rounds of ${ROUND_MS} ms, load ${loadavg()[0]?.toFixed(1)}`);
  const alone = figures.get(ALONE) ?? [];
  for (const [name, rounds] of figures) {
    const show = (rate: keyof Round, digits: number) =>
      median(rounds.map((round) => round[rate]))
        .toFixed(digits)
        .padStart(8);
    const ratio = median(rounds.map(({ perSecond }, index) => perSecond / (alone[index]?.perSecond ?? Number.NaN)));
    console.log(
      `  ${name.padEnd(12)} ${show('perSecond', 0)} messages/s, ${show('perCpuSecond', 0)} per CPU second, ` +
        `${show('latency', 2)} ms to a subscriber, ${ratio.toFixed(2)} times one broker`,
    );
    if (name === 'FULL' || name === 'HP') check(`${name} (at least ${MIN_RATIOS[name]})`, ratio >= MIN_RATIOS[name]);
  }
  for (const [name, { pids }] of contenders) {
    const before = pids.map(cpuSeconds);
    await delay(IDLE_MS);
    const used = pids.reduce((sum, pid, index) => sum + cpuSeconds(pid) - (before[index] ?? 0), 0);
    console.log(`  ${name.padEnd(12)} idle: ${((used / IDLE_MS) * 100_000).toFixed(2)} % of a processor`);
  }
}

async function oneRound({ load, pids, publisher, subscriber }: Contender): Promise<Round> {
  const before = pids.map(cpuSeconds);
  const { messages, seconds } = await load.roundTrip({ source: TOPIC, target: TOPIC, milliseconds: ROUND_MS });
  const used = pids.reduce((sum, pid, index) => sum + cpuSeconds(pid) - (before[index] ?? 0), 0);
  const times: number[] = [];
  for (let sample = 0; sample < 100; sample += 1) {
    const from = performance.now();
    const arrived = new Promise<void>((resolve) => subscriber.once('message', () => resolve()));
    await publisher.publishAsync('bench/one', 'x', { qos: 1 });
    await arrived;
    times.push(performance.now() - from);
  }
  return { perSecond: messages / seconds, perCpuSecond: messages / used, latency: median(times) };
}

/** A thread of this process, which does nothing else while it works. */
async function startOne(name: string, workerPath?: string): Promise<Contender> {
  const { port, pid } = await startBroker(name, workerPath);
  return startContender([port, port], [pid]);
}

async function startCluster(mode: ClusterOptions['mode'], redis: { url: string; pid: number }): Promise<Contender> {
  const start = (nodeId: number) =>
    startBroker(`${mode}${nodeId}`, undefined, {
      clusterId: mode,
      nodeId,
      mode,
      redisUrl: redis.url,
      isSeed: nodeId === 1,
    });
  const first = await start(1);
  const second = await start(2);
  const third = await start(3);
  return startContender([first.port, second.port], [first.pid, second.pid, third.pid, redis.pid]);
}

async function startContender([from, to]: readonly [number, number], pids: readonly number[]): Promise<Contender> {
  const connect = async (port: number, clientId: string) => {
    const client = await connectAsync(`mqtt://127.0.0.1:${port}`, { ...ADMIN, clientId });
    closers.push(() => client.endAsync(true));
    return client;
  };
  const publisher = await connect(from, 'bench-from');
  const subscriber = await connect(to, 'bench-to');
  await subscriber.subscribeAsync('bench/one', { qos: 1 });
  const load = await startStreamLoad(from, to, ADMIN);
  closers.push(() => load.close());
  return { load, pids, publisher, subscriber };
}

/** Benchmarks are run from the root of the project, see run.mjs. */
async function startBroker(
  name: string,
  workerPath = join(process.cwd(), 'dist/embedded/worker.js'),
  cluster?: ClusterOptions,
): Promise<{ readonly port: number; readonly pid: number }> {
  const own = join(folder, name.replaceAll('/', '-'));
  const broker = await startEmbeddedBroker({
    id: name,
    folder: own,
    listeners: [{ number: 1, protocol: 'MQTT', host: '127.0.0.1', port: 0, tls: false, requireCertificate: false }],
    administrator: ADMIN,
    workerUrl: pathToFileURL(workerPath),
    cluster,
    log: { info: () => {}, warn: console.error, error: console.error },
  });
  closers.push(() => broker.close());
  const pid = cluster ? Number(readFileSync(join(own, 'broker.pid'), 'utf8')) : process.pid;
  return { port: broker.listeners[0]?.port ?? 0, pid };
}

async function startRedis(): Promise<{ readonly url: string; readonly pid: number }> {
  const port = await freePort();
  const args = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--dir', folder];
  const server = spawn('redis-server', args, { stdio: ['ignore', 'pipe', 'inherit'] });
  closers.push(() => server.kill());
  for await (const said of server.stdout) if (String(said).includes('Ready to accept')) break;
  return { url: `redis://127.0.0.1:${port}`, pid: server.pid ?? 0 };
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

function check(text: string, isGood: boolean): void {
  console.log(`  ${isGood ? 'ok  ' : 'FAIL'} ${text}`);
  good &&= isGood;
}
