import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { expect, test } from 'vitest';
import { OperationStarts } from '../../../src/platform/limits/operation-starts.ts';
import { QueueFull } from '../../../src/platform/scheduling/concurrency-limit.ts';

const wanted = () => true;
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
  starts.soon(callerOf('a'), () => void started.push(1), wanted);
  expect(started).toEqual([1]);
  starts.soon(callerOf('a'), hold, wanted);
  starts.soon(callerOf('a'), () => void started.push(2), wanted);
  starts.soon(
    callerOf('a'),
    () => void started.push(3),
    () => false,
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
