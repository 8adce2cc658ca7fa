import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { expect, test } from 'vitest';
import { OperationStarts } from '../../../src/platform/limits/operation-starts.ts';
import { QueueFull } from '../../../src/platform/scheduling/concurrency-limit.ts';

const wanted = () => true;
const fail = (error: unknown) => expect.unreachable(String(error));
const callerOf = (id: string) => ({ viewer: { id }, address: '127.0.0.1' });

/** Holds the thread longer than a slice. */
function hold(): void {
  const end = performance.now() + 15;
  while (performance.now() < end);
}

test('a caller with many small operations waits once for a large one of another caller', async () => {
  const starts = new OperationStarts();
  const started: string[] = [];
  const large = Array.from({ length: 4 }, () =>
    starts.run(callerOf('large'), () => {
      started.push('large');
      hold();
    }),
  );
  const small = Array.from({ length: 20 }, () => starts.run(callerOf('small'), () => void started.push('small')));
  expect(starts.waitingCount).toBeGreaterThan(0);
  await Promise.all([...large, ...small]);
  expect(started.indexOf('small')).toBe(1);
  // All within one or two slices; round robin by number would be 20 turns.
  expect(started.slice(0, 22).filter((each) => each === 'small').length).toBeGreaterThanOrEqual(19);
  expect(starts.waitingCount).toBe(0);
});

test('between two large operations all connections that wait are accepted', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  let accepted = 0;
  server.on('connection', () => {
    accepted += 1;
  });
  const { port } = server.address() as AddressInfo;
  const clients = Array.from({ length: 20 }, () => connect(port, '127.0.0.1'));
  const starts = new OperationStarts();
  const seen: number[] = [];
  await Promise.all(
    Array.from({ length: 3 }, () =>
      starts.run(callerOf('large'), () => {
        seen.push(accepted);
        hold();
      }),
    ),
  );
  expect(seen[2]).toBe(20);
  for (const client of clients) client.destroy();
  server.close();
});

test('an operation starts immediately while nothing waits, and otherwise in its turn unless it is no longer wanted', async () => {
  const starts = new OperationStarts();
  const started: number[] = [];
  starts.soon(callerOf('a'), () => void started.push(1), wanted, fail);
  expect(started).toEqual([1]);
  starts.soon(callerOf('a'), hold, wanted, fail);
  starts.soon(callerOf('a'), () => void started.push(2), wanted, fail);
  starts.soon(
    callerOf('a'),
    () => void started.push(3),
    () => false,
    fail,
  );
  expect(started).toEqual([1]);
  await expect(
    starts.run(
      callerOf('a'),
      () => {},
      () => false,
    ),
  ).rejects.toThrow(QueueFull);
  expect(started).toEqual([1, 2]);
});

test('an error of an operation is passed to its caller, and the next operation starts', async () => {
  const starts = new OperationStarts();
  const failed = starts.run(callerOf('a'), () => {
    throw new Error('at fault');
  });
  const next = starts.run(callerOf('a'), () => {});
  await expect(failed).rejects.toThrow('at fault');
  await next;
  expect(starts.waitingCount).toBe(0);
});

const stranger = (n: number) => ({ viewer: null, address: `10.0.${n >> 8}.${n & 255}` });

test('networks without credentials get half of the slices at most, however many there are', async () => {
  const starts = new OperationStarts();
  const started: string[] = [];
  const strangers = Array.from({ length: 40 }, (_, n) =>
    starts.run(stranger(n), () => {
      started.push('stranger');
      hold();
    }),
  );
  const signedIn = Array.from({ length: 3 }, (_, n) =>
    starts.run(callerOf(`user ${n}`), () => void started.push('user')),
  );
  const known = { ...stranger(1_000), viewer: { id: 'user of a network' } };
  await starts.run(known, () => {});
  // Someone at a known network signs in.
  await starts.run({ ...known, viewer: null }, () => void started.push('known'));
  expect(started.filter((each) => each === 'stranger').length).toBeLessThan(10);
  expect(started.filter((each) => each === 'user')).toHaveLength(3);
  await Promise.all([...strangers, ...signedIn]);
});

test('a network that would wait longer than a second is refused, and callers with credentials are not', async () => {
  const starts = new OperationStarts();
  // Slices of strangers take 15 ms each from now on.
  await Promise.all(Array.from({ length: 60 }, () => starts.run(stranger(0), hold)));
  const results = await Promise.allSettled([
    ...Array.from({ length: 150 }, (_, n) => starts.run(stranger(n), hold)),
    starts.run(callerOf('user'), () => {}),
  ]);
  const refused = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
  expect(refused.length).toBeGreaterThan(50);
  for (const error of refused) expect(error).toMatchObject({ code: 'RATE_LIMITED', info: { retryAfterSeconds: 1 } });
  expect(results.at(-1)?.status).toBe('fulfilled');
  expect(results.filter(({ status }) => status === 'fulfilled').length).toBeGreaterThan(20);
  expect(starts.waitingCount).toBe(0);
});

test('a network with queued operations is refused further ones that would wait longer than a second', async () => {
  const starts = new OperationStarts();
  await Promise.all(Array.from({ length: 60 }, () => starts.run(stranger(0), hold)));
  const results = await Promise.allSettled(Array.from({ length: 300 }, () => starts.run(stranger(0), hold)));
  const fulfilled = results.filter(({ status }) => status === 'fulfilled');
  // A second for operations of 15 ms, and more on a busy machine.
  expect(fulfilled.length).toBeGreaterThan(1);
  expect(fulfilled.length).toBeLessThan(100);
  const small = Array.from({ length: 60 }, () => starts.run(callerOf('user'), hold));
  expect((await Promise.allSettled(small)).every(({ status }) => status === 'fulfilled')).toBe(true);
});

test('credentials make the last 16 addresses of their account known, and no others', async () => {
  const starts = new OperationStarts();
  for (let n = 0; n < 250; n++) await starts.run({ ...stranger(n), viewer: { id: 'token' } }, () => {});
  await starts.run({ ...stranger(300), viewer: { id: 'other' } }, () => {});
  const order: number[] = [];
  const run = (n: number) =>
    starts.run(stranger(n), () => {
      order.push(n);
      hold();
    });
  await Promise.all([...Array.from({ length: 30 }, (_, n) => 1_000 + n), 0, 233, 234, 249, 300].map(run));
  const isKnown = (n: number) => order.indexOf(n) < 10;
  expect([0, 233, 234, 249, 300].map(isKnown)).toEqual([false, false, true, true, true]);
});
