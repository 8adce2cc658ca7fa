import { EventEmitter, once } from 'node:events';
import { expect, test } from 'vitest';
import { JobStore } from '../../../src/domains/jobs/job-store.ts';
import { LeasedJobs } from '../../../src/domains/jobs/leased-jobs.ts';
import type { Changes } from '../../../src/platform/storage/changes/changes.ts';
import { furnished } from '../../platform/auth/rights-world.ts';
import { silentLog } from '../../support/database.ts';
import { startMosquitto } from '../../support/mosquitto.ts';
import { startTestService } from '../../support/service.ts';
import { subscribe } from '../../support/subscription.ts';
import { addBroker } from '../messages/message-world.ts';

const DELETE = `mutation ($input: DeleteRetainedMessagesInput!) {
  deleteRetainedMessages(input: $input) { deletion { jobId } } }`;

test('a job is visible to viewers of the project of its broker, live too, and to no others', async () => {
  const mosquitto = await startMosquitto();
  const service = await startTestService();
  const brokerId = await addBroker(service, mosquitto.url);
  await service.graphql(DELETE, { input: { brokerId, filter: 'a/#' } });
  const other = (await service.graphql('mutation { createProject(input: { name: "p" }) { project { id } } }')).data;
  const viewer = (await service.person('VIEWER')).token;
  const stranger = (await service.person('VIEWER', other.createProject.project.id)).token;
  const list = 'query ($id: ID!) { broker(id: $id) { jobs { id kind state broker { id } } } }';
  const { jobs } = (await service.graphql(list, { id: brokerId }, viewer)).data.broker;
  expect(jobs).toEqual([
    { id: expect.any(String), kind: 'RETAINED_DELETION', state: 'DONE', broker: { id: brokerId } },
  ]);
  const [{ id }] = jobs;
  const document = 'query ($id: ID!) { job(id: $id) { id } node(id: $id) { __typename id } }';
  expect((await service.graphql(document, { id }, viewer)).data).toEqual({
    job: { id },
    node: { __typename: 'Job', id },
  });
  const refused = await service.graphql(document, { id }, stranger);
  expect(refused.data).toEqual({ job: null, node: null });
  expect(refused.errors?.map(({ extensions }) => extensions.code)).toEqual(['NOT_FOUND']);
  const live = 'subscription ($id: ID!) { job(id: $id) { kind job { state } } }';
  const snapshot = await subscribe(service, viewer, live, { id }).until(() => true);
  expect(snapshot).toEqual({ job: { kind: 'SNAPSHOT', job: { state: 'DONE' } } });
  await expect(subscribe(service, stranger, live, { id }).until(() => true)).rejects.toMatchObject([
    { extensions: { code: 'NOT_FOUND' } },
  ]);
});

test('of the ended jobs of a broker the last 20 remain', async () => {
  const service = await startTestService();
  const { brokerId } = await furnished(service, { withCluster: false });
  const jobs = new JobStore({ ...service.storage, log: silentLog });
  const ids: string[] = [];
  for (let nth = 0; nth < 22; nth += 1) {
    const job = { kind: 'STREAM_REPLAY', brokerId, subject: `s${nth}`, request: { streamName: 's' } } as const;
    const running = await jobs.begin(job, 'busy');
    await expect(jobs.begin(job, 'busy')).rejects.toMatchObject({ code: 'IN_USE', message: 'busy' });
    // The first one does not end.
    if (nth > 0) running.report({ state: 'DONE', done: 1, total: 1, progress: {}, problem: null });
    await running.close();
    ids.unshift(running.id);
  }
  const list = 'query ($id: ID!) { broker(id: $id) { jobs(first: 100) { id } } }';
  const stored = (await service.graphql(list, { id: brokerId })).data.broker.jobs.map(({ id }: { id: string }) => id);
  // Without the oldest one that has ended, and that of `furnished`.
  expect(stored).toEqual([...ids.slice(0, 20), ids[21]]);
});

test('a process that has lost a job to another one changes it no more, and an ended job does not run again', async () => {
  const service = await startTestService();
  const { brokerId } = await furnished(service, { withCluster: false });
  const jobs = new JobStore({ ...service.storage, log: silentLog });
  const first = await jobs.begin({ kind: 'STREAM_REPLAY', brokerId, subject: 's', request: {} }, 'busy');
  const report = { state: 'RUNNING', done: 5, total: 9, progress: { at: 5 }, problem: null } as const;
  first.report(report);
  await first.flush();
  const second = await jobs.continue(first.id);
  expect(second?.job).toMatchObject({ done: 5, total: 9, progress: '{"at":5}', attempt: 2 });
  // Before it has noticed.
  first.report({ ...report, state: 'FAILED', done: 7, problem: 'late' });
  await first.flush();
  expect(first.isLost).toBe(true);
  expect(await jobs.find(first.id)).toMatchObject({ state: 'RUNNING', done: 5, problem: null, endedAt: null });

  // What was counted does not decrease.
  second?.running.report({ ...report, done: 2, progress: { at: 6 } });
  second?.running.report({ ...report, state: 'DONE', done: 4, progress: { at: 9 } });
  await second?.running.close();
  const ended = { id: first.id, state: 'DONE', done: 5, progress: '{"at":9}', attempt: 2 };
  expect(await jobs.last(brokerId, 'STREAM_REPLAY')).toMatchObject(ended);
  expect(await jobs.continue(first.id)).toBeNull();
  expect(await jobs.unfinished('STREAM_REPLAY')).toEqual([]);
});

test('what is listed, watched and looked for has none of the topics of a deletion, which may be a megabyte', async () => {
  const service = await startTestService();
  const { brokerId } = await furnished(service, { withCluster: false });
  const jobs = new JobStore({ ...service.storage, log: silentLog });
  const request = { filter: null, topics: Array.from({ length: 1_000 }, (_, n) => 'x'.repeat(900) + n) };
  const { id } = await jobs.begin({ kind: 'RETAINED_DELETION', brokerId, subject: 'other', request }, 'busy');
  const read = { found: await jobs.find(id), listed: await jobs.ofBroker(brokerId, 1) };
  expect(read).toMatchObject({ found: { id }, listed: [{ id }] });
  for (const one of [read, await jobs.unfinished('RETAINED_DELETION')])
    expect(JSON.stringify(one).length).toBeLessThan(2_000);
});

test('a job that is just being begun is not continued by its own process', async () => {
  const service = await startTestService();
  const { brokerId } = await furnished(service, { withCluster: false });
  const { db, changes, leases } = service.storage;
  const signals = new EventEmitter();
  const [stored, released] = [once(signals, 'stored'), once(signals, 'released')];
  const slowChanges: Changes = {
    on: (kind, listener) => changes.on(kind, listener),
    announce: async (kind, id) => {
      signals.emit('stored');
      await released;
      return changes.announce(kind, id);
    },
    close: () => changes.close(),
  };
  const kind = 'RETAINED_DELETION';
  const continued: string[] = [];
  const perform = async ({ id }: { readonly id: string }) => continued.push(id);
  const store = new JobStore({ db, changes: slowChanges, log: silentLog });
  const jobs = new LeasedJobs({ store, leases, kind, maxRunning: 4, perform, log: silentLog });
  const runs: string[] = [];
  const done = jobs.run({ brokerId, subject: 'own', request: {} }, 'busy', async ({ running }) => {
    runs.push(running.id);
    running.report({ state: 'DONE', done: 1, total: 1, progress: {}, problem: null });
  });
  await stored;
  // A newer job that no process runs: when it is continued, the sweep has passed the first one.
  const other = new JobStore({ db, changes, log: silentLog });
  const left = await other.begin({ kind, brokerId, subject: 'left', request: {} }, 'busy');
  jobs.start(null);
  await expect.poll(() => continued).toContain(left.id);
  signals.emit('released');
  await done;
  await jobs.close();
  expect(continued).toEqual([left.id]);
  expect(runs).toHaveLength(1);
  expect(await other.find(runs[0] ?? '')).toMatchObject({ state: 'DONE', attempt: 1 });
});

test('a replay that no process runs is ended by the next one, and one that runs refuses it', async () => {
  const mosquitto = await startMosquitto();
  const service = await startTestService();
  const brokerId = await addBroker(service, mosquitto.url);
  const create = 'mutation ($input: CreateStreamInput!) { createStream(input: $input) { stream { name } } }';
  const stream = { brokerId, name: 's', sourceTopic: 'in', process: false, persist: true };
  expect((await service.graphql(create, { input: stream })).errors).toBeUndefined();
  const client = await mosquitto.client();
  const stored = 'query ($id: ID!) { broker(id: $id) { stream(name: "s") { messageCount } } }';
  const storedIn = async () => (await service.graphql(stored, { id: brokerId })).data.broker.stream.messageCount;
  for (let count = 1; count <= 5; count += 1) {
    await client.publishAsync('in', 'x', { qos: 1 });
    await expect.poll(storedIn).toBe(count);
  }
  const replay = async () => {
    const document =
      'mutation ($input: ReplayStreamInput!) { replayStream(input: $input) { stream { replay { jobId state } } } }';
    // A tenth of a second between the first message and the last one lasts for 100 seconds.
    const input = { brokerId, name: 's', topic: 'again', speed: 0.001 };
    const { data, errors } = await service.graphql(document, { input });
    return errors?.[0]?.extensions.code ?? data.replayStream.stream.replay;
  };
  // As an INSERT leaves it whose response was lost.
  const { db, changes } = service.storage;
  const { id: subject } = await db.stream.findFirstOrThrow({ where: { brokerId } });
  const jobs = new JobStore({ db, changes, log: silentLog });
  const lost = await jobs.begin({ kind: 'STREAM_REPLAY', brokerId, subject, request: { streamName: 's' } }, 'busy');
  const running = await replay();
  expect(running).toEqual({ jobId: expect.any(String), state: 'RUNNING' });
  expect(await jobs.find(lost.id)).toMatchObject({ state: 'STOPPED', endedAt: expect.any(Date) });
  expect(await replay()).toBe('IN_USE');
  expect(await jobs.find(running.jobId)).toMatchObject({ state: 'RUNNING', attempt: 1 });
});
