import { describe, expect, test } from 'vitest';
import { useSqlite } from '../../support/database.ts';
import { type StartedService, startServiceHere, startServiceProcess } from '../../support/service-process.ts';
import { subscribe, type TestSubscription } from '../../support/subscription.ts';
import { isLong } from '../../support/suite.ts';
import { jobIn, oneService, repeatedOf, runnerOf, storedNumbers, twoServices } from './job-world.ts';

const COUNT = 1_000;
const SECONDS = 8;
const LIVE = 'subscription ($id: ID!) { job(id: $id) { kind job { state done total attempt problem } } }';
const STOP = 'mutation ($input: StreamInput!) { stopStreamReplay(input: $input) { stream { isReplaying } } }';
const DRAIN = 'mutation ($input: DrainProcessInput!) { drainProcess(input: $input) { process { isDraining } } }';
const numbersTo = (count: number) => Array.from({ length: count }, (_, index) => index);

/** Messages that may be unacknowledged: Mosquitto sends 20 of them to the receiver, and the replay has a window. */
const IN_FLIGHT = 20;

async function statesUntilDone(live: TestSubscription): Promise<string[]> {
  const states: string[] = [];
  await live.until(({ job }) => states.push(job.job?.state) > 0 && job.job?.state === 'DONE');
  return states;
}

describe.skipIf(process.env.TEST_ENGINE !== 'postgresql')('two processes on one database', () => {
  test('a replay continues in the other process if its own one is killed', async () => {
    const world = await twoServices([startServiceProcess, startServiceProcess]);
    const { heard, replay } = await storedNumbers(world, COUNT);
    const { runner, other } = await runnerOf(world.one, world.two);
    const id = await replay(other, SECONDS);
    const live = subscribe(other, other.root, LIVE, { id });
    // Through the process that does not run it.
    await live.until(({ job }) => job.kind === 'SNAPSHOT' && job.job.total === COUNT);
    await live.until(({ job }) => job.kind === 'CHANGE' && job.job.done > COUNT / 4);
    await runner.kill();
    expect(await jobIn(other, id)).toMatchObject({
      kind: 'STREAM_REPLAY',
      streamName: 's',
      total: COUNT,
      endedAt: null,
    });

    const states = await statesUntilDone(live);
    expect(states).not.toContain('FAILED');
    expect(states).not.toContain('STOPPED');
    await expect(live.until(() => false)).rejects.toThrow('The subscription ended');
    expect(await jobIn(other, id)).toMatchObject({
      state: 'DONE',
      done: COUNT,
      total: COUNT,
      attempt: 2,
      problem: null,
    });
    await expect.poll(() => new Set(heard).size).toBe(COUNT);
    const repeated = repeatedOf(heard, numbersTo(COUNT));
    // One piece, of what was published since the last write. Progress is written once per second.
    expect(repeated).toEqual(numbersTo(repeated.length).map((index) => index + (repeated[0] ?? 0)));
    expect(repeated.length).toBeLessThan(COUNT / 2);
    console.log(`${repeated.length} of ${COUNT} messages came twice after a kill, ${COUNT / SECONDS} per second`);
  });

  test.runIf(isLong).each([
    ['in reverse', { reverse: true }, numbersTo(COUNT).reverse()],
    ['with a limit', { limit: 700 }, numbersTo(700)],
  ] as const)('a replay %s moves to another process, and repeats little or nothing', async (_, more, expected) => {
    const world = await twoServices([startServiceHere, startServiceHere]);
    const { heard, replay } = await storedNumbers(world, COUNT);
    const { runner, other } = await runnerOf(world.one, world.two);
    const id = await replay(other, SECONDS, more);
    const live = subscribe(other, other.root, LIVE, { id });
    await live.until(({ job }) => job.job?.done > expected.length / 4);
    const processes = (await runner.graphql('{ processes { processId isSelf } }')).processes;
    const { processId } = processes.find(({ isSelf }: { isSelf: boolean }) => isSelf);
    await other.graphql(DRAIN, { input: { processId, isDraining: true } });
    const states = await statesUntilDone(live);
    expect(states).toContain('PAUSED');
    const { length: total } = expected;
    expect(await jobIn(runner, id)).toMatchObject({ state: 'DONE', done: total, total, attempt: 2 });
    await expect.poll(() => new Set(heard).size).toBe(total);
    const repeated = repeatedOf(heard, expected);
    expect(repeated.length).toBeLessThanOrEqual(IN_FLIGHT);
    console.log(`${repeated.length} of ${total} messages came twice after a move`);
  });

  test('a replay goes on after the database did not respond to it', async () => {
    const world = await twoServices([startServiceHere, startServiceHere]);
    const { heard, replay } = await storedNumbers(world, COUNT);
    const id = await replay(world.one, SECONDS);
    const [lock, other] = [await world.sql(), await world.sql()];
    await lock('BEGIN');
    await lock('LOCK TABLE messages.log_message');
    const end = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE wait_event_type = 'Lock' AND query LIKE '%log_message%' AND datname = current_database()`;
    await expect.poll(() => other(end)).not.toEqual([]);
    await expect.poll(async () => (await jobIn(world.one, id)).state).toBe('PAUSED');
    await lock('COMMIT');
    await expect.poll(async () => (await jobIn(world.one, id)).state).toBe('DONE');
    expect(await jobIn(world.one, id)).toMatchObject({ done: COUNT, total: COUNT, problem: null });
    expect(heard).toEqual(numbersTo(COUNT));
  });

  test('a second replay is refused, and one is stopped through the process that does not run it', async () => {
    const world = await twoServices([startServiceHere, startServiceHere]);
    const { heard, replay } = await storedNumbers(world, COUNT);
    const { runner, other } = await runnerOf(world.one, world.two);
    const id = await replay(runner, SECONDS);
    for (const service of [runner, other]) await expect(replay(service, SECONDS)).rejects.toThrow('IN_USE');
    await other.graphql(STOP, { input: { brokerId: world.brokerId, name: 's' } });
    await expect.poll(async () => (await jobIn(other, id)).state).toBe('STOPPED');
    // Not continued by another process.
    await runner.stop();
    const next = await replay(other, 1, { limit: 10 });
    await expect.poll(async () => (await jobIn(other, next)).state).toBe('DONE');
    expect(await jobIn(other, id)).toMatchObject({ state: 'STOPPED', attempt: 1 });
    expect(heard.slice(-10)).toEqual(numbersTo(10));
  });
});

test.each(['kill', 'stop'] as const)('a replay continues after the restart of the only process (%s)', async (end) => {
  useSqlite();
  const world = await oneService<StartedService>(end === 'kill' ? startServiceProcess : startServiceHere);
  const { one } = world;
  const { heard, replay } = await storedNumbers(world, COUNT);
  const id = await replay(one, SECONDS);
  await expect.poll(async () => (await jobIn(one, id)).done).toBeGreaterThan(COUNT / 4);
  await (one.kill ?? one.stop)();
  const again = await startServiceHere({}, one.dataDir);
  await expect.poll(async () => (await jobIn(again, id)).state).toBe('DONE');
  expect(await jobIn(again, id)).toMatchObject({ state: 'DONE', done: COUNT, total: COUNT, attempt: 2 });
  await expect.poll(() => new Set(heard).size).toBe(COUNT);
  const repeated = repeatedOf(heard, numbersTo(COUNT));
  expect(repeated.length).toBeLessThanOrEqual(end === 'stop' ? IN_FLIGHT : COUNT / 2);
  const list = 'query ($id: ID!) { broker(id: $id) { jobs { id } stream(name: "s") { replay { jobId state } } } }';
  expect((await again.graphql(list, { id: world.brokerId })).broker).toEqual({
    jobs: [{ id }],
    stream: { replay: { jobId: id, state: 'DONE' } },
  });
});
