import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, onTestFinished, test } from 'vitest';
import { temporaryFolder } from '../../support/database.ts';
import { type Mosquitto, startMosquitto } from '../../support/mosquitto.ts';
import { startTestService } from '../../support/service.ts';
import { subscribe } from '../../support/subscription.ts';
import { addBroker, KINDS, messageWorld } from './message-world.ts';
import { DELETION, deleteRetained, retain, retained, SLOW, topicsOf } from './retained-world.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

const COUNT = 100_000;
const MIB = 1_048_576;

function liveMemory(): number {
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/**
 * The largest growth of live memory, in bytes, while the work runs. A measurement stops the process, on a busy machine
 * for longer than the time between two of a fixed interval. So it takes at most a tenth of the time: the bound of 30
 * seconds for one reading applies to the work.
 */
async function growthDuring(work: () => Promise<unknown>): Promise<number> {
  const before = liveMemory();
  let largest = 0;
  let timer: NodeJS.Timeout;
  const measure = () => {
    const start = performance.now();
    largest = Math.max(largest, liveMemory() - before);
    timer = setTimeout(measure, Math.max(250, 9 * (performance.now() - start)));
  };
  measure();
  await work().finally(() => clearTimeout(timer));
  return largest;
}

/** Measuring stops this process for moments, in which Mosquitto would drop messages by default. */
const QUEUES_ALL = 'max_queued_messages 0';

for (const kind of KINDS) {
  test(`${COUNT} retained messages of ${kind} are listed and deleted in bounded memory`, async () => {
    const world = await messageWorld(kind, [QUEUES_ALL]);
    await retain(world.publisher, topicsOf(COUNT), Buffer.alloc(1_024, 'x'));
    const listed = await growthDuring(async () => {
      const page = await retained(world, { n: 100 });
      expect(page).toMatchObject({ totalCount: COUNT, completeness: 'COMPLETE', pageInfo: { hasNextPage: true } });
      expect(page.nodes).toHaveLength(100);
    });
    expect(listed).toBeLessThan(24 * MIB);
    const planned = await growthDuring(async () => {
      const report = await deleteRetained(world, { filter: 'plant/#', dryRun: true });
      expect(report).toMatchObject({ total: COUNT, wouldDeleteCount: COUNT, isComplete: true });
      expect(report.results).toHaveLength(1_000);
    });
    expect(planned).toBeLessThan(64 * MIB);
    const deleted = await growthDuring(async () => {
      const report = await deleteRetained(world, { filter: 'plant/#' });
      expect(report).toMatchObject({ state: 'DONE', total: COUNT, deletedCount: COUNT, isComplete: true });
    });
    expect(deleted).toBeLessThan(64 * MIB);
    expect(await retained(world)).toMatchObject({ totalCount: 0, completeness: 'COMPLETE' });
  });
}

test('what Mosquitto drops by default while it is read is deleted, too', async () => {
  const world = await messageWorld('Mosquitto');
  await retain(world.publisher, topicsOf(COUNT), Buffer.alloc(1_024, 'x'));
  const report = await deleteRetained(world, { filter: 'plant/#' });
  expect(report).toMatchObject({ state: 'DONE', total: COUNT, deletedCount: COUNT, isComplete: true });
  expect(await retained(world)).toMatchObject({ totalCount: 0, completeness: 'COMPLETE' });
});

/** A broker that has saved all messages, and a deletion of which the broker has acknowledged a part. */
async function begunDeletion() {
  const folder = temporaryFolder();
  const mosquitto = await startMosquitto({
    lines: ['persistence true', `persistence_location ${folder}/`, 'autosave_interval 0', QUEUES_ALL, SLOW],
  });
  await retain(await mosquitto.client(), topicsOf(COUNT), 'x');
  await mosquitto.stop();
  await mosquitto.start();
  const service = await startTestService();
  const world = { service, brokerId: await addBroker(service, mosquitto.url) };
  const document = `subscription ($b: ID!) { retainedDeletion(brokerId: $b) { deletion { ${DELETION} } } }`;
  const progress = subscribe(service, service.root, document, { b: world.brokerId });
  onTestFinished(() => progress.end());
  await progress.until(() => true);
  const deletion = deleteRetained(world, { filter: 'plant/#' });
  await progress.until(({ retainedDeletion }) => retainedDeletion.deletion?.acknowledgedCount > 10_000);
  return { mosquitto, world, deletion };
}

const countOf = async (mosquitto: Mosquitto): Promise<number> => {
  const client = await mosquitto.client();
  const topics = new Set<string>();
  client.on('message', (topic) => topics.add(topic));
  await client.subscribeAsync('plant/#');
  await client.publishAsync('end', '', { qos: 1 });
  return topics.size;
};

test('a broker that is killed in the middle restores all messages, and they are deleted again', async () => {
  const { mosquitto, deletion } = await begunDeletion();
  await mosquitto.kill();
  await mosquitto.start();
  expect(await countOf(mosquitto)).toBeGreaterThan(0);
  const report = await deletion;
  expect(report).toMatchObject({ state: 'DONE', total: COUNT, deletedCount: COUNT, isComplete: true });
  expect(report.interruptions).toBeGreaterThanOrEqual(1);
  expect(await countOf(mosquitto)).toBe(0);
});

test('if the broker does not return, the report says what is not known', async () => {
  const { mosquitto, deletion } = await begunDeletion();
  await mosquitto.kill();
  const report = await deletion;
  expect(report).toMatchObject({ state: 'FAILED', total: COUNT, deletedCount: 0, isComplete: false });
  expect(report.problem).toMatch(/refused|lost|reset/i);
  const { acknowledgedCount, unknownCount, remainingCount } = report;
  expect(acknowledgedCount).toBeGreaterThan(10_000);
  expect(unknownCount).toBeLessThanOrEqual(500);
  expect(remainingCount).toBeGreaterThan(0);
  expect(acknowledgedCount + unknownCount + remainingCount).toBe(COUNT);
  // What was acknowledged is there again.
  await mosquitto.start();
  expect(await countOf(mosquitto)).toBe(COUNT);
});
