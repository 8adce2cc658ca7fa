import { expect, test } from 'vitest';
import type { ReplayProgress, ReplayRequest } from '../../../../src/data-plane/streams/model/stream-replay.ts';
import { ServiceError } from '../../../../src/platform/errors.ts';
import { definition, reportOf, startEngine, stored } from '../engine/engine-parts.ts';
import { ScriptedSession } from '../engine/scripted-session.ts';
import { ALL, recorded, replayOf, TestClock } from './recorded-stream.ts';

const JOB = { jobId: 'job_1', continued: null };
const FASTEST: ReplayRequest = { ...ALL, speed: 'fastest' };
const TEN = Array.from({ length: 10 }, (_, index) => index);

type Recorded = Awaited<ReturnType<typeof recorded>>;

/** Another engine on the same stored messages, as of another process, with what it publishes. */
async function continued({ store }: Pick<Recorded, 'store'>, replay: ReplayProgress | null, request: ReplayRequest) {
  if (replay === null) throw new Error('There is no replay');
  const session = new ScriptedSession();
  const clock = new TestClock();
  const engine = startEngine(session, { store, clock });
  await engine.put('a', definition({ sourceTopic: 'in', process: false, persist: true }));
  await engine.startReplay('a', request, { jobId: 'job_1', continued: replay });
  clock.pass(0);
  return { engine, payloads: session.published.map(({ payload }) => payload).join(' ') };
}

test.each([
  ['forwards', FASTEST, '2 3 4 5 6 7 8 9', 10],
  ['in reverse', { ...FASTEST, reverse: true }, '7 6 5 4 3 2 1 0', 10],
  ['with a limit', { ...FASTEST, limit: 5 }, '2 3 4', 5],
  ['in reverse with a limit', { ...FASTEST, reverse: true, limit: 5 }, '7 6 5', 5],
] as const)(
  '%s, another engine continues at the first message without an acknowledgement',
  async (_, request, rest, total) => {
    const first = await recorded(TEN);
    first.session.takesAtOnce = false;
    const started = await first.engine.startReplay('a', request, JOB);
    expect(started).toMatchObject({ jobId: 'job_1', checkpoint: { published: 0, total } });
    first.clock.pass(0);
    // The fourth is acknowledged before the third, and is published again.
    for (const place of [0, 1, 3]) first.session.published[place]?.done();
    const replay = await replayOf(first.engine);
    expect(replay).toMatchObject({ published: 3, checkpoint: { published: 2, total } });
    await stored(first.log, 'not of this replay');

    const { engine, payloads } = await continued(first, replay, request);
    expect(payloads).toBe(rest);
    const { id, startedAt } = started;
    expect(await replayOf(engine)).toMatchObject({
      id,
      startedAt,
      jobId: 'job_1',
      state: 'DONE',
      published: total,
      total,
    });
    expect((await reportOf(engine)).counters.replayed).toBe(total - 2);
  },
);

test('a replay that cannot read on is suspended when what it published is acknowledged; another one reads on', async () => {
  const first = await recorded(Array.from({ length: 300 }, (_, index) => index));
  first.session.takesAtOnce = false;
  const { log } = first;
  const read = log.read.bind(log);
  let reads = 0;
  let isAway = true;
  log.read = (options) => {
    if (options.after === null || !isAway) return read(options);
    reads += 1;
    throw new ServiceError('DATABASE_UNAVAILABLE', 'away');
  };
  await first.engine.startReplay('a', FASTEST, JOB);
  first.clock.pass(0);
  const { length: published } = first.news().split(' ');
  expect(published).toBeLessThan(300);
  expect(await replayOf(first.engine)).toMatchObject({ state: 'PAUSED', problem: expect.stringContaining('away') });
  // After 0.5, 1, 2 and 4 s.
  first.clock.pass(10_000);
  expect(reads).toBe(5);
  const suspended = first.engine.suspendReplays();
  for (const message of first.session.published) message.done();
  const replay = (await suspended).get('a') ?? null;
  expect(replay).toMatchObject({ state: 'PAUSED', checkpoint: { published } });
  first.clock.pass(60_000);
  expect(reads).toBe(5);
  await first.engine.close();
  isAway = false;
  expect((await continued(first, replay, FASTEST)).payloads.split(' ')).toHaveLength(300 - published);
});

test('nothing is published after a suspension, which waits for acknowledgements, and nothing twice afterwards', async () => {
  const first = await recorded([0, 100, 200, 300, 400]);
  first.session.takesAtOnce = false;
  await first.engine.startReplay('a', ALL, JOB);
  first.clock.pass(200);
  expect(first.news()).toBe('0 1 2');
  const suspended = first.engine.suspendReplays();
  for (const published of first.session.published) published.done();
  const replay = (await suspended).get('a') ?? null;
  expect(replay).toMatchObject({
    state: 'PAUSED',
    problem: expect.any(String),
    checkpoint: { published: 3, total: 5 },
  });
  first.clock.pass(1_000);
  first.session.lose();
  first.session.connect();
  expect(first.news()).toBe('');
  await first.engine.close();
  expect((await continued(first, replay, FASTEST)).payloads).toBe('3 4');
});

test('a replay that was suspended without a connection, or before it published, continues too', async () => {
  const first = await recorded([0, 100, 200]);
  first.session.lose();
  await first.engine.startReplay('a', ALL, JOB);
  const unpublished = (await first.engine.suspendReplays()).get('a') ?? null;
  expect((await continued(first, unpublished, FASTEST)).payloads).toBe('0 1 2');
  // A process that died before it could store a checkpoint.
  const unknown = { ...(unpublished as ReplayProgress), checkpoint: null };
  expect((await continued(first, unknown, FASTEST)).payloads).toBe('0 1 2');

  const second = await recorded([0, 100, 200]);
  second.session.takesAtOnce = false;
  await second.engine.startReplay('a', FASTEST, JOB);
  second.clock.pass(0);
  second.session.published[0]?.done();
  second.session.lose();
  const lost = (await second.engine.suspendReplays()).get('a') ?? null;
  expect((await continued(second, lost, FASTEST)).payloads).toBe('1 2');
});

test('what was cleared meanwhile is left out', async () => {
  const first = await recorded(TEN);
  first.session.takesAtOnce = false;
  await first.engine.startReplay('a', FASTEST, JOB);
  const { startedAt } = (await replayOf(first.engine)) as ReplayProgress;
  expect(startedAt).toBeGreaterThan(0);
  first.clock.pass(0);
  for (const published of first.session.published.slice(0, 4)) published.done();
  const replay = await replayOf(first.engine);
  await first.engine.clear('a', { from: null, to: null });
  const { engine, payloads } = await continued(first, replay, FASTEST);
  expect(payloads).toBe('');
  expect(await replayOf(engine)).toMatchObject({ state: 'DONE', published: 4, total: 10 });
});
