/**
 * Records 2,000 events of clients a second for a minute, from the log of a provider to the disk, and reads pages of one
 * client among a million events. `node bench/run.mjs client-events`, after a build. DATABASE_URL selects PostgreSQL.
 * Prints lost events, the processor time of this process (both threads) and the delay of the main thread. There is no
 * peer: the figures have bounds.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { pino } from 'pino';
import type { EventPage } from '../src/data-plane/history/client-events/event-pages.ts';
import { HistoryThread } from '../src/data-plane/history/hosting/history-thread.ts';
import { eventHistoryOf } from '../src/domains/history/client-events/client-events.ts';
import { EventWriter } from '../src/domains/history/client-events/event-writer.ts';
import { NumberedEvents } from '../src/domains/history/client-events/numbered-events.ts';
import { ClientEventLog } from '../src/protocol/apis/clients/client-event-log.ts';
import type { ControlCaller } from '../src/protocol/control/plugin.ts';
import { atMost } from './support/bars.ts';

const SECONDS = Number(process.env.BENCH_SECONDS ?? 60);
const RATE = 2_000;
const STEP_MS = 50;
const STORED = Number(process.env.BENCH_STORED ?? 1_000_000);
const CLIENTS = 10_000;
const BROKER = 'brk_00000000000000000000000000';

const folder = mkdtempSync(join(tmpdir(), 'bench-client-events-'));
const databaseUrl = process.env.DATABASE_URL;
const thread = new HistoryThread({
  place: databaseUrl === undefined ? { file: join(folder, 'history.db'), minFreeBytes: 0 } : { databaseUrl },
  keepMs: 30 * 86_400_000,
  maxBytes: 64 * 1024 ** 3,
  workerUrl: pathToFileURL(join(process.cwd(), 'dist/data-plane/history/hosting/history-worker.js')),
  log: pino({ level: 'warn' }),
});
const history = eventHistoryOf(thread);
const writer = new EventWriter(history, BROKER, 'bench');
await writer.end();

const log = new ClientEventLog(() => undefined);
/** As a broker over MQTT: the response is JSON. */
const controls = {
  call: async (_api: string, command: string, fields: object) =>
    JSON.parse(JSON.stringify(log.execute({ command, ...fields }))) as unknown,
} as unknown as ControlCaller;
const numbered = new NumberedEvents({ controls, writer, isOwn: () => false });
await numbered.read();

let added = 0;
const add = () => {
  const clientId = `device-${added % CLIENTS}`;
  const about = { clientId, username: `account-${added % 100}`, address: '10.1.2.3', listenerPort: 1883 };
  const kind = added % 2 === 0 ? 'CONNECTED' : 'DISCONNECTED';
  log.add({ ...about, kind, at: Date.now(), protocol: 'MQTT', reason: added % 2 === 0 ? null : 'CONNECTION_CLOSED' });
  added += 1;
};
const delay = monitorEventLoopDelay({ resolution: 5 });
delay.enable();
const started = performance.now();
const cpu = process.cpuUsage();
while (added < SECONDS * RATE) {
  const due = Math.min(SECONDS * RATE, Math.floor(((performance.now() - started) * RATE) / 1_000));
  while (added < due) add();
  await numbered.read();
  await pause(STEP_MS);
}
await thread.flush();
const seconds = (performance.now() - started) / 1_000;
const { user, system } = process.cpuUsage(cpu);
delay.disable();
let found = 0;
for (let before: { at: number; id: number; broker: string } | null = null; ; ) {
  const page: EventPage = await history.query('page', {
    brokers: [BROKER],
    filter: {},
    before,
    after: null,
    isUpwards: false,
    count: 1_000,
  });
  found += page.events.length;
  before = page.end;
  if (before === null) break;
}
console.log(
  `${added} events in ${seconds.toFixed(1)} s, main thread p99 ${(delay.percentile(99) / 1e6 - 5).toFixed(1)} ms`,
);
atMost('lost events', added - found, 0, 'events');
atMost('dropped events', thread.counts.dropped, 0, 'events');
// Of the time that the events stand for: a busy machine takes longer.
atMost(`${RATE} events a second`, (user + system) / 1e6 / SECONDS, 0.25, 'cores');

for (let index = 0; index < STORED; index += 1) {
  const at = Date.now() - 86_400_000 + index;
  writer.event({
    at,
    id: index,
    kind: 'CONNECTED',
    clientId: `stored-${index % CLIENTS}`,
    username: null,
    address: '10.1.2.3',
    listenerPort: 1883,
    protocol: 'MQTT',
    reason: null,
    detail: null,
    refusal: null,
    count: 1,
  });
  if (index % 20_000 === 19_999) await thread.flush();
}
await thread.flush();
const times: number[] = [];
for (let round = 0; round < 50; round += 1) {
  const from = process.cpuUsage();
  const filter = { clientId: `stored-${(round * 197) % CLIENTS}` };
  await history.query('page', { brokers: [BROKER], filter, before: null, after: null, isUpwards: false, count: 50 });
  const used = process.cpuUsage(from);
  times.push((used.user + used.system) / 1_000);
}
times.sort((a, b) => a - b);
const page = `a page of 50 events of one client among ${STORED + added}`;
atMost(`${page}, median`, times[25] ?? Number.NaN, 50, 'ms of processor time');
console.log(`  worst ${times.at(-1)?.toFixed(1)} ms`);
await thread.close();
rmSync(folder, { recursive: true, force: true });
