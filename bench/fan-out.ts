/**
 * The cost of sending events to many subscribers. Compares the product, with WebSockets and changes by mutations, with
 * a `ws` server that sends the same text to the same number of sockets. Linux only.
 *
 * One subscriber of each server triggers the next change when it receives an earlier one. Both servers therefore always
 * have messages to send, and no queue grows. Rounds alternate. The result is messages per second of processor time of
 * the sending thread, see measure.ts. The delivery time is the time from the mutation to the arrival at a subscriber.
 * The subscription is `brokerStatus`, because other subscriptions collect changes for 50 ms, which would limit the
 * rate.
 */

import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { check } from './support/bars.ts';
import { at, median } from './support/figures.ts';
import { now, type Readers, startReaders } from './support/frame-readers.ts';
import { rssOf } from './support/memory.ts';
import { pin } from './support/pin.ts';
import { startPings } from './support/pings.ts';
import { startProduct } from './support/product.ts';
import { startRawBroadcast } from './support/raw-broadcast.ts';

const FEW = 1_000;
const MANY = 5_000;
const READER_PROCESSES = 2;
/** Numbers of processors. */
const SENDING = 0;
const READING = 1;
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 9);
const ROUND_MS = 1_500;
/** Number of concurrent changes. */
const WINDOW = 4;
const MIN_RATIO = 0.8;
const EVENTS = 30;
/** Description of the first change. All descriptions have the same length. */
const FIRST = 'change 1000000';
const MAX_P99_MS = 100;
/** Of raw ws in the same run, if the machine is too slow or busy for MAX_P99_MS. */
const MAX_P99_RATIO = 1.3;
const MAX_WAIT_MS = 10_000;
/** Nearly all messages of a change arrive in this time. */
const ROUND_TIME_MS = 350;
/** Unit of times in /proc/<pid>/task/<pid>/stat. It is the same on every Linux. */
const TICKS_PER_SECOND = 100;

const WATCH = `subscription ($id: ID!) { brokerStatus(projectId: $id) {
  kind sequence brokers { brokerId isConnected connection { state lastError } broker { id name description createdAt updatedAt } }
} }`;
const CHANGE = 'mutation ($input: UpdateBrokerInput!) { updateBroker(input: $input) { broker { id } } }';

interface Contender {
  readonly pid: number;
  readonly port: number;
  readonly readers: readonly Readers[];
  readonly traffic: Traffic;
}

interface Traffic {
  readonly driver: Subscription;
  readonly cause: Change;
}

/** Causes a change whose message contains the text. */
type Change = (text: string) => Promise<void>;

let texts = Number(FIRST.slice(7));
const dataDir = mkdtempSync(join(tmpdir(), 'brokergraph-fan-out-'));
// All readers connect from one network.
process.env.MAX_CONNECTIONS_PER_NETWORK = String(2 * MANY);
const product = await startProduct(dataDir);
const raw = await startRawBroadcast();
for (const pid of [product.process.pid ?? 0, raw.pid]) pin(pid, SENDING);
const closers: (() => void)[] = [];
try {
  const token = await product.login();
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const ask = async (path: string, body?: object): Promise<string> => {
    const init = body === undefined ? { headers } : { headers, method: 'POST', body: JSON.stringify(body) };
    const text = await (await fetch(`${product.url}${path}`, init)).text();
    if (text.includes('"errors"')) throw new Error(text);
    return text;
  };
  const [{ id: projectId }] = JSON.parse(await ask('/api/projects'));
  const [{ id: brokerId }] = JSON.parse(await ask(`/api/projects/${projectId}/brokers`));
  const change: Change = async (description) => {
    await ask('/graphql', { query: CHANGE, variables: { input: { brokerId, description } } });
  };
  const opening = [
    JSON.stringify({ type: 'connection_init', payload: { authorization: `Bearer ${token}` } }),
    JSON.stringify({ id: '1', type: 'subscribe', payload: { query: WATCH, variables: { id: projectId } } }),
  ];
  const driver = await subscribe(`${product.url.replace('http', 'ws')}/graphql`, opening);
  const received = driver.next(FIRST);
  await change(FIRST);
  const sample = await received;
  const traffic = { driver, cause: change };
  const [pid, port] = [product.process.pid ?? 0, Number(new URL(product.url).port)];
  await events(pid, port, traffic, eventsRequest(token, projectId));
  const ours = await contender(pid, port, opening, traffic);
  const rawDriver = await subscribe(`ws://127.0.0.1:${raw.port}`, []);
  const theirs = await contender(raw.pid, raw.port, [], {
    driver: rawDriver,
    cause: async (description) => rawDriver.send(sample.replace(FIRST, description)),
  });
  await throughput(ours, theirs, Buffer.byteLength(sample));
  await many(ours, opening, theirs);
} catch (error) {
  console.error(error);
  process.exitCode = 1;
} finally {
  for (const close of closers) close();
  raw.close();
  await product.close();
  rmSync(dataDir, { recursive: true, force: true });
}

async function contender(pid: number, port: number, messages: readonly string[], traffic: Traffic): Promise<Contender> {
  const readers = Array.from({ length: READER_PROCESSES }, startReaders);
  for (const each of readers) pin(each.pid, READING);
  closers.push(() => {
    for (const each of readers) each.close();
  });
  await Promise.all(readers.map((each) => each.open({ port, messages, count: FEW / READER_PROCESSES })));
  return { pid, port, readers, traffic };
}

/** The same subscription as the text of an HTTP request (distinct connections mode of graphql-sse). */
function eventsRequest(token: string, projectId: string): string {
  const body = JSON.stringify({ query: WATCH, variables: { id: projectId } });
  const head = [
    'POST /graphql HTTP/1.1',
    'Host: 127.0.0.1',
    `Authorization: Bearer ${token}`,
    'Accept: text/event-stream',
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
  ];
  return `${head.join('\r\n')}\r\n\r\n${body}`;
}

/** Measures server-sent events. They have no peer, because raw ws is not comparable. */
async function events(pid: number, port: number, traffic: Traffic, request: string): Promise<void> {
  const readers = startReaders();
  pin(readers.pid, READING);
  await readers.open({ port, messages: [], count: FEW, request });
  const contender = { pid, port, readers: [readers], traffic };
  const rounds: Figures[] = [];
  for (let round = -1; round < Math.ceil(ROUNDS / 3); round++) {
    const each = await figures(contender);
    if (round >= 0) rounds.push(each);
  }
  readers.close();
  const perCpuSecond = median(rounds.map((round) => round.perCpuSecond));
  console.log(`\n${FEW} subscribers over SSE: ${perCpuSecond.toFixed(0)} messages per CPU second; ${load()}`);
}

async function throughput(ours: Contender, theirs: Contender, bytes: number): Promise<void> {
  console.log(`\n${FEW} subscribers, messages of ${bytes} bytes; ${load()}`);
  const rounds: { readonly ours: Figures; readonly theirs: Figures }[] = [];
  for (let round = -2; round < ROUNDS; round++) {
    const both = { ours: await figures(ours), theirs: await figures(theirs) };
    if (round >= 0) rounds.push(both);
  }
  for (const [name, side] of [
    ['the product', 'ours'],
    ['raw ws', 'theirs'],
  ] as const) {
    const perCpuSecond = median(rounds.map((round) => round[side].perCpuSecond));
    const perSecond = median(rounds.map((round) => round[side].perSecond));
    console.log(
      `  ${name.padEnd(12)} ${perCpuSecond.toFixed(0).padStart(8)} messages per CPU second (${perSecond.toFixed(0)} a second)`,
    );
  }
  const wall = median(rounds.map((round) => round.ours.perSecond / round.theirs.perSecond));
  const ratio = median(rounds.map((round) => round.ours.perCpuSecond / round.theirs.perCpuSecond));
  console.log(`  ratio by the clock: ${wall.toFixed(2)}`);
  check(`${ratio.toFixed(2)} of raw ws (at least ${MIN_RATIO})`, ratio >= MIN_RATIO);
}

interface Figures {
  readonly perCpuSecond: number;
  readonly perSecond: number;
}

async function figures({ pid, readers, traffic }: Contender): Promise<Figures> {
  await settled(readers);
  const [startedAt, cpu] = [now(), cpuSeconds(pid)];
  await drive(traffic, startedAt + ROUND_MS);
  const arrived = await settled(readers);
  const used = cpuSeconds(pid) - cpu;
  return { perCpuSecond: arrived.count / used, perSecond: arrived.count / ((arrived.last - startedAt) / 1_000) };
}

/** Waits until no more messages arrive, and returns their number since the last call and the time of the last one. */
async function settled(readers: readonly Readers[]): Promise<{ readonly count: number; readonly last: number }> {
  let count = 0;
  let last = now();
  for (let quiet = 0; quiet < 3; ) {
    const all = await Promise.all(readers.map((each) => each.arrivals()));
    const more = all.reduce((sum, each) => sum + each.count, 0);
    count += more;
    quiet = more === 0 ? quiet + 1 : 0;
    if (more > 0) last = now();
    await delay(50);
  }
  return { count, last };
}

/** Waits for `count` messages and returns the arrival time of each. Throws if more or fewer messages arrive. */
async function arrivalTimes(readers: readonly Readers[], count: number): Promise<number[]> {
  const times: number[] = [];
  // Requests would interrupt the readers while messages arrive.
  await delay(ROUND_TIME_MS);
  for (const until = now() + MAX_WAIT_MS; times.length < count && now() < until; await delay(50)) {
    for (const { times: some } of await Promise.all(readers.map((each) => each.arrivals()))) times.push(...some);
  }
  if (times.length !== count) throw new Error(`${times.length} messages arrived instead of ${count}`);
  return times;
}

async function many(ours: Contender, messages: readonly string[], theirs: Contender): Promise<void> {
  for (const [name, { pid, port, readers }, sent] of [
    ['the product', ours, messages],
    ['raw ws', theirs, []],
  ] as const) {
    const before = rssOf(pid);
    const startedAt = now();
    await Promise.all(
      readers.map((each) => each.open({ port, messages: sent, count: (MANY - FEW) / READER_PROCESSES })),
    );
    const seconds = (now() - startedAt) / 1_000;
    await settled(readers);
    const each = ((rssOf(pid) - before) * 1_024) / (MANY - FEW);
    console.log(
      `${name}: ${MANY - FEW} subscribers more within ${seconds.toFixed(1)} s, ${each.toFixed(1)} kB resident for each`,
    );
  }
  console.log(`\n${MANY} subscribers, one change a second, ${EVENTS} of them; ${load()}`);
  const [delays, rawDelays]: [number[], number[]] = [[], []];
  const cpu = { ours: 0, theirs: 0 };
  for (let event = 0; event < EVENTS; event++) {
    const begun = now();
    for (const [side, { pid, traffic, readers }, all] of [
      ['ours', ours, delays],
      ['theirs', theirs, rawDelays],
    ] as const) {
      const [sentAt, before] = [now(), cpuSeconds(pid)];
      await traffic.cause(nextText());
      for (const time of await arrivalTimes(readers, MANY)) all.push(time - sentAt);
      cpu[side] += cpuSeconds(pid) - before;
    }
    await delay(Math.max(0, 1_000 - (now() - begun)));
  }
  for (const [name, all, used] of [
    ['the product', delays, cpu.ours],
    ['raw ws', rawDelays, cpu.theirs],
  ] as const) {
    all.sort((a, b) => a - b);
    const [p50, p99, longest] = [at(all, 0.5), at(all, 0.99), at(all, 1)].map((ms) => ms.toFixed(0));
    const each = ((used / all.length) * 1e6).toFixed(1);
    console.log(
      `  ${name.padEnd(12)} delivered after p50 ${p50} ms, p99 ${p99} ms, longest ${longest} ms; ${each} µs of processor time each`,
    );
  }
  const [p99, rawP99] = [at(delays, 0.99), at(rawDelays, 0.99)];
  check(
    `p99 ${p99.toFixed(0)} ms, ${(p99 / rawP99).toFixed(2)} of raw ws (below ${MAX_P99_MS} ms, or at most ${MAX_P99_RATIO})`,
    p99 < MAX_P99_MS || p99 <= MAX_P99_RATIO * rawP99,
  );
  // Pings start after the deliveries are measured, because they cost as much processor time.
  const pings = await startPings(`${product.url}/api/nothing`);
  closers.push(() => pings.close());
  await pings.longestMs();
  await drive(ours.traffic, now() + 5_000);
  console.log(
    `  with the maximum rate of changes a request waited for ${(await pings.longestMs()).toFixed(0)} ms; ${load()}`,
  );
}

interface Subscription {
  /** Resolves with the next message that contains the text. */
  next(text: string): Promise<string>;
  send(text: string): void;
}

async function subscribe(url: string, messages: readonly string[]): Promise<Subscription> {
  const socket = new WebSocket(url, 'graphql-transport-ws');
  closers.push(() => socket.terminate());
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
  for (const message of messages) {
    socket.send(message);
    const [answer] = await once(socket, 'message');
    if (String(answer).includes('"error')) throw new Error(String(answer));
  }
  const waiting = new Set<{ readonly text: string; readonly resolve: (message: string) => void }>();
  socket.on('message', (data) => {
    const message = String(data);
    for (const each of waiting) {
      if (!message.includes(each.text)) continue;
      waiting.delete(each);
      each.resolve(message);
    }
  });
  return {
    next: (text) => new Promise((resolve) => waiting.add({ text, resolve })),
    send: (text) => socket.send(text),
  };
}

/** Causes changes until `until`. Each change waits until an earlier one has arrived. */
async function drive({ driver, cause }: Traffic, until: number): Promise<void> {
  await Promise.all(
    Array.from({ length: WINDOW }, async () => {
      while (now() < until) {
        const text = nextText();
        const seen = driver.next(text);
        await cause(text);
        await seen;
      }
    }),
  );
}

function nextText(): string {
  texts += 1;
  return `change ${texts}`;
}

/** Processor time of the main thread. The embedded broker and its password checks run in other threads. */
function cpuSeconds(pid: number): number {
  // The command, in parentheses, may contain spaces. User and system time are fields 14 and 15.
  const fields = readFileSync(`/proc/${pid}/task/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

function load(): string {
  return `load of the machine ${loadavg()[0]?.toFixed(1)}`;
}
