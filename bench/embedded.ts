/**
 * The embedded broker against the installed Mosquitto, with dynamic security on both. Requires `npm run build`. Linux
 * only.
 *
 * `node bench/run.mjs embedded [row…]`, rows: q0, q0-10, q1, q1-10, connect, retain, read, idle. Without a row all are
 * measured, in less than five minutes. `BENCH_ROUNDS` sets the number of rounds, 3 by default. Figures are medians.
 *
 * Each broker runs alone in a process on one processor, and the load runs in its own process on the other one. The load
 * may limit the rate of a fast broker, so the limits compare operations per second of processor time of the broker
 * process with all its threads. The embedded broker usually runs in a worker thread of the service, whose other parts
 * do not take part in what is measured here. Clients use MQTT 3.1.1 and messages of 64 bytes. Clients that publish
 * and subscribe have an account with a password and a role that allows all topics. Clients that only connect, and idle
 * clients, are members of the anonymous group with the same role, so no password is hashed. Both brokers send any
 * number of QoS 1 messages without acknowledgement. The embedded broker acknowledges a retained message when it is on
 * disk, Mosquitto when it is in memory.
 */

import { loadavg } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { cpuSeconds } from './support/cpu-time.ts';
import { ACCOUNT, type Broker, startEmbedded, startMosquitto } from './support/embedded/brokers.ts';
import { type Load, type Measured, startLoad, type Task } from './support/embedded/load.ts';
import { median } from './support/figures.ts';
import { rssOf } from './support/memory.ts';
import { pin } from './support/pin.ts';

const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 3);
const ROUND_MS = Number(process.env.BENCH_ROUND_MS ?? 2_000);
const RETAINED = 99_900;
const IDLE_CLIENTS = 5_000;
const WARM_UP_CLIENTS = 1_000;
/** Closed connections are gone then, and so are the pages that a garbage collection has freed. */
const SETTLE_MS = 5_000;
const IDLE_MS = 10_000;
const MAX_IDLE_KB = 6;
const MAX_IDLE_PERCENT = 0.5;
const LOADING = 1;

interface Row {
  readonly title: string;
  /** Minimum ratio to Mosquitto. `null`: no limit. */
  readonly minRatio: number | null;
  readonly task: (broker: Broker) => Task;
}

const publish =
  (qos: 0 | 1, subscribers: number) =>
  ({ pid, port }: Broker): Task => ({
    kind: 'PUBLISH',
    pid,
    port,
    account: ACCOUNT,
    qos,
    subscribers,
    milliseconds: ROUND_MS,
  });
const retained =
  (kind: 'RETAIN' | 'READ_RETAINED') =>
  ({ pid, port }: Broker): Task => ({ kind, pid, port, account: ACCOUNT, messages: RETAINED });

const ROWS: Readonly<Record<string, Row>> = {
  q0: { title: 'QoS 0, one to one', minRatio: 0.6, task: publish(0, 1) },
  'q0-10': { title: 'QoS 0, one to ten', minRatio: 0.6, task: publish(0, 10) },
  q1: { title: 'QoS 1, one to one', minRatio: 0.5, task: publish(1, 1) },
  'q1-10': { title: 'QoS 1, one to ten', minRatio: 0.5, task: publish(1, 10) },
  connect: {
    title: 'CONNECT, DISCONNECT',
    minRatio: 0.3,
    task: ({ pid, port }) => ({ kind: 'CONNECT', pid, port, milliseconds: ROUND_MS }),
  },
  retain: { title: 'retained, stored, QoS 1', minRatio: null, task: retained('RETAIN') },
  read: { title: 'retained, read at #', minRatio: 0.4, task: retained('READ_RETAINED') },
};

const perSecond = ({ count, seconds }: Measured): number => count / seconds;
const perCpuSecond = (measured: Measured): number => measured.count / measured.cpuSeconds;
const figures = (rounds: readonly Measured[]): string =>
  `${median(rounds.map(perSecond)).toFixed(0)}, ${median(rounds.map(perCpuSecond)).toFixed(0)}`.padStart(22);

const names = process.argv.slice(2);
const all = [...Object.keys(ROWS), 'idle'];
for (const name of names) if (!all.includes(name)) throw new Error(`${name} is not one of ${all.join(', ')}`);
const wanted = (name: string) => names.length === 0 || names.includes(name);
const results: { readonly isGood: boolean; readonly text: string }[] = [];
const bar = (isGood: boolean, text: string) => void results.push({ isGood, text });

console.log(`load ${loadavg()[0]?.toFixed(1)}; medians of ${ROUNDS} rounds`);
console.log(
  `${''.padEnd(26)}${'embedded /s, /CPU s'.padStart(22)}${'Mosquitto /s, /CPU s'.padStart(22)}   ratio /CPU s`,
);
if (all.some((name) => name !== 'idle' && wanted(name))) await withBrokers(rows);
if (wanted('idle')) await withBrokers(idle);
for (const { isGood, text } of results) console.log(`  ${isGood ? 'ok  ' : 'FAIL'} ${text}`);
if (!results.every(({ isGood }) => isGood)) process.exitCode = 1;

interface Contenders {
  readonly embedded: Broker;
  readonly mosquitto: Broker;
  readonly load: Load;
}

async function withBrokers(work: (contenders: Contenders) => Promise<void>): Promise<void> {
  const load = startLoad();
  pin(load.pid, LOADING);
  const brokers: Broker[] = [];
  try {
    const embedded = await startEmbedded();
    brokers.push(embedded);
    const mosquitto = await startMosquitto();
    brokers.push(mosquitto);
    await work({ embedded, mosquitto, load });
  } finally {
    load.close();
    for (const broker of brokers) await broker.close();
  }
}

async function rows({ embedded, mosquitto, load }: Contenders): Promise<void> {
  const { retain } = ROWS;
  if (wanted('read') && !wanted('retain') && retain)
    for (const broker of [embedded, mosquitto]) await load.run(retain.task(broker));
  for (const [name, { title, minRatio, task }] of Object.entries(ROWS)) {
    if (!wanted(name)) continue;
    const ours: Measured[] = [];
    const theirs: Measured[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      ours.push(await load.run(task(embedded)));
      theirs.push(await load.run(task(mosquitto)));
    }
    const ratio = median(ours.map((one, round) => perCpuSecond(one) / perCpuSecond(theirs[round] as Measured)));
    console.log(`${title.padEnd(26)}${figures(ours)}${figures(theirs)}${ratio.toFixed(2).padStart(16)}`);
    if (minRatio !== null) bar(ratio >= minRatio, `${title}: ${ratio.toFixed(2)} of Mosquitto (at least ${minRatio})`);
  }
}

/**
 * Earlier clients have loaded the code, so the difference in memory is that of the connections. Garbage is collected
 * before: V8 does it when an idle broker allocates memory again, and until then it is more than the connections need.
 */
async function idle({ embedded, mosquitto, load }: Contenders): Promise<void> {
  const brokers = [embedded, mosquitto];
  for (const { pid, port } of brokers) await load.run({ kind: 'IDLE', pid, port, clients: WARM_UP_CLIENTS });
  await load.run({ kind: 'CLOSE_IDLE', pid: embedded.pid });
  const before = await settledMemory(brokers);
  for (const { pid, port } of brokers) await load.run({ kind: 'IDLE', pid, port, clients: IDLE_CLIENTS });
  // Before garbage is collected, because V8 works for seconds after a forced collection.
  const cpu = brokers.map(({ pid }) => cpuSeconds(pid));
  await delay(IDLE_MS);
  const percent = brokers.map(({ pid }, n) => ((cpuSeconds(pid) - (cpu[n] ?? 0)) / IDLE_MS) * 100_000);
  const after = await settledMemory(brokers);
  const kilobytes = brokers.map((_, n) => (((after[n] ?? 0) - (before[n] ?? 0)) * 1_024) / IDLE_CLIENTS);
  const text = (n: number) => `${kilobytes[n]?.toFixed(1)} kB, ${percent[n]?.toFixed(2)} %`.padStart(22);
  console.log(`${`${IDLE_CLIENTS} idle connections`.padEnd(26)}${text(0)}${text(1)}   (kB each, % of a processor)`);
  bar(
    (kilobytes[0] ?? 0) <= MAX_IDLE_KB,
    `${kilobytes[0]?.toFixed(1)} kB per idle connection (at most ${MAX_IDLE_KB})`,
  );
  bar(
    (percent[0] ?? 0) <= MAX_IDLE_PERCENT,
    `${percent[0]?.toFixed(2)} % of a processor for ${IDLE_CLIENTS} idle connections (at most ${MAX_IDLE_PERCENT})`,
  );
}

async function settledMemory(brokers: readonly Broker[]): Promise<number[]> {
  await delay(SETTLE_MS);
  for (const broker of brokers) await broker.collectGarbage();
  await delay(SETTLE_MS);
  return brokers.map(({ pid }) => rssOf(pid));
}
