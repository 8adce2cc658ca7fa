/**
 * A million retained messages in the embedded broker, and 100,000 against the installed Mosquitto, with dynamic
 * security on both. Requires `npm run build`. Linux only.
 *
 * `node bench/run.mjs retained`, about three minutes. Clients use MQTT 3.1.1, messages of 64 bytes and topics of 18
 * characters. They are stored at QoS 1 and read at QoS 0 with the filter `#`. The embedded broker acknowledges a
 * message when it is on disk, Mosquitto when it is in memory. Each broker runs in a process on one processor, and the
 * load in its own process on the other one. Processor time is that of the broker process with all its threads.
 */

import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { ACCOUNT, type Broker, startEmbedded, startMosquitto } from './support/embedded/brokers.ts';
import { type Measured, startLoad } from './support/embedded/load.ts';
import { median } from './support/figures.ts';
import { rssOf } from './support/memory.ts';
import { pin } from './support/pin.ts';

const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 3);
const FEW = 100_000;
const MANY = 1_000_000;
/** V8 returns unused memory some seconds after the last activity. */
const SETTLE_MS = 12_000;
const LOADING = 1;
const MAX_CPU_RATIO = 2.5;
const MAX_TOPIC_BYTES = 300;

const folder = mkdtempSync(join(tmpdir(), 'brokergraph-retained-'));
const load = startLoad();
pin(load.pid, LOADING);
const run = (kind: 'RETAIN' | 'READ_RETAINED', messages: number, { pid, port }: Broker) =>
  load.run({ kind, pid, port, account: ACCOUNT, messages });
const results: { readonly isGood: boolean; readonly text: string }[] = [];
const bar = (isGood: boolean, text: string) => void results.push({ isGood, text });

const cpuMicroseconds = ({ cpuSeconds, count }: Measured): number => (cpuSeconds / count) * 1_000_000;
const print = (title: string, measured: Measured): void => {
  const rate = `${(measured.count / measured.seconds).toFixed(0)}/s`.padStart(11);
  const cost = `${cpuMicroseconds(measured).toFixed(1)} µs`.padStart(10);
  console.log(`${title.padEnd(38)}${`${measured.seconds.toFixed(2)} s`.padStart(9)}${rate}${cost} of CPU each`);
};

const brokers: Broker[] = [];
try {
  console.log(`load ${loadavg()[0]?.toFixed(1)}`);
  const embedded = await startEmbedded(folder);
  brokers.push(embedded);
  const mosquitto = await startMosquitto();
  brokers.push(mosquitto);
  await delay(SETTLE_MS);
  const before = rssOf(embedded.pid);
  await readFew(embedded, mosquitto);
  print(`embedded: ${MANY} stored`, await run('RETAIN', MANY, embedded));
  await delay(SETTLE_MS);
  const bytes = ((rssOf(embedded.pid) - before) * 1_048_576) / MANY;
  console.log(`embedded: ${statSync(join(folder, 'broker.sqlite')).size / MANY} bytes on disk each`);
  bar(bytes <= MAX_TOPIC_BYTES, `${bytes.toFixed(0)} bytes of memory for each topic (at most ${MAX_TOPIC_BYTES})`);
  print(`embedded: ${MANY} read at #`, await run('READ_RETAINED', MANY, embedded));
  console.log(`embedded: ${rssOf(embedded.pid).toFixed(0)} MB, ${before.toFixed(0)} MB when empty`);
  await embedded.close();
  brokers.shift();
  const start = performance.now();
  brokers.unshift(await startEmbedded(folder));
  console.log(`embedded: starts with ${MANY} in ${((performance.now() - start) / 1_000).toFixed(2)} s`);
} finally {
  load.close();
  for (const broker of brokers) await broker.close();
  rmSync(folder, { recursive: true, force: true });
}
for (const { isGood, text } of results) console.log(`  ${isGood ? 'ok  ' : 'FAIL'} ${text}`);
if (!results.every(({ isGood }) => isGood)) process.exitCode = 1;

async function readFew(embedded: Broker, mosquitto: Broker): Promise<void> {
  for (const broker of [embedded, mosquitto]) print(`${broker.name}: ${FEW} stored`, await run('RETAIN', FEW, broker));
  const ratios: number[] = [];
  const walls: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const ours = await run('READ_RETAINED', FEW, embedded);
    const theirs = await run('READ_RETAINED', FEW, mosquitto);
    print(`embedded: ${FEW} read at #`, ours);
    print(`Mosquitto: ${FEW} read at #`, theirs);
    ratios.push(cpuMicroseconds(ours) / cpuMicroseconds(theirs));
    walls.push(ours.seconds / theirs.seconds);
  }
  const ratio = median(ratios);
  const text = `${ratio.toFixed(2)} times the CPU of Mosquitto to read at # (at most ${MAX_CPU_RATIO})`;
  bar(ratio <= MAX_CPU_RATIO, `${text}, ${median(walls).toFixed(2)} times its time`);
}
