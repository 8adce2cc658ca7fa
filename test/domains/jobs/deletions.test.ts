import { describe, expect, test } from 'vitest';
import { newId } from '../../../src/platform/ids.ts';
import { temporaryFolder, useSqlite } from '../../support/database.ts';
import { startMosquitto } from '../../support/mosquitto.ts';
import { startTestService } from '../../support/service.ts';
import { type StartedService, startServiceHere, startServiceProcess } from '../../support/service-process.ts';
import { subscribe } from '../../support/subscription.ts';
import { addBroker } from '../messages/message-world.ts';
import { retain, SLOW, topicsOf } from '../messages/retained-world.ts';
import { jobIn, oneService, twoServices } from './job-world.ts';

const COUNT = 4_000;
const DELETE = `mutation ($input: DeleteRetainedMessagesInput!) {
  deleteRetainedMessages(input: $input) { deletion { state deletedCount } } }`;
const WATCH = `subscription ($id: ID!) { retainedDeletion(brokerId: $id) {
  deletion { jobId state total deletedCount acknowledgedCount notFoundCount isComplete endedAt } } }`;
const LIST = 'query ($id: ID!) { broker(id: $id) { retainedMessages(filter: "plant/#") { totalCount } } }';

const left = async (service: StartedService, id: string): Promise<number> =>
  (await service.graphql(LIST, { id })).broker.retainedMessages.totalCount;

/** Begins a deletion in one process, and resolves with its job when the other one sees that it deletes. */
async function begun(runner: StartedService, other: StartedService, brokerId: string, what: object) {
  const live = subscribe(other, other.root, WATCH, { id: brokerId });
  await live.until(() => true);
  const response = runner.graphql(DELETE, { input: { brokerId, ...what } }).then(
    () => 'done',
    (error: Error) => error.message,
  );
  const { retainedDeletion } = await live.until(({ retainedDeletion: { deletion } }) => deletion?.state === 'DELETING');
  return { live, response, jobId: retainedDeletion.deletion.jobId as string };
}

describe.skipIf(process.env.TEST_ENGINE !== 'postgresql')('two processes on one database', () => {
  test('a deletion of retained messages is finished by the other process if its own one is killed', async () => {
    const { mosquitto, one, two, brokerId } = await twoServices([startServiceProcess, startServiceHere], [SLOW]);
    await retain(await mosquitto.client(), topicsOf(COUNT), 'x');
    const { live, jobId } = await begun(one, two, brokerId, { filter: 'plant/#' });
    await expect(two.graphql(DELETE, { input: { brokerId, filter: 'plant/#' } })).rejects.toThrow('IN_USE');
    await one.kill();
    expect(await jobIn(two, jobId)).toMatchObject({ kind: 'RETAINED_DELETION', streamName: null });
    const { retainedDeletion } = await live.until(({ retainedDeletion: { deletion } }) => deletion.state === 'DONE');
    expect(retainedDeletion.deletion).toMatchObject({ jobId, isComplete: true });
    expect(await jobIn(two, jobId)).toMatchObject({ state: 'DONE', attempt: 2, problem: null });
    expect(await left(two, brokerId)).toBe(0);
    // Another one may run.
    const { deleteRetainedMessages } = await two.graphql(DELETE, { input: { brokerId, filter: 'plant/#' } });
    expect(deleteRetainedMessages.deletion).toEqual({ state: 'DONE', deletedCount: 0 });
  });

  test('a process that ends gives its deletion to another one, and says so', async () => {
    const { mosquitto, one, two, brokerId } = await twoServices([startServiceHere, startServiceHere], [SLOW]);
    await retain(await mosquitto.client(), topicsOf(COUNT), 'x');
    const { live, response, jobId } = await begun(one, two, brokerId, { filter: 'plant/#' });
    await one.stop();
    expect(await response).toContain(jobId);
    await live.until(({ retainedDeletion: { deletion } }) => deletion.state === 'DONE');
    expect(await jobIn(two, jobId)).toMatchObject({ state: 'DONE', attempt: 2, problem: null });
    expect(await left(two, brokerId)).toBe(0);
  });
});

test('a deletion of retained messages is finished after a restart of the only process', async () => {
  useSqlite();
  const { mosquitto, one, brokerId } = await oneService(startServiceProcess, [SLOW]);
  await retain(await mosquitto.client(), topicsOf(COUNT), 'x');
  const { jobId } = await begun(one, one, brokerId, { filter: 'plant/#' });
  await one.kill();
  const again = await startServiceHere({}, one.dataDir);
  await expect.poll(async () => (await jobIn(again, jobId)).state).toBe('DONE');
  expect(await jobIn(again, jobId)).toMatchObject({ attempt: 2 });
  expect(await left(again, brokerId)).toBe(0);
});

test('what an earlier process had deleted is counted: by name if topics were given, and by number with a filter', async () => {
  useSqlite();
  const mosquitto = await startMosquitto();
  const dataDir = temporaryFolder();
  const first = await startTestService({ dataDir });
  const ids = [await addBroker(first, mosquitto.url), await addBroker(first, mosquitto.url)];
  await retain(await mosquitto.client(), ['a/1', 'a/2', 'b/1', 'b/2', 'b/3'], 'x');
  const topics = ['a/none', 'a/gone', 'a/1', 'a/2'];
  const requests = [
    { filter: null, topics, isDryRun: false },
    { filter: 'b/#', topics: [], isDryRun: false },
  ];
  const counts = { DELETED: 4, ACKNOWLEDGED: 3 };
  const progress = JSON.stringify({ state: 'DELETING', counts, total: 7, interruptions: 1, notFound: [0] });
  const jobs = ids.map((brokerId) => ({ id: newId('job'), brokerId, kind: 'RETAINED_DELETION' as const }));
  await first.storage.db.job.createMany({
    data: jobs.map((job, index) => ({
      ...job,
      subject: '',
      runningKey: `RETAINED_DELETION ${job.brokerId} `,
      request: JSON.stringify(requests[index]),
      state: 'RUNNING' as const,
      progress,
      startedAt: new Date(),
    })),
  });
  await first.close();
  const service = await startTestService({ dataDir });
  const reports = ids.map(async (b) => {
    const live = subscribe(service, service.root, WATCH, { id: b });
    const done = await live.until(({ retainedDeletion: { deletion } }) => deletion.endedAt !== null);
    return done.retainedDeletion.deletion;
  });
  const [given, found] = await Promise.all(reports);
  expect(given).toMatchObject({ state: 'DONE', total: 4, deletedCount: 3, notFoundCount: 1, isComplete: true });
  // The four that were known to be deleted, and the three that were found. Those in between were not counted.
  expect(found).toMatchObject({ state: 'DONE', total: 7, deletedCount: 7, notFoundCount: 0, isComplete: true });
});
