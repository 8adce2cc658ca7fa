import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { boundMessages } from '../../../../src/data-plane/bridges/postgresql/message-bounds.ts';

function message(type: string, body: string | Buffer): Buffer {
  const header = Buffer.alloc(5, type);
  header.writeUInt32BE(body.length + 4, 1);
  return Buffer.concat([header, Buffer.from(body)]);
}

/** Sends chunks of this size. Returns the bytes that pg may read, and the reason why the connection was destroyed. */
async function passed(bytes: Buffer, size = 65_536, read: (chunk: Buffer) => void = () => undefined) {
  const stream = new PassThrough();
  let length = 0;
  boundMessages(stream).on('data', (chunk: Buffer) => {
    length += chunk.length;
    read(chunk);
  });
  const reason = new Promise<string | null>((resolve) => {
    stream.on('error', ({ message }) => resolve(message)).on('end', () => resolve(null));
  });
  for (let at = 0; at < bytes.length; at += size) stream.write(bytes.subarray(at, at + size));
  stream.end();
  return { reason: await reason, length };
}

const FIELD = 'Mtext\0';
const ROWS = Buffer.concat(Array(4_000).fill(message('D', Buffer.alloc(1_000))));

test.each([
  ['a row of 4 MiB', message('D', Buffer.alloc(4_194_304)), /result of more than/],
  ['rows of 4 MiB', Buffer.concat([ROWS, ROWS]), /result of more than/],
  ['mechanisms of authentication without end', message('R', 'a\0'.repeat(2_100)), /at most 4096 bytes/],
  ['an error of many fields', message('E', `${FIELD.repeat(101)}\0`), /more than 100 fields/],
  ['a notice of many fields', message('N', `${FIELD.repeat(101)}\0`), /more than 100 fields/],
  ['an error without an end', message('E', 'Mtext'), /without an end/],
  ['an error whose last field has no end', message('E', FIELD), /without an end/],
  ['a notice without content', message('N', ''), /without an end/],
])('a connection is destroyed before pg reads %s', async (_what, bytes, reason) => {
  const whole = await passed(bytes, bytes.length);
  expect(whole.reason).toMatch(reason);
  expect(whole.length).toBe(0);
  expect((await passed(bytes, 999)).reason).toMatch(reason);
});

test.each([1, 7, 65_536])('messages of usual size pass in chunks of %i bytes', async (size) => {
  const report = [message('N', '\0'), message('E', `SERROR\0M${'x'.repeat(10_000)}\0C22P02\0\0`)];
  const bytes = Buffer.concat([message('R', Buffer.alloc(4)), ...report, message('Z', 'I'), ...report]);
  expect(await passed(bytes, size)).toEqual({ reason: null, length: bytes.length });
});

test('the rows of several queries may be longer together, and an error may repeat a value of 16 MiB', async () => {
  const bytes = Buffer.concat([ROWS.subarray(0, 2_010_000), message('Z', 'I')]);
  const error = message('E', `M${'x'.repeat(16_777_216)}\0\0`);
  expect(await passed(Buffer.concat([bytes, bytes, error]))).toMatchObject({ reason: null });
});

test('a message that pg cannot read destroys the connection', async () => {
  const unreadable = () => {
    throw new RangeError('Invalid array length');
  };
  expect((await passed(message('D', Buffer.from('ffff', 'hex')), 7, unreadable)).reason).toBe('Invalid array length');
});
