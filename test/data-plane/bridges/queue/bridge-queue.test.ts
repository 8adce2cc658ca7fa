import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { BridgeMessage } from '../../../../src/data-plane/bridges/model/bridge-message.ts';
import { BridgeQueue } from '../../../../src/data-plane/bridges/queue/bridge-queue.ts';
import type { QueueEntry } from '../../../../src/data-plane/bridges/queue/queue-entry.ts';
import { sqliteQueues } from '../../../../src/data-plane/bridges/queue/sqlite-queues.ts';
import { runs } from '../../../support/suite.ts';
import { temporaryFolder } from '../../../support/temporary-folder.ts';
import { GROUP, LARGE, message, openQueue, turns } from './queue-world.ts';

/** Bytes of a page of the file. */
const PAGE = 8_192;

const texts = (entries: readonly QueueEntry[]) => entries.map((entry) => entry.message.payload.toString());

function push(queue: BridgeQueue, ...all: string[]): string[] {
  const taken: string[] = [];
  for (const text of all) queue.push(message(text), () => taken.push(text));
  return taken;
}

/** Takes and settles all there is. */
function drain(queue: BridgeQueue): string[] {
  const found: string[] = [];
  for (let some = queue.take(7, LARGE.maxBytes); some.length > 0; some = queue.take(7, LARGE.maxBytes)) {
    found.push(...texts(some));
    for (const entry of some) queue.settle(entry);
  }
  return found;
}

test('a message that is delivered immediately is acknowledged then, and never written to disk', async () => {
  const folder = temporaryFolder();
  const { queue } = await openQueue({ folder });
  const taken = push(queue, 'a', 'b');
  const [a, b] = queue.take(10, 1_000);
  expect([a?.message.payload.toString(), b?.message.payload.toString(), taken]).toEqual(['a', 'b', []]);
  queue.settle(b as QueueEntry);
  queue.settle(b as QueueEntry);
  queue.settle(a as QueueEntry);
  expect(taken).toEqual(['b', 'a']);
  expect([queue.length, queue.bytes]).toEqual([0, 0]);
  await turns(5);
  expect(readdirSync(folder)).toEqual([]);
});

test('while delivery is stopped, messages are acknowledged when they are on disk', async () => {
  const folder = temporaryFolder();
  const { queue } = await openQueue({ folder });
  const before = push(queue, 'a');
  const [given] = queue.take(1, 1_000);
  queue.setDelivering(false);
  const after = push(queue, 'b', 'c');
  expect([before, after]).toEqual([[], []]);
  await turns(5);
  expect([before, after]).toEqual([['a'], ['b', 'c']]);
  queue.settle(given as QueueEntry);
  queue.setDelivering(true);
  expect(drain(queue)).toEqual(['b', 'c']);
});

test('a message that waits too long for its delivery goes to disk, and is still delivered once', async () => {
  const { queue } = await openQueue({ folder: temporaryFolder() });
  await new Promise<void>((resolve) => queue.push(message('slow'), resolve));
  expect(queue.length).toBe(1);
  expect(drain(queue)).toEqual(['slow']);
});

test('more messages than a small window go to disk, in order', async () => {
  const { queue } = await openQueue({ folder: temporaryFolder() });
  const all = Array.from({ length: 12_000 }, (_, index) => String(index));
  const taken = push(queue, ...all);
  await turns(40);
  expect(taken).toHaveLength(12_000);
  expect(drain(queue)).toEqual(all);
  expect([queue.length, queue.bytes]).toEqual([0, 0]);
});

test('what is on disk, with all that belongs to it, is there after a restart; what was delivered is not', async () => {
  const folder = temporaryFolder();
  const { queue: first, close } = await openQueue({ folder });
  const rich = message('rich', {
    qos: 2,
    retain: true,
    topic: 'ä/b',
    receivedAt: 1_700_000_000_000,
    properties: {
      contentType: 'text/plain',
      responseTopic: 'answer',
      correlationData: Buffer.from([0, 255]),
      payloadFormatIndicator: true,
      messageExpiryInterval: 77,
      userProperties: [
        ['a', '1'],
        ['a', '2'],
      ],
    },
  });
  first.setDelivering(false);
  first.push(message('delivered'), () => {});
  first.push(rich, () => {});
  push(first, 'c', 'd');
  await turns(5);
  for (const entry of first.take(1, 1_000)) first.settle(entry);
  await close({ discard: false });

  const { queue } = await openQueue({ folder });
  expect(queue.length).toBe(3);
  const [entry] = queue.take(1, 1_000);
  expect(entry?.message).toEqual(rich);
  queue.settle(entry as QueueEntry);
  expect(drain(queue)).toEqual(['c', 'd']);
  expect([queue.length, queue.bytes]).toEqual([0, 0]);
});

test('close writes and acknowledges messages in memory; with `discard` it deletes all', async () => {
  const folder = temporaryFolder();
  const kept = await openQueue({ folder });
  const taken = push(kept.queue, 'a', 'b');
  await kept.close({ discard: false });
  expect(taken).toEqual(['a', 'b']);
  const again = await openQueue({ folder });
  expect(drain(again.queue)).toEqual(['a', 'b']);
  again.queue.setDelivering(false);
  push(again.queue, 'c');
  await turns(5);
  await again.close({ discard: true });
  expect(readdirSync(folder)).toEqual([]);
});

test('a lost connection gives out again what was not settled, in its order', async () => {
  const { queue } = await openQueue({ folder: temporaryFolder() });
  push(queue, 'a', 'b', 'c', 'd');
  const [, b] = queue.take(3, 1_000);
  queue.settle(b as QueueEntry);
  queue.restore();
  expect(drain(queue)).toEqual(['a', 'c', 'd']);
});

test('a full queue drops and acknowledges new messages, and accepts messages again when it has room', async () => {
  const { queue } = await openQueue({ folder: temporaryFolder(), bounds: { maxMessages: 3, maxBytes: 10_000 } });
  queue.setDelivering(false);
  const taken = push(queue, 'a', 'b', 'c', 'd', 'e');
  expect([taken, queue.length, queue.dropped]).toEqual([['d', 'e'], 3, 2]);
  queue.push(message('x'.repeat(20_000)), () => taken.push('large'));
  expect(queue.dropped).toBe(3);
  queue.setDelivering(true);
  for (const entry of queue.take(1, 1_000)) queue.settle(entry);
  push(queue, 'f');
  queue.setBounds({ maxMessages: 4, maxBytes: 10_000 });
  push(queue, 'g', 'h');
  expect(drain(queue)).toEqual(['b', 'c', 'f', 'g']);
  expect(queue.dropped).toBe(4);
});

test('listeners are notified when the empty queue gets a message', async () => {
  const { queue } = await openQueue({ folder: temporaryFolder() });
  let told = 0;
  const stop = queue.onReady(() => {
    told += 1;
  });
  push(queue, 'a', 'b');
  expect(told).toBe(1);
  const given = queue.take(5, 1_000);
  push(queue, 'c');
  expect([given.length, told]).toEqual([2, 2]);
  stop();
  drain(queue);
  push(queue, 'd');
  expect(told).toBe(2);
});

test('a damaged file is set aside and reported, and the queue continues', async () => {
  const folder = temporaryFolder();
  const { queue: first, close } = await openQueue({ folder });
  first.setDelivering(false);
  push(first, 'a');
  await close({ discard: false });
  const [file] = readdirSync(folder).filter((name) => name.endsWith('.sqlite'));
  writeFileSync(join(folder, String(file)), 'no database at all, and longer than a header of one has to be'.repeat(20));
  const { queue, problems } = await openQueue({ folder });
  expect(problems).toEqual([expect.stringContaining('set aside')]);
  push(queue, 'b');
  expect(drain(queue)).toEqual(['b']);
});

test('of a file with a damaged page what is before comes, the rest is set aside, and the queue goes on', async () => {
  const folder = temporaryFolder();
  const { queue: first, close } = await openQueue({ folder });
  first.setDelivering(false);
  const numbered = Array.from({ length: 3_000 }, (_, index) => String(index).padStart(500, '0'));
  const taken = push(first, ...numbered);
  await close({ discard: false });
  expect(taken).toHaveLength(3_000);
  const path = join(folder, String(readdirSync(folder).find((name) => name.endsWith('.sqlite'))));
  const bytes = readFileSync(path);
  const start = Math.floor(bytes.indexOf(String(numbered[2_000])) / PAGE) * PAGE;
  writeFileSync(path, bytes.fill(0x5a, start, start + PAGE));
  const { queue, problems, close: closeNext } = await openQueue({ folder });
  const before = drain(queue);
  expect(before.length).toBeGreaterThan(1_000);
  expect(before).toEqual(numbered.slice(0, before.length));
  expect(problems).toEqual([
    expect.stringMatching(`set aside.*${3_000 - before.length} messages of the queue are lost`),
  ]);
  expect([queue.length, queue.bytes]).toEqual([0, 0]);
  queue.setDelivering(false);
  const later = push(queue, 'a', 'b');
  await closeNext({ discard: false });
  expect(later).toEqual(['a', 'b']);
  const next = await openQueue({ folder });
  expect([drain(next.queue), next.problems]).toEqual([['a', 'b'], []]);
});

test('a disk failure and its end are reported once; messages wait in memory without acknowledgement, and are delivered', async () => {
  const folder = join(temporaryFolder(), 'no-folder');
  const { queue, problems, close } = await openQueue({ folder });
  writeFileSync(folder, '');
  queue.setDelivering(false);
  const taken = push(queue, 'a', 'b');
  await turns(5);
  push(queue, 'c');
  await turns(5);
  expect([taken, problems]).toEqual([[], [expect.stringContaining('The disk failed')]]);
  queue.setDelivering(true);
  expect(drain(queue)).toEqual(['a', 'b', 'c']);
  expect(taken).toEqual(['a', 'b']);
  rmSync(folder);
  push(queue, 'd');
  await close({ discard: false });
  expect(problems.slice(1)).toEqual([null]);
});

test('queues of names that are not used any more are removed', async () => {
  const folder = temporaryFolder();
  for (const name of ['kept', 'left']) {
    const { queue, close } = await openQueue({ folder, name });
    queue.setDelivering(false);
    push(queue, name);
    await close({ discard: false });
  }
  const store = sqliteQueues(GROUP, folder, undefined);
  await store.removeOthers(['kept']);
  await store.close({ discard: false });
  for (const [name, left] of [
    ['left', []],
    ['kept', ['kept']],
  ] as const) {
    const { queue, close } = await openQueue({ folder, name });
    expect(drain(queue)).toEqual(left);
    await close({ discard: false });
  }
  const none = sqliteQueues(GROUP, join(folder, 'never made'), undefined);
  await none.removeOthers([]);
  await none.close({ discard: true });
  expect(existsSync(join(folder, 'never made'))).toBe(false);
});

/** Runs the same steps on a queue and an array. An acknowledged message must never be lost. */
type Step =
  | { readonly kind: 'push'; readonly count: number }
  | { readonly kind: 'take'; readonly count: number }
  | { readonly kind: 'settle'; readonly picks: readonly number[] }
  | { readonly kind: 'restore' | 'stop' | 'go' | 'wait' | 'restart' };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('push' as const), count: fc.integer({ min: 1, max: 1_500 }) }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('take' as const), count: fc.integer({ min: 1, max: 1_500 }) }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('settle' as const),
      picks: fc.array(fc.nat({ max: 2_000 }), { minLength: 1, maxLength: 400 }),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constantFrom('restore', 'stop', 'go', 'wait', 'restart') }) },
);

test('does what an array would do, whatever the order of steps', async () => {
  const store = sqliteQueues(GROUP, temporaryFolder(), undefined);
  let run = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
      run += 1;
      const bounds = { maxMessages: 4_000, maxBytes: LARGE.maxBytes };
      const open = async () =>
        new BridgeQueue({
          log: await store.open(String(run)),
          bounds,
          onProblem: (reason) => expect.unreachable(String(reason)),
        });
      let queue = await open();
      let pushed = 0;
      let dropped = 0;
      let waiting: string[] = [];
      let given: { readonly entry: QueueEntry; readonly text: string }[] = [];
      const back = () => {
        waiting = [...given.map(({ text }) => text), ...waiting];
        given = [];
      };
      for (const each of steps) {
        if (each.kind === 'push') {
          for (let index = 0; index < each.count; index += 1) {
            pushed += 1;
            const text = String(pushed);
            if (waiting.length + given.length < bounds.maxMessages) waiting.push(text);
            else dropped += 1;
            const content: BridgeMessage = message(text);
            queue.push(content, () => {});
          }
        } else if (each.kind === 'take') {
          const entries = queue.take(each.count, LARGE.maxBytes);
          const expected = waiting.splice(0, each.count);
          expect(texts(entries)).toEqual(expected);
          given.push(...entries.map((entry, index) => ({ entry, text: String(expected[index]) })));
        } else if (each.kind === 'settle') {
          for (const pick of each.picks) {
            const [one] = given.splice(pick % Math.max(1, given.length), 1);
            if (one) queue.settle(one.entry);
          }
        } else if (each.kind === 'restore') {
          queue.restore();
          back();
        } else if (each.kind === 'wait') await turns(3);
        else if (each.kind === 'restart') {
          expect(queue.dropped).toBe(dropped);
          dropped = 0;
          await queue.close({ discard: false });
          queue = await open();
          back();
        } else queue.setDelivering(each.kind === 'go');
        expect([queue.length, queue.dropped]).toEqual([waiting.length + given.length, dropped]);
      }
      queue.restore();
      back();
      expect(drain(queue)).toEqual(waiting);
      expect([queue.length, queue.bytes]).toEqual([0, 0]);
      await queue.close({ discard: true });
    }),
    { numRuns: runs(60) },
  );
  await store.close({ discard: true });
});
