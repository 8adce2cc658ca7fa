import fc from 'fast-check';
import { generate, parser } from 'mqtt-packet';
import { expect, test } from 'vitest';
import { filterMatches, filtersOverlap } from '../../../src/protocol/mqtt/filter-match.ts';
import { readPublishProperties, writePublishProperties } from '../../../src/protocol/mqtt/publish-properties.ts';

const text = fc.string({ unit: 'grapheme' });
const properties = fc.record(
  {
    contentType: text,
    responseTopic: text,
    correlationData: fc.uint8Array().map((bytes) => Buffer.from(bytes)),
    payloadFormatIndicator: fc.boolean(),
    messageExpiryInterval: fc.integer({ min: 0, max: 0xffffffff }),
    userProperties: fc.array(fc.tuple(text, text), { minLength: 1, maxLength: 20 }),
  },
  { requiredKeys: [] },
);

test('encoded properties are decoded to the same values', () => {
  fc.assert(
    fc.property(properties, (some) => {
      expect(readPublishProperties(writePublishProperties(some))).toEqual(some);
    }),
  );
});

test('mqtt-packet decodes the encoded properties', () => {
  const bytes = writePublishProperties({ contentType: 'ä', userProperties: [['a', 'b']], messageExpiryInterval: 7 });
  const packet = generate(
    { cmd: 'publish', topic: 't', payload: '', qos: 0, dup: false, retain: false },
    { protocolVersion: 5 },
  );
  const whole = Buffer.concat([Buffer.from([0x30, 3 + bytes.length]), packet.subarray(2, 5), bytes]);
  const read: unknown[] = [];
  const incoming = parser({ protocolVersion: 5 });
  incoming.on('packet', (each) => read.push(each));
  incoming.parse(whole);
  expect(read).toMatchObject([
    { topic: 't', properties: { contentType: 'ä', messageExpiryInterval: 7, userProperties: { a: 'b' } } },
  ]);
});

test('values that MQTT cannot encode are refused', () => {
  expect(() => writePublishProperties({ contentType: 'x'.repeat(65_536) })).toThrow(RangeError);
});

test('what is no UTF-8 is decoded to texts that can be encoded again', () => {
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 300 }),
    fc.integer({ min: 0, max: 255 }).map((byte) => Buffer.alloc(65_535, byte)),
    fc.constantFrom('é', '中', '💡').map((one) => Buffer.from(one.repeat(65_535)).subarray(0, 65_535)),
  );
  const encoded = (value: Uint8Array) => Buffer.concat([Buffer.of(value.length >> 8, value.length & 0xff), value]);
  fc.assert(
    fc.property(bytes, bytes, (name, value) => {
      const all = Buffer.concat([Buffer.of(0x26), encoded(name), encoded(value), Buffer.of(0x03), encoded(value)]);
      // More than 16,383 bytes, or at most 127, take another length.
      const length = [all.length, all.length >> 7, all.length >> 14].map(
        (part, at) => (part & 127) | (at < 2 ? 128 : 0),
      );
      const read = readPublishProperties(Buffer.concat([Buffer.from(length), all]));
      expect(readPublishProperties(writePublishProperties(read))).toEqual(read);
    }),
    { numRuns: 50 },
  );
  const longest = 'é'.repeat(32_767);
  expect(readPublishProperties(writePublishProperties({ contentType: longest }))).toEqual({ contentType: longest });
});

test('filters overlap where a topic matches both', () => {
  const level = fc.constantFrom('a', 'b', '+', '$x', 'ab');
  const filter = fc
    .tuple(fc.array(level, { minLength: 1, maxLength: 3 }), fc.boolean())
    .map(([levels, hash]) => [...levels, ...(hash ? ['#'] : [])].join('/'));
  const names = ['a', 'b', '$x', 'ab'];
  const topics = names.flatMap((one) => [
    one,
    ...names.flatMap((two) => [
      `${one}/${two}`,
      ...names.flatMap((three) => [`${one}/${two}/${three}`, ...names.map((four) => `${one}/${two}/${three}/${four}`)]),
    ]),
  ]);
  fc.assert(
    fc.property(filter, filter, (one, other) => {
      const both = topics.some((topic) => filterMatches(one, topic) && filterMatches(other, topic));
      expect(filtersOverlap(one.split('/'), other.split('/'))).toBe(both);
    }),
  );
});
