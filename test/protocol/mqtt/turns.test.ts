import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { OutgoingMessages } from '../../../src/protocol/mqtt/outgoing-messages.ts';
import { PacketIds } from '../../../src/protocol/mqtt/packet-ids.ts';
import { PacketWriter, PUBACK } from '../../../src/protocol/mqtt/packet-writer.ts';
import { Turns } from '../../../src/protocol/mqtt/turns.ts';

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
  // What waits for an answer is not held up, whoever asks for it and whenever in the turn.
  turns.hurry();
  turns.atEnd(() => done.push('d'));
  await turn();
  turns.atEnd(() => done.push('e'));
  await turn();
  expect(done.slice(5)).toEqual(['d', 'e', 'end']);
});

test('a connection whose broker takes no more at a time has what comes behind the turn left out, until it takes all', async () => {
  let ends = 0;
  const turns = new Turns(() => {
    ends += 1;
  });
  const limits = {
    timeoutMs: 60_000,
    version: 5 as const,
    receiveMaximum: 1,
    maximumPacketSize: 1_000,
    isBoundedByCaller: true,
  };
  const outgoing = new OutgoingMessages(new PacketWriter(new PassThrough(), 5, turns), new PacketIds(), limits);
  const taken: number[] = [];
  const message = { topic: 'a', payload: 'b', qos: 1, retain: false } as const;
  for (const number of [1, 2, 3]) outgoing.send(message, () => taken.push(number));
  await turn();
  expect(ends).toBe(0);
  outgoing.answered('puback', 1, 0);
  await turn();
  expect([ends, taken]).toEqual([0, [1]]);
  outgoing.answered('puback', 2, 0);
  await turn();
  expect([ends, taken]).toEqual([1, [1, 2]]);
  outgoing.over();
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
