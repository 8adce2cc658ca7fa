import { PassThrough } from 'node:stream';
import { expect, onTestFinished, test, vi } from 'vitest';
import { IterationBatch, pauseShortIterations } from '../../../src/platform/scheduling/iteration-batch.ts';
import { OutgoingMessages } from '../../../src/protocol/mqtt/outgoing-messages.ts';
import { PacketIds } from '../../../src/protocol/mqtt/packet-ids.ts';
import { PacketWriter, PUBACK } from '../../../src/protocol/mqtt/packet-writer.ts';

const nextIteration = () => new Promise((resolve) => setImmediate(resolve));

test('callbacks of an iteration run at its end in order, followed by one call of onEnd', async () => {
  const done: string[] = [];
  const batch = new IterationBatch(() => done.push('end'));
  batch.add(() => {
    done.push('a');
    batch.add(() => done.push('c'));
  });
  batch.add(() => done.push('b'));
  expect(done).toEqual([]);
  await nextIteration();
  expect(done).toEqual(['a', 'b', 'end']);
  await nextIteration();
  expect(done).toEqual(['a', 'b', 'end', 'c', 'end']);
  await nextIteration();
  expect(done).toHaveLength(5);
  // skipEnd may precede the first callback of the iteration.
  batch.skipEnd();
  batch.add(() => done.push('d'));
  await nextIteration();
  batch.add(() => done.push('e'));
  await nextIteration();
  expect(done.slice(5)).toEqual(['d', 'e', 'end']);
});

test('onEnd is skipped while messages wait for an acknowledgement of the broker', async () => {
  let ends = 0;
  const batch = new IterationBatch(() => {
    ends += 1;
  });
  const limits = {
    timeoutMs: 60_000,
    version: 5 as const,
    receiveMaximum: 1,
    maximumPacketSize: 1_000,
    isBoundedByCaller: true,
  };
  const outgoing = new OutgoingMessages(new PacketWriter(new PassThrough(), 5, batch), new PacketIds(), limits);
  const taken: number[] = [];
  const message = { topic: 'a', payload: 'b', qos: 1, retain: false } as const;
  for (const number of [1, 2, 3]) outgoing.send(message, () => taken.push(number));
  await nextIteration();
  expect(ends).toBe(0);
  outgoing.acknowledged('puback', 1, 0);
  await nextIteration();
  expect([ends, taken]).toEqual([0, [1]]);
  outgoing.acknowledged('puback', 2, 0);
  await nextIteration();
  expect([ends, taken]).toEqual([1, [1, 2]]);
  outgoing.close();
});

test('connections that share a batch write once each at the end of the iteration', async () => {
  const written: string[] = [];
  const batch = new IterationBatch(() => written.push('end'));
  const writers = ['a', 'b', 'c'].map((name) => {
    const stream = new PassThrough();
    stream.on('data', (chunk: Buffer) => written.push(`${name} ${chunk.length}`));
    return new PacketWriter(stream, 5, batch);
  });
  for (let id = 1; id <= 3; id += 1) for (const writer of writers) writer.acknowledge(PUBACK, id);
  // A closed writer discards what it has not written.
  writers[2]?.close(false);
  await nextIteration();
  expect(written.sort()).toEqual(['a 12', 'b 12', 'end']);
});

test('short iterations are followed by a pause; long iterations and idle time are not', () => {
  let now = 1_000;
  const pauses: number[] = [];
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now);
  const wait = vi.spyOn(Atomics, 'wait').mockImplementation((_cell, _index, _value, milliseconds = 0) => {
    pauses.push(milliseconds);
    now += milliseconds;
    return 'timed-out';
  });
  onTestFinished(() => {
    clock.mockRestore();
    wait.mockRestore();
  });
  const onEnd = pauseShortIterations();
  onEnd();
  expect(pauses).toEqual([]);
  for (let iteration = 0; iteration < 5; iteration += 1) {
    now += 0.1;
    onEnd();
  }
  expect(pauses).toEqual([0.3, 0.3, 0.3, 0.3, 0.3]);
  // Includes the idle time before an iteration.
  for (let iteration = 0; iteration < 5; iteration += 1) {
    now += 0.5;
    onEnd();
  }
  expect(pauses).toHaveLength(5);
  now += 0.1;
  onEnd();
  expect(pauses).toHaveLength(6);
});
