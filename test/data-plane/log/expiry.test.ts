import fc from 'fast-check';
import { expect, test } from 'vitest';
import { runs } from '../../support/suite.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { ALWAYS, append, message, openTestStore, readAll, texts } from './store.ts';

interface Appended {
  readonly text: string;
  /** Epoch milliseconds. */
  readonly at: number;
  /** It was older than the ttl once. */
  mayBeGone: boolean;
}

test('nothing younger than the ttl is ever missing, nothing older than twice that remains, whatever the traffic', async () => {
  const stream = fc.record({ ttl: fc.integer({ min: 1, max: 200 }), laterTtl: fc.integer({ min: 0, max: 200 }) });
  const traffic = fc.array(
    fc.record({ wait: fc.double({ min: 0, max: 1, noNaN: true }), many: fc.integer({ min: 0, max: 5 }) }),
    {
      minLength: 10,
      maxLength: 60,
    },
  );
  await fc.assert(
    fc.asyncProperty(
      stream,
      traffic,
      fc.nat(60),
      fc.nat(60),
      async ({ ttl: first, laterTtl }, steps, changeAt, restartAt) => {
        const folder = temporaryFolder();
        let ttl = first;
        let time = 1_700_000_000_000;
        const open = () => openTestStore(folder, { now: () => time });
        let store = open();
        store.log('a').setTtl(ttl);
        const appended: Appended[] = [];
        for (const [index, { wait, many }] of steps.entries()) {
          // Its timer comes at least as often.
          time += Math.floor((wait * (ttl || 100) * 1_000) / 8);
          if (index === changeAt) {
            ttl = laterTtl;
            store.log('a').setTtl(ttl);
          }
          if (index === restartAt) {
            await store.close();
            store = open();
          }
          for (const each of appended) each.mayBeGone ||= ttl > 0 && time - each.at > ttl * 1_000;
          const batch = Array.from({ length: many }, (_, nth) => ({
            text: `${index}-${nth}`,
            at: time,
            mayBeGone: false,
          }));
          expect(
            await append(
              store.log('a'),
              batch.map(({ text }) => message(text)),
            ),
          ).toEqual(batch.map(() => null));
          appended.push(...batch);
          await store.expire();

          const stored = readAll(store.log('a'));
          const present = new Set(texts(stored));
          expect(appended.filter((each) => !each.mayBeGone && !present.has(each.text))).toEqual([]);
          if (ttl > 0) {
            const tooOld = time - 2_000 * ttl;
            expect(appended.filter((each) => each.at < tooOld && present.has(each.text))).toEqual([]);
            // On disk, too.
            expect(store.log('a').storage().oldest ?? time).toBeGreaterThanOrEqual(tooOld);
          }
          expect(store.log('a').storage().messages).toBe(stored.length);
        }
        expect(store.problems).toEqual([]);
        await store.close();
      },
    ),
    { numRuns: runs(20) },
  );
});

test('a stream that is not opened after a start expires as well', async () => {
  const folder = temporaryFolder();
  let time = 1_700_000_000_000;
  const first = openTestStore(folder, { now: () => time });
  for (const [id, ttl] of [
    ['short', 60],
    ['long', 6_000],
    ['for-ever', 0],
  ] as const) {
    first.log(id).setTtl(ttl);
    await append(first.log(id), [message('1')]);
  }
  await first.close();
  time += 61_000;

  const second = openTestStore(folder, { now: () => time });
  expect(second.ids().toSorted()).toEqual(['for-ever', 'long', 'short']);
  await second.expire();

  expect(second.ids().toSorted()).toEqual(['for-ever', 'long']);
  expect(readAll(second.log('long'))).toHaveLength(1);
});

test('a shorter ttl holds at once for what is read, and soon for what is on disk', async () => {
  const folder = temporaryFolder();
  let time = 1_700_000_000_000;
  const store = openTestStore(folder, { now: () => time });
  const log = store.log('a');
  log.setTtl(86_400);
  for (let index = 0; index < 100; index += 1) {
    await append(log, [message(String(index))]);
    time += 60_000;
  }
  log.setTtl(600);

  expect(texts(readAll(log))).toEqual(Array.from({ length: 20 }, (_, index) => String(80 + index)));
  expect(log.count(ALWAYS)).toBe(20);
  await store.expire();
  expect(log.storage().messages).toBe(10);
});

test('with a ttl of one second a message is gone by itself', async () => {
  const folder = temporaryFolder();
  const log = openTestStore(folder).log('a');
  log.setTtl(1);
  expect(await append(log, [message('1')])).toEqual([null]);

  await expect.poll(() => log.storage().messages).toBe(0);
  expect(readAll(log)).toEqual([]);
  expect(log.storage()).toEqual({ state: 'STORING', messages: 0, bytes: 0, oldest: null, newest: null, problem: null });
});
