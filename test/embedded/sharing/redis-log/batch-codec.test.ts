import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  decodeBatch,
  decodeHead,
  encodeBatch,
  writeEntry,
} from '../../../../src/embedded/sharing/redis-log/batch-codec.ts';

const entry = fc.record({
  kind: fc.string({ unit: 'binary', maxLength: 60 }),
  about: fc.dictionary(fc.string(), fc.oneof(fc.string({ unit: 'binary' }), fc.integer(), fc.constant(null))),
  payload: fc.oneof(fc.constant(undefined), fc.uint8Array({ maxLength: 300 }), fc.string({ unit: 'grapheme' })),
});
const head = { nodeId: 4_294_967_295, run: 'run-1', number: 2 ** 47 };

test('a batch says what its entries say', () => {
  fc.assert(
    fc.property(fc.array(entry, { maxLength: 20 }), (entries) => {
      const batch = encodeBatch(head, entries.map(writeEntry));
      expect(decodeHead(batch)).toEqual(head);
      const decoded = decodeBatch(batch);
      expect(decoded).toMatchObject(head);
      const said = entries.map(({ kind, about, payload }) => ({
        kind,
        about: JSON.parse(JSON.stringify(about)),
        ...(payload === undefined ? {} : { payload: typeof payload === 'string' ? payload : Buffer.from(payload) }),
      }));
      expect(decoded.entries).toEqual(said);
    }),
    { numRuns: 100 },
  );
});

test('a batch that is cut off, longer than its entries, of another version or nonsense is refused', () => {
  const batch = encodeBatch(head, [
    writeEntry({ kind: 'a', about: { x: 1 }, payload: 'text' }),
    writeEntry({ kind: 'b', about: {}, payload: Buffer.from('bytes') }),
  ]);
  for (let length = 0; length < batch.length; length++) {
    expect(() => decodeBatch(batch.subarray(0, length))).toThrow(RangeError);
  }
  expect(() => decodeBatch(Buffer.concat([batch, Buffer.alloc(1)]))).toThrow('longer');
  expect(() => decodeHead(Buffer.from([9, ...batch.subarray(1)]))).toThrow('version 9');
  fc.assert(
    fc.property(fc.nat(batch.length - 1), fc.nat(255), (at, byte) => {
      const broken = Buffer.from(batch);
      broken[at] = byte;
      try {
        decodeBatch(broken);
      } catch (error) {
        expect(error instanceof RangeError || error instanceof SyntaxError).toBe(true);
      }
    }),
    { numRuns: 500 },
  );
});
