import { expect, test } from 'vitest';
import { compileColumn, MessageParts } from '../../../../src/data-plane/bridges/postgresql/column-value.ts';
import type { ColumnReading } from '../../../../src/data-plane/bridges/postgresql/postgresql-config.ts';

const COLUMN = { name: 'at', type: 'timestamptz', form: 'time', isGenerated: false, isUnique: false } as const;

function timeOf(type: ColumnReading, text: string): unknown {
  const read = compileColumn({ column: 'at', source: 'payload.at', type }, COLUMN);
  const payload = Buffer.from(`{"at":${text}}`);
  return read(new MessageParts({ topic: 't', payload, qos: 0, retain: false, receivedAt: 0 } as never));
}

test.each<[ColumnReading, string, string]>([
  ['epochSeconds', '1700000000.123456', '2023-11-14T22:13:20.123456Z'],
  ['epochSeconds', '"1700000000.123456"', '2023-11-14T22:13:20.123456Z'],
  ['epochSeconds', '1700000000.1234565', '2023-11-14T22:13:20.123457Z'],
  ['epochSeconds', '1.7e9', '2023-11-14T22:13:20.000000Z'],
  ['epochSeconds', '-0.000001', '1969-12-31T23:59:59.999999Z'],
  ['epochSeconds', '-1.5', '1969-12-31T23:59:58.500000Z'],
  ['epochSeconds', '1e-999999999999999999', '1970-01-01T00:00:00.000000Z'],
  ['epochSeconds', '1e-300', '1970-01-01T00:00:00.000000Z'],
  ['epochSeconds', '253402300799.999999', '9999-12-31T23:59:59.999999Z'],
  ['epochMilliseconds', '1700000000123.456', '2023-11-14T22:13:20.123456Z'],
  ['epochMilliseconds', '1700000000123', '2023-11-14T22:13:20.123000Z'],
  ['epochMilliseconds', '0', '1970-01-01T00:00:00.000000Z'],
])('%s of %s is %s', (type, text, expected) => {
  expect(timeOf(type, text)).toBe(expected);
});

test.each(['253402300799.9999995', '253402300800', '-62135596801', '1e300', '""', '"soon"', '"0x10"', 'true'])(
  '%s is no time in seconds',
  (text) => {
    expect(() => timeOf('epochSeconds', text)).toThrow('is not a time in seconds');
  },
);
