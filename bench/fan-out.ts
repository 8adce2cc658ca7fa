/**
 * What it costs to tell many subscribers what happens to a broker: the product as it is run, with real WebSockets and changes made
 * by its own mutations, against a `ws` server that sends the same text to as many sockets. Linux only.
 *
 * Both are driven by one of their subscribers, which lets the next change happen when it has seen an earlier one, so that both always
 * have something to send and neither falls behind. Rounds take turns; what counts is messages per second of processor time of the
 * thread that sends them, as in measure.ts. The time of delivery is from sending the mutation to the arrival at a subscriber. The
 * status of brokers is followed, since it is told change by change: who is connected to a broker is collected for 50 ms, which
 * would set the pace.
 */
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { now, type Readers, startReaders } from './support/frame-readers.ts';
import { rssOf } from './support/memory.ts';
import { pin } from './support/pin.ts';
import { startPings } from './support/pings.ts';
import { startProduct } from './support/product.ts';
import { startRawBroadcast } from './support/raw-broadcast.ts';

const FEW = 1_000;
const MANY = 5_000;
const READER_PROCESSES = 2;
/** Processors. */
const SENDING = 0;
const READING = 1;
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 9);
const ROUND_MS = 1_500;
/** Changes under way at once. */
const WINDOW = 4;
const MIN_RATIO = 0.8;
const EVENTS = 30;
/** All have the same length. */
const FIRST = 'change 1000000';
const MAX_P99_MS = 100;
const MAX_WAIT_MS = 10_000;
/** Nearly all messages of a change come in this time. */
const ROUND_TIME_MS = 350;
/** Of /proc/<pid>/task/<pid>/stat, the same on every Linux. */
const TICKS_PER_SECOND = 100;

const WATCH = `subscription ($id: ID!) { brokerStatus(projectId: $id) {
  kind sequence brokers { brokerId isConnected connection { state lastError } broker { id name description createdAt updatedAt } }
} }`;
const CHANGE = 'mutation ($input: UpdateBrokerInput!) { updateBroker(input: $input) { broker { id } } }';

interface Contender {
  readonly pid: number;
  readonly port: number;
  readonly readers: readonly Readers[];
  readonly road: Road;
}

interface Road {
  readonly driver: Subscription;
  readonly cause: Change;
}

/** Makes something happen that is told with this text in it. */
type Change = (text: string) => Promise<void>;

let texts = Number(FIRST.slice(7));
const dataDir = mkdtempSync(join(tmpdir(), 'brokergraph-fan-out-'));
// All readers are of one network.
process.env.MAX_CONNECTIONS_PER_NETWORK = String(2 * MANY);
const product = await startProduct(dataDir);
const raw = await startRawBroadcast();
for (const pid of [product.process.pid ?? 0, raw.pid]) pin(pid, SENDING);
const closers: (() => void)[] = [];
let good = true;
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
  const told = driver.next(FIRST);
  await change(FIRST);
  const sample = await told;
  const road = { driver, cause: change };
  const [pid, port] = [product.process.pid ?? 0, Number(new URL(product.url).port)];
  await events(pid, port, road, eventsRequest(token, projectId));
  const ours = await contender(pid, port, opening, road);
  const rawDriver = await subscribe(`ws://127.0.0.1:${raw.port}`, []);
  const theirs = await contender(raw.pid, raw.port, [], {
    driver: rawDriver,
    cause: async (description) => rawDriver.send(sample.replace(FIRST, description)),
  });
  await throughput(ours, theirs, Buffer.byteLength(sample));
  await many(ours, opening, theirs);
  if (!good) process.exitCode = 1;
} catch (error) {
  console.error(error);
  process.exitCode = 1;
} finally {
  for (const close of closers) close();
  raw.close();
  await product.close();
  rmSync(dataDir, { recursive: true, force: true });
}

async function contender(pid: number, port: number, messages: readonly string[], road: Road): Promise<Contender> {
  const readers = Array.from({ length: READER_PROCESSES }, startReaders);
  for (const each of readers) pin(each.pid, READING);
  closers.push(() => {
    for (const each of readers) each.close();
  });
  await Promise.all(readers.map((each) => each.open({ port, messages, count: FEW / READER_PROCESSES })));
  return { pid, port, readers, road };
}

/** The same subscription by POST (graphql-sse's distinct connections mode), as it goes over the wire. */
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

/** Server-sent events, for themselves: raw ws is no measure for them. */
async function events(pid: number, port: number, road: Road, request: string): Promise<void> {
  const readers = startReaders();
  pin(readers.pid, READING);
  await readers.open({ port, messages: [], count: FEW, request });
  const contender = { pid, port, readers: [readers], road };
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

async function figures({ pid, readers, road }: Contender): Promise<Figures> {
  await settled(readers);
  const [startedAt, cpu] = [now(), cpuSeconds(pid)];
  await drive(road, startedAt + ROUND_MS);
  const arrived = await settled(readers);
  const used = cpuSeconds(pid) - cpu;
  return { perCpuSecond: arrived.count / used, perSecond: arrived.count / ((arrived.last - startedAt) / 1_000) };
}

/** What came since the last call, once nothing comes any more. */
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

/** When that many messages came; nothing else may come meanwhile. */
async function told(readers: readonly Readers[], count: number): Promise<number[]> {
  const times: number[] = [];
  // Asking takes the readers' time: not while they read.
  await delay(ROUND_TIME_MS);
  for (const until = now() + MAX_WAIT_MS; times.length < count && now() < until; await delay(50)) {
    for (const { times: some } of await Promise.all(readers.map((each) => each.arrivals()))) times.push(...some);
  }
  if (times.length !== count) throw new Error(`${times.length} messages came instead of ${count}`);
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
    for (const [side, { pid, road, readers }, all] of [
      ['ours', ours, delays],
      ['theirs', theirs, rawDelays],
    ] as const) {
      const [sentAt, before] = [now(), cpuSeconds(pid)];
      await road.cause(nextText());
      for (const time of await told(readers, MANY)) all.push(time - sentAt);
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
  const p99 = at(delays, 0.99);
  check(`p99 ${p99.toFixed(0)} ms (below ${MAX_P99_MS})`, p99 < MAX_P99_MS);
  // Only now: answering pings costs as much as the deliveries do.
  const pings = await startPings(`${product.url}/api/nothing`);
  closers.push(() => pings.close());
  await pings.longestMs();
  await drive(ours.road, now() + 5_000);
  console.log(
    `  under as many changes as go a request waited for ${(await pings.longestMs()).toFixed(0)} ms; ${load()}`,
  );
}

interface Subscription {
  /** Resolves with the next message that holds the text. */
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

/** Lets things happen until then, without ever falling behind. */
async function drive({ driver, cause }: Road, until: number): Promise<void> {
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

/** Of the main thread alone: the embedded broker, and what checks passwords for it, run in threads of their own. */
function cpuSeconds(pid: number): number {
  // The command, in brackets, may hold spaces; user and system time are the 14th and 15th field.
  const fields = readFileSync(`/proc/${pid}/task/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

function load(): string {
  return `load of the machine ${loadavg()[0]?.toFixed(1)}`;
}

function at(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

function median(values: readonly number[]): number {
  return at(
    [...values].sort((a, b) => a - b),
    0.5,
  );
}

function check(text: string, isGood: boolean): void {
  console.log(`  ${isGood ? 'ok  ' : 'FAIL'} ${text}`);
  good &&= isGood;
}
