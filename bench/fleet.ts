/**
 * A process with 1,000 brokers that starts, and whose connections are all cut, under hard limits of processor time and
 * memory. Half of the brokers have a stream that stores messages: 2,000 connections. Each broker publishes 16 values
 * below `$SYS` every 10 s. The results are the time until all connections exist, the connections that the brokers have
 * accepted for each one that was needed, processor time, the highest memory, and the slowest response of `/metrics`.
 *
 * `node bench/run.mjs fleet [quarter|full]`: both limits, or one of them in about 3 minutes. Linux only, as root, with
 * `ulimit -n` above 10,000. Run in the folder of another build (`cd <build> && node <this>/bench/dist/bench/fleet.js`),
 * it measures that one. On a machine with other load, compare processor times: the results name how long the main
 * thread waited for a processor, or for its limit.
 */

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { loadavg, setPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { check } from './support/bars.ts';
import { createControlGroup } from './support/cgroup.ts';
import { cpuSeconds, waitedSeconds } from './support/cpu-time.ts';
import { startIdleBrokers } from './support/idle-brokers.ts';
import { rssOf } from './support/memory.ts';
import { type Product, SERVE, startProduct } from './support/product.ts';

const BROKERS = Number(process.env.BENCH_BROKERS ?? 1_000);
const PROJECTS = 10;
const CONNECTIONS = BROKERS * 2;
const MEGABYTES = 1_024;
const POLL_MS = 100;
/** Until connections count as lasting. */
const STABLE_MS = 1_000;
const GIVE_UP_MS = 240_000;
const IDLE_MS = 60_000;
const ADDING_AT_ONCE = 8;
/** Only for adding brokers and streams, which takes longer than the default on a machine with other load. */
const PREPARATION_TIMEOUT_MS = 60_000;
/** Above other programs, as a control group. */
const PRIORITY = -10;
const MAX_ATTEMPTS = 1.3;
const MAX_PEAK_MEGABYTES = 700;
const MAX_IDLE_MEGABYTES = 300;
const MAX_METRICS_MS = 1_000;

const PROJECT = 'mutation ($input: CreateProjectInput!) { createProject(input: $input) { project { id } } }';
const ADD = 'mutation ($input: AddBrokerInput!) { addBroker(input: $input) { broker { id } } }';
const STREAM = 'mutation ($input: CreateStreamInput!) { createStream(input: $input) { stream { state } } }';

// Also of the brokers, which this process starts.
setPriority(PRIORITY);
Object.assign(process.env, { RATE_REQUESTS: 'off', MAX_BROKER_LINKS: String(2 * BROKERS) });
const folder = mkdtempSync(join(tmpdir(), 'brokergraph-fleet-'));
const brokers = await startIdleBrokers(BROKERS, { sendsSys: true });
const [part] = process.argv.slice(2);
try {
  console.log(`load of the machine: ${loadavg()[0]?.toFixed(1)}`);
  process.env.BROKER_TIMEOUT_MS = String(PREPARATION_TIMEOUT_MS);
  const product = await startProduct(folder);
  await prepare(product).finally(() => product.close());
  delete process.env.BROKER_TIMEOUT_MS;
  console.log(`prepared after ${seconds(performance.now())} s`);
  if (part !== 'full') await measure('0.25 CPU', 0.25, 120_000);
  if (part !== 'quarter') await measure('1 CPU', 1, 20_000);
  console.log(`\nload of the machine: ${loadavg()[0]?.toFixed(1)}`);
} finally {
  brokers.close();
  rmSync(folder, { recursive: true, force: true });
}

async function prepare(product: Product): Promise<void> {
  const token = await product.login();
  // biome-ignore lint/suspicious/noExplicitAny: the type depends on the query.
  const graphql = async (query: string, input: object): Promise<any> => {
    const response = await fetch(`${product.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      body: JSON.stringify({ query, variables: { input } }),
    });
    // biome-ignore lint/suspicious/noExplicitAny: the type depends on the query.
    const { data, errors } = (await response.json()) as any;
    if (errors) throw new Error(JSON.stringify(errors));
    return data;
  };
  const projects: string[] = [];
  for (let n = 0; n < PROJECTS; n += 1)
    projects.push((await graphql(PROJECT, { name: `plant ${n}` })).createProject.project.id);
  const ids: string[] = [];
  await each([...brokers.urls.entries()], async ([nth, url]) => {
    const input = { projectId: projects[nth % PROJECTS], name: `broker ${nth}`, url };
    ids.push((await graphql(ADD, input)).addBroker.broker.id);
  });
  // A broker that is not connected refuses a stream.
  while ((await brokers.counts()).open < BROKERS) await delay(POLL_MS);
  const addStream = async (brokerId: string): Promise<void> => {
    try {
      await graphql(STREAM, { brokerId, name: 'stream', sourceTopic: 'in/+', targetTopic: 'out', persist: true });
    } catch (error) {
      // On a machine with other load a broker may be late, and its connection lost.
      if (String(error).includes('ALREADY_EXISTS')) return;
      if (!/BROKER_(UNREACHABLE|TIMEOUT)/.test(String(error))) throw error;
      await delay(POLL_MS);
      await addStream(brokerId);
    }
  };
  await each(ids.slice(0, BROKERS / 2), addStream);
}

async function each<Item>(items: readonly Item[], work: (item: Item) => Promise<void>): Promise<void> {
  const left = [...items];
  const workOff = async () => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) await work(next);
  };
  await Promise.all(Array.from({ length: ADDING_AT_ONCE }, workOff));
}

async function measure(name: string, cpus: number, maxMs: number): Promise<void> {
  const group = createControlGroup({ cpus, megabytes: MEGABYTES });
  console.log(`\n${name}, ${MEGABYTES} MB: ${BROKERS} brokers, ${CONNECTIONS} connections`);
  let product: Product | null = null;
  try {
    const before = await attempts();
    const startedAt = performance.now();
    product = await startProduct(folder, group.inside(SERVE));
    console.log(`       ready after ${seconds(performance.now() - startedAt)} s`);
    await converge('start', product, maxMs, startedAt, before);
    await delay(2 * POLL_MS);
    const atCut = await attempts();
    brokers.cut();
    await converge('cut', product, maxMs, performance.now(), atCut);
    const cpu = cpuSeconds(pidOf(product));
    await delay(IDLE_MS);
    const idle = rssOf(pidOf(product));
    console.log(`       idle: ${(cpuSeconds(pidOf(product)) - cpu).toFixed(1)} CPU s in a minute`);
    compare('idle', 'MB', idle, MAX_IDLE_MEGABYTES);
    const stoppedAt = performance.now();
    await product.close();
    console.log(`       stopped after ${seconds(performance.now() - stoppedAt)} s`);
  } catch (error) {
    check(String(error), false);
  } finally {
    if (product !== null && !hasExited(product)) await product.close();
    group.close();
  }
}

/** Measures until all connections exist and still exist a second later. */
async function converge(what: string, product: Product, maxMs: number, from: number, before: number) {
  const pid = pidOf(product);
  const [cpu, waited] = what === 'start' ? [0, 0] : [cpuSeconds(pid), waitedSeconds(pid)];
  // Linux then reports the highest memory since now.
  if (what !== 'start') writeFileSync(`/proc/${pid}/clear_refs`, '5');
  const stop = new AbortController();
  const metrics = slowestMetrics(product.url, stop.signal);
  let reachedAt: number | null = null;
  let counts = await brokers.counts();
  while (performance.now() - from < GIVE_UP_MS) {
    counts = await brokers.counts();
    if (counts.open < CONNECTIONS) reachedAt = null;
    else reachedAt ??= performance.now();
    const isStable = reachedAt !== null && performance.now() - reachedAt > STABLE_MS;
    if (isStable || hasExited(product)) break;
    await delay(POLL_MS);
  }
  stop.abort();
  if (hasExited(product)) throw new Error(`${what}: the process ended with ${counts.open} connections`);
  const ms = (reachedAt ?? Number.POSITIVE_INFINITY) - from;
  const ratio = ((await attempts()) - before) / CONNECTIONS;
  const peak = Number(/^VmHWM:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1_024;
  const metricsMs = await metrics;
  const used = cpuSeconds(pid) - cpu;
  const others = waitedSeconds(pid) - waited;
  console.log(
    `       ${what}: ${used.toFixed(1)} CPU s, ${rssOf(pid).toFixed(0)} MB at its end, ${others.toFixed(1)} s waited for a processor, load ${loadavg()[0]?.toFixed(1)}`,
  );
  if (reachedAt === null) console.log(`       ${what}: only ${counts.open} of ${CONNECTIONS} connections`);
  compare(what, 's until all are connected', ms / 1_000, maxMs / 1_000);
  compare(what, 'attempts for each connection', ratio, MAX_ATTEMPTS);
  compare(what, 'MB at most', peak, MAX_PEAK_MEGABYTES);
  compare(what, 'ms for the slowest response of /metrics', metricsMs, MAX_METRICS_MS);
}

async function slowestMetrics(url: string, signal: AbortSignal): Promise<number> {
  let slowest = 0;
  while (!signal.aborted) {
    const startedAt = performance.now();
    // A process that exceeds its memory does not respond any more.
    const isServed = await fetch(`${url}/metrics`)
      .then((response) => response.arrayBuffer())
      .catch(() => null);
    if (isServed === null) return Number.POSITIVE_INFINITY;
    slowest = Math.max(slowest, performance.now() - startedAt);
    await delay(2_000, undefined, { signal }).catch(() => undefined);
  }
  return slowest;
}

async function attempts(): Promise<number> {
  const { accepted, knocks } = await brokers.counts();
  return accepted - knocks;
}

function hasExited({ process: { exitCode, signalCode } }: Product): boolean {
  return exitCode !== null || signalCode !== null;
}

function pidOf({ process: { pid = 0 } }: Product): number {
  return pid;
}

function seconds(ms: number): string {
  return (ms / 1_000).toFixed(1);
}

/** Prints a result, its bar, and its ratio to the bar: above 1 it fails. */
function compare(what: string, unit: string, value: number, bar: number): void {
  const digits = bar < 10 ? 2 : bar < 200 ? 1 : 0;
  check(`${what}: ${value.toFixed(digits)} ${unit}, bar ${bar}: ${(value / bar).toFixed(2)}`, value <= bar);
}
