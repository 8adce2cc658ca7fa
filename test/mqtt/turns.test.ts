import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { PacketWriter, PUBACK } from '../../src/mqtt/packet-writer.ts';
import { Turns } from '../../src/mqtt/turns.ts';

const turn = () => new Promise((resolve) => setImmediate(resolve));

test('all that is asked for in a turn is done at its end, in order, and then what comes behind it once', async () => {
  const done: string[] = [];
  const turns = new Turns(() => done.push('end'));
  turns.atEnd(() => {
    done.push('a');
    turns.atEnd(() => done.push('c'));
  });
  turns.atEnd(() => done.push('b'));
  expect(done).toEqual([]);
  await turn();
  expect(done).toEqual(['a', 'b', 'end']);
  await turn();
  expect(done).toEqual(['a', 'b', 'end', 'c', 'end']);
  await turn();
  expect(done).toHaveLength(5);
});

test('connections that share them have written, each once, when the turn is over', async () => {
  const written: string[] = [];
  const turns = new Turns(() => written.push('end'));
  const writers = ['a', 'b', 'c'].map((name) => {
    const stream = new PassThrough();
    stream.on('data', (chunk: Buffer) => written.push(`${name} ${chunk.length}`));
    return new PacketWriter(stream, 5, turns);
  });
  for (let id = 1; id <= 3; id += 1) for (const writer of writers) writer.acknowledge(PUBACK, id);
  // What was to go out at the end of the turn does not.
  writers[2]?.close(false);
  await turn();
  expect(written.sort()).toEqual(['a 12', 'b 12', 'end']);
});
