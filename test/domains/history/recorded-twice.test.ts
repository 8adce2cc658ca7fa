import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import {
  CLIENT_EVENTS,
  type ClientEventQueries,
  LISTED,
} from '../../../src/data-plane/history/client-events/client-events-module.ts';
import type { EventArrival, FollowNote } from '../../../src/data-plane/history/client-events/stored-events.ts';
import { HistoryThread } from '../../../src/data-plane/history/hosting/history-thread.ts';
import { EventRecorder } from '../../../src/domains/history/client-events/event-recorder.ts';
import { EventWriter } from '../../../src/domains/history/client-events/event-writer.ts';
import { RefusalEvents } from '../../../src/domains/history/client-events/refusal-events.ts';
import { NO_REFUSALS } from '../../../src/domains/refusals/refusal-list.ts';
import { ServiceError } from '../../../src/platform/errors.ts';
import { openSealer } from '../../../src/platform/storage/encryption/sealed.ts';
import { LATE_EVENT_MS } from '../../../src/protocol/apis/clients/client-events.ts';
import { RefusalLog } from '../../../src/protocol/apis/refusals/refusal-log.ts';
import { silentLog, temporaryFolder } from '../../support/database.ts';
import { programUrl } from '../../support/programs.ts';
import { onTestFinished } from '../../support/shared.ts';

const BROKER = 'brk_00000000000000000000000000';
const REFUSED = {
  kind: 'CONNECT',
  reason: 'NOT_AUTHORIZED',
  clientId: 'a',
  username: null,
  address: '10.0.0.1',
  listenerPort: 1883,
  topic: null,
  reasonCode: 5,
  detail: null,
} as const;

test('a refusal that the previous process and the next one notice is one event; the gap has what may be missing', async () => {
  const dataDir = temporaryFolder();
  const thread = new HistoryThread({
    place: { file: join(dataDir, 'history.db'), minFreeBytes: 0 },
    keepMs: 86_400_000,
    maxBytes: 1e9,
    workerUrl: programUrl('src/data-plane/history/hosting/history-worker.ts'),
    log: silentLog,
  });
  onTestFinished(() => thread.close());
  const history = thread.module<EventArrival, ClientEventQueries>(CLIENT_EVENTS);
  const sealer = openSealer({ dataDir });
  const start = Date.now() - 60_000;
  const log = () => {
    const refusals = new RefusalLog(() => undefined);
    onTestFinished(() => refusals.close());
    return refusals;
  };
  /** One process records what a log has, whose last refusal was this many milliseconds after the start. */
  const record = async (refusals: RefusalLog, ms: number) => {
    refusals.add(REFUSED);
    const at = start + ms;
    const writer = new EventWriter(history, BROKER, crypto.randomUUID());
    const end = await writer.end();
    if (end !== null) writer.notFollowed(end, at);
    const { id, sequence } = refusals;
    const list = refusals.list({ count: 10 }).map((refusal) => ({ ...refusal, firstAt: at, lastAt: at }));
    await new RefusalEvents({ broker: BROKER, writer, sealer }).write({
      ...NO_REFUSALS,
      log: id,
      sequence,
      refusals: list,
    });
    writer.note('STOP', id, at);
    await thread.flush();
  };
  const ms = async () => {
    const order = { brokers: [BROKER], filter: {}, before: null, after: null, isUpwards: true, count: 100 };
    return (await history.query('page', order)).events.map(({ at }) => at - start);
  };

  await record(log(), 0);
  await record(log(), 150);
  expect(await ms()).toEqual([0]);
  const gaps = await history.query('gaps', { brokers: [BROKER], from: 0, to: Date.now() });
  expect(gaps.map(({ at }) => at - start)).toEqual([LATE_EVENT_MS]);

  const next = log();
  await record(next, LATE_EVENT_MS + 1);
  // Of the same log, each refusal has a number of its own.
  await record(next, LATE_EVENT_MS + 2);
  expect(await ms()).toEqual([0, LATE_EVENT_MS + 1, LATE_EVENT_MS + 2]);
});

test('a broker that is followed for longer than events are stored is followed since the oldest of them', async () => {
  const HOUR = 3_600_000;
  const thread = new HistoryThread({
    place: { file: join(temporaryFolder(), 'history.db'), minFreeBytes: 0 },
    keepMs: 24 * HOUR,
    maxBytes: 1e9,
    workerUrl: programUrl('src/data-plane/history/hosting/history-worker.ts'),
    log: silentLog,
  });
  onTestFinished(() => thread.close());
  const history = thread.module<EventArrival, ClientEventQueries>(CLIENT_EVENTS);
  const now = Date.now();
  vi.useFakeTimers({ toFake: ['Date'], now: now - 23 * HOUR });
  onTestFinished(() => void vi.useRealTimers());
  const [followed, stopped] = [BROKER, `${BROKER.slice(0, -1)}1`].map(
    (broker) => new EventWriter(history, broker, 'follower'),
  );
  for (const writer of [followed, stopped]) writer?.note('START', LISTED);
  stopped?.note('STOP', LISTED);
  await thread.flush();
  vi.setSystemTime(now);
  await thread.maintain(now);
  for (const writer of [followed, stopped]) writer?.repeatStart(now - 1_000);
  // Not before it may expire.
  followed?.repeatStart(now);
  await thread.flush();
  await thread.maintain(now + 2 * HOUR);

  const coverageOf = (broker: string) => history.query('coverage', { brokers: [broker] });
  expect(await coverageOf(BROKER)).toEqual({ since: now - 1_000, isListed: true });
  expect(await history.query('end', { broker: BROKER })).toMatchObject({ at: now - 1_000, log: LISTED });
  expect(await coverageOf(`${BROKER.slice(0, -1)}1`)).toEqual({ since: null, isListed: false });
});

test('a recorder repeats once a day which brokers it follows', async () => {
  vi.useFakeTimers({ toFake: ['Date', 'setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const notes: FollowNote[] = [];
  const insert = (arrival: EventArrival) => 'note' in arrival && notes.push(arrival.note);
  const link = { status: { state: 'CONNECTED' }, onStatus: () => () => undefined };
  const controls = {
    onEvent: () => () => undefined,
    capability: async (api: string) => ({ api, provider: 'GATEWAY' }),
    call: async () => Promise.reject(new ServiceError('NOT_SUPPORTED_BY_BROKER', 'It has no numbers')),
  };
  const clients = {
    watch: async function* () {
      yield { kind: 'SNAPSHOT', sequence: 0, partsLeft: 0, snapshot: { clients: [] } };
      await new Promise(() => undefined);
    },
  };
  const recorder = new EventRecorder({
    history: { insert, query: async () => null, oldest: () => null },
    runtimes: {
      onRuntime: (listener: (...args: unknown[]) => void) => listener({ id: BROKER, link, controls }, 'OPENED'),
    },
    brokers: { get: () => ({ id: BROKER }) },
    placement: {
      want: (_id: string, listener: (isHeld: boolean) => void) => {
        queueMicrotask(() => listener(true));
        return { held: true, release: async () => undefined };
      },
    },
    clients: { watch: async () => clients.watch() },
    refusals: { reported: async () => Promise.reject(new ServiceError('NOT_SUPPORTED_BY_BROKER', 'None')) },
    sealer: {},
    isOwn: () => false,
    onFault: (error: unknown) => expect(error).toBeNull(),
  } as unknown as ConstructorParameters<typeof EventRecorder>[0]);
  onTestFinished(() => recorder.close());
  const starts = () => notes.filter(({ state }) => state === 'START').length;
  await vi.waitFor(() => expect(starts()).toBe(1), { timeout: 60_000 });
  vi.advanceTimersByTime(23 * 3_600_000);
  expect(starts()).toBe(1);
  vi.advanceTimersByTime(26 * 3_600_000);
  expect(starts()).toBe(3);
});
