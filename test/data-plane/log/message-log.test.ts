import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { StoredMessage } from '../../../src/data-plane/log/log-message.ts';
import { runs } from '../../support/suite.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { ALWAYS, append, MEGABYTE, message, openTestStore, readAll, texts } from './store.ts';

test('what was appended is read in its order, forwards and backwards, and by another process after it', async () => {
  const folder = temporaryFolder();
  const store = openTestStore(folder);
  const log = store.log('a');
  const payloads = [Buffer.from([0, 255, 10]), '', 'ä \u0000 text', new Uint8Array([1, 2, 3]).subarray(1)];

  const answers = await append(
    log,
    payloads.map((payload, index) => ({ topic: `t/${index}`, payload, qos: (index % 3) as 0 | 1 | 2 })),
  );

  expect(answers).toEqual([null, null, null, null]);
  const stored = readAll(log);
  expect(stored.map(({ payload }) => payload)).toEqual(payloads.map((payload) => Buffer.from(payload)));
  expect(stored.map(({ topic, qos }) => `${topic} ${qos}`)).toEqual(['t/0 0', 't/1 1', 't/2 2', 't/3 0']);
  expect(readAll(log, true)).toEqual(stored.toReversed());
  expect(log.pendingBytes).toBe(0);
  await store.close();
  expect(readAll(openTestStore(folder).log('a'))).toEqual(stored);
});

test('ids are the time of arrival, and grow where the clock stands or goes back, also across a restart', async () => {
  const folder = temporaryFolder();
  let time = 1_700_000_000_000;
  const first = openTestStore(folder, { now: () => time });
  await append(first.log('a'), [message('1'), message('2')]);
  time -= 60_000;
  await append(first.log('a'), [message('3')]);
  await first.close();
  const second = openTestStore(folder, { now: () => time });
  await append(second.log('a'), [message('4')]);
  time += 3_600_000.5;
  await append(second.log('a'), [message('5')]);

  const start = 1_700_000_000_000_000;
  const ids = [start, start + 1, start + 2, start + 3, start + 3_540_000_500];
  expect(readAll(second.log('a')).map(({ id }) => id)).toEqual(ids);
});

test('a page ends at its limit or its bytes, and holds at least one message', async () => {
  const log = openTestStore(temporaryFolder()).log('a');
  await append(log, [message('1', 1_000), message('2', 1_000), message('3', 5_000), message('4', 10)]);
  const page = (limit: number, maxBytes: number, reverse = false) =>
    texts(log.read({ ...ALWAYS, after: null, reverse, limit, maxBytes }) as StoredMessage[]);

  expect(page(3, MEGABYTE)).toEqual(['1', '2', '3']);
  expect(page(10, 2_000)).toEqual(['1', '2']);
  expect(page(10, 1)).toEqual(['1']);
  expect(page(10, 5_500, true)).toEqual(['4', '3']);
});

const ids = (messages: readonly StoredMessage[]) => messages.map(({ id, topic }) => `${id} ${topic}`);

/** The slow and obvious one. */
class Model {
  messages: StoredMessage[] = [];

  within(from: number | null, to: number | null): StoredMessage[] {
    return this.messages.filter(
      ({ id }) => (from === null || id >= from * 1_000) && (to === null || id < to * 1_000 + 1_000),
    );
  }
}

test('reads, counts and clears as an array of messages would, across restarts', async () => {
  const bound = fc.option(fc.integer({ min: 0, max: 400 }), { freq: 3 });
  const step = fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({
        kind: fc.constant('append'),
        many: fc.integer({ min: 1, max: 30 }),
        bytes: fc.integer({ min: 0, max: 3_000 }),
      }),
    },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('wait'), ms: fc.integer({ min: 0, max: 100 }) }) },
    {
      weight: 3,
      arbitrary: fc.record({
        kind: fc.constant('read'),
        from: bound,
        to: bound,
        reverse: fc.boolean(),
        limit: fc.integer({ min: 1, max: 40 }),
      }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('clear'), from: bound, to: bound }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('restart') }) },
  );
  const START = 1_700_000_000_000;
  await fc.assert(
    fc.asyncProperty(fc.array(step as fc.Arbitrary<Record<string, unknown>>, { maxLength: 25 }), async (steps) => {
      const folder = temporaryFolder();
      let time = START;
      const open = () => openTestStore(folder, { now: () => time });
      let store = open();
      const model = new Model();
      let number = 0;
      for (const each of steps) {
        const log = store.log('a');
        const bounds = {
          from: typeof each.from === 'number' ? START + each.from : null,
          to: typeof each.to === 'number' ? START + each.to : null,
        };
        const expected = model.within(bounds.from, bounds.to);
        if (each.kind === 'append') {
          const before = model.messages.at(-1)?.id ?? 0;
          const batch = Array.from({ length: Number(each.many) }, () => message(String(number++), Number(each.bytes)));
          await append(log, batch);
          const added = log.read({
            ...ALWAYS,
            after: before,
            reverse: false,
            limit: 100,
            maxBytes: MEGABYTE,
          }) as StoredMessage[];
          expect(texts(added)).toEqual(batch.map(({ topic }) => topic.slice(2)));
          model.messages.push(...added);
        } else if (each.kind === 'wait') {
          time += Number(each.ms);
        } else if (each.kind === 'read') {
          expect(log.count(bounds)).toBe(expected.length);
          const seen: StoredMessage[] = [];
          for (;;) {
            const after = seen.at(-1)?.id ?? null;
            const options = { after, reverse: each.reverse === true, limit: Number(each.limit), maxBytes: 20_000 };
            const page = log.read({ ...bounds, ...options }) as StoredMessage[];
            if (page.length === 0) break;
            seen.push(...page);
          }
          expect(ids(seen)).toEqual(ids(each.reverse ? expected.toReversed() : expected));
        } else if (each.kind === 'clear') {
          expect(await log.clear(bounds)).toBe(expected.length);
          model.messages = model.messages.filter((one) => !expected.includes(one));
        } else {
          await store.close();
          store = open();
        }
        const { messages, oldest, newest } = store.log('a').storage();
        expect(messages).toBe(model.messages.length);
        expect(oldest).toBe(model.messages.length > 0 ? Math.floor((model.messages[0]?.id ?? 0) / 1_000) : null);
        expect(newest).toBe(model.messages.length > 0 ? Math.floor((model.messages.at(-1)?.id ?? 0) / 1_000) : null);
      }
      expect(store.problems).toEqual([]);
      await store.close();
    }),
    { numRuns: runs(40) },
  );
});
