import { expect, onTestFinished, test } from 'vitest';
import { thresholdsOf } from '../../../src/domains/problems/model/problem-thresholds.ts';
import { tokenSource } from '../../../src/domains/problems/sources/expiry-sources.ts';
import { FailureRun } from '../../../src/domains/problems/sources/failure-run.ts';
import { PublishedRate } from '../../../src/domains/problems/sources/published-rate.ts';
import type { ProjectRecord } from '../../../src/domains/projects/project-cache.ts';
import { openTestStorage } from '../../support/database.ts';

const SECOND = 1_000;

test.each([10, 60, 120])('a counter that is published every %d s grows without pauses, and stops', (seconds) => {
  const rate = new PublishedRate();
  const intervalMs = seconds * SECOND;
  // Retained, a moment before the first publication.
  rate.note(100, intervalMs / 4);
  expect(rate.perMinute(intervalMs / 4)).toBeNull();
  let now = intervalMs;
  let count = 100;
  for (let publication = 0; publication < 20; publication += 1) {
    count += seconds * 2;
    rate.note(count, now);
    const next = now + intervalMs + (publication % 2) * (SECOND / 2);
    if (publication > 8)
      for (; now < next; now += 2 * SECOND) expect(Math.abs((rate.perMinute(now) ?? 0) - 120)).toBeLessThan(5);
    else for (; now < next; now += 2 * SECOND) expect(rate.perMinute(now)).toBeGreaterThan(0);
    now = next;
  }
  for (let publication = 0; publication < 3; publication += 1) {
    rate.note(count, now);
    now += intervalMs;
  }
  expect(rate.perMinute(now)).toBe(0);
  // The broker has restarted.
  rate.note(30, now);
  expect(rate.perMinute(now)).toBeGreaterThan(0);
  // It publishes nothing any more.
  expect(rate.perMinute(now + 3 * intervalMs + 20 * SECOND)).toBe(0);
});

test.each([4, 30, 600])(
  'messages of which one arrives every %d s and all fail are a run until one succeeds',
  (seconds) => {
    const run = new FailureRun();
    let [now, received, failed] = [0, 5, 0];
    const arrive = (fails: boolean) => {
      now += seconds * SECOND;
      received += 1;
      if (fails) failed += 1;
      run.note({ received, failed }, now);
    };
    run.note({ received, failed }, now);
    const seen = [true, true, true, true, false, true].map((fails) => {
      arrive(fails);
      return [run.lasts(now), run.lasts(now + seconds * SECOND)].join();
    });
    expect(seen).toEqual(['false,false', 'false,false', 'true,true', 'true,true', 'false,false', 'false,false']);
    for (let count = 0; count < 5; count += 1) arrive(true);
    expect([run.lasts(now), run.lasts(now + 3 * seconds * SECOND)]).toEqual([true, false]);
    run.note({ received: 1, failed: 1 }, now);
    expect(run.lasts(now)).toBe(false);
  },
);

test('tokens that changed while a process did not need them are read again before they are facts', async () => {
  const { db, changes } = await openTestStorage();
  await db.project.create({ data: { id: 'prj_1', name: 'plant' } });
  const validUntil = new Date(Date.now() + 2 * 86_400_000);
  const data = {
    id: 'tok_1',
    projectId: 'prj_1',
    name: 'robot',
    role: 'VIEWER',
    tokenHash: 'x',
    issuer: 'it',
    validUntil,
  } as const;
  await db.projectToken.create({ data });
  let isWanted = true;
  const source = tokenSource({ db, changes, isWanted: () => isWanted });
  onTestFinished(() => source.close?.());
  const facts = () => source.ofProject({ id: 'prj_1' } as ProjectRecord, thresholdsOf(null))?.length ?? null;
  await source.refresh?.();
  expect(facts()).toBe(1);
  isWanted = false;
  await source.refresh?.();
  await db.projectToken.delete({ where: { id: 'tok_1' } });
  isWanted = true;
  const reading = source.refresh?.();
  expect(facts()).toBeNull();
  await reading;
  expect(facts()).toBe(0);
});
