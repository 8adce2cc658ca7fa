import { expect, onTestFinished, test, vi } from 'vitest';
import { ANYTHING } from '../../../src/platform/storage/changes/changes.ts';
import { Rereading } from '../../../src/platform/storage/changes/rereading.ts';
import { silentLog } from '../../support/database.ts';

/** Reads that end when the test ends them. */
function controlled() {
  const readings: { id: string; isOutdated: (id: string) => boolean; end: () => void }[] = [];
  const rereading = new Rereading(silentLog, (id, isOutdated) => {
    return new Promise((end) => readings.push({ id, isOutdated, end }));
  });
  return { rereading, readings };
}

test('announcements during a read cause one further read, so that no older result is last', async () => {
  const { rereading, readings } = controlled();
  rereading.listener('a');
  rereading.listener('a');
  rereading.listener('a');
  expect(readings.map(({ id }) => id)).toEqual(['a']);
  const closed = rereading.close();
  readings[0]?.end();
  await expect.poll(() => readings.length).toBe(2);
  readings[1]?.end();
  await closed;
  expect(readings.map(({ id }) => id)).toEqual(['a', 'a']);
});

test('a write of this process during a read is newer than its result', async () => {
  const { rereading, readings } = controlled();
  rereading.written('a');
  rereading.listener(ANYTHING);
  rereading.written('b');
  expect(readings[0]?.isOutdated('a')).toBe(false);
  expect(readings[0]?.isOutdated('b')).toBe(true);
  readings[0]?.end();
  await rereading.close();
});

test('a flood of announcements becomes one read of everything', async () => {
  const { rereading, readings } = controlled();
  for (let i = 0; i < 5_000; i++) rereading.listener(`id ${i}`);
  readings[0]?.end();
  await expect.poll(() => readings.length).toBe(2);
  expect(readings[1]?.id).toBe(ANYTHING);
  readings[1]?.end();
  await rereading.close();
  expect(readings.length).toBe(2);
});

test('a failed read is retried without another announcement, and does not delay other reads', async () => {
  const readings: string[] = [];
  const rereading = new Rereading(silentLog, async (id) => {
    readings.push(id);
    if (readings.length === 1) throw new Error('The database restarts');
  });
  rereading.listener('a');
  rereading.listener('b');
  await expect.poll(() => readings).toEqual(['a', 'b', 'a']);
  await rereading.close();
});

test('a read that fails for long is retried in growing intervals, also during announcements of others, until closed', async () => {
  vi.useFakeTimers();
  onTestFinished(() => {
    vi.useRealTimers();
  });
  let failures = 0;
  const rereading = new Rereading(silentLog, async (id) => {
    if (id !== 'a') return;
    failures += 1;
    throw new Error('The row cannot be read');
  });
  rereading.listener('a');
  for (let i = 0; i < 600; i++) {
    rereading.listener('b');
    await vi.advanceTimersByTimeAsync(1_000);
  }
  expect(failures).toBeGreaterThan(60);
  expect(failures).toBeLessThan(70);
  await rereading.close();
  const atEnd = failures;
  await vi.advanceTimersByTimeAsync(3_600_000);
  expect(failures).toBe(atEnd);
});
