import { expect, test } from 'vitest';
import type { StreamQuery } from '../../../../src/data-plane/streams/model/stream-query.ts';
import { compileQuery } from '../../../../src/data-plane/streams/query/compile-query.ts';
import { received } from './received.ts';

/** 2023-11-14T22:13:30Z, the beginning of a bucket of a minute that begins at second 30. */
const START = 1_700_000_010_000;
const LINE = {
  'Machine Data': { Speed: 7.5, 'Angle Deg': 55.3, 'Angle Rad': 0.97, Power: 601.6 },
  Location: 'Freiburg',
};
const at = (machine: object, location = 'Freiburg') => ({ 'Machine Data': machine, Location: location });
/** It leaves as it is. */
const SAME = Symbol('same');
/** It does not leave. */
const NONE = Symbol('none');

interface Example {
  readonly name: string;
  readonly query: StreamQuery;
  /** What comes, after how many seconds, and what leaves. */
  readonly messages: readonly (readonly [message: unknown, after: number, output: unknown])[];
}

const SPEED = '[Machine Data][Speed]';
const POWER = '[Machine Data][Power]';

const EXAMPLES: readonly Example[] = [
  {
    name: 'reduce and rename',
    query: {
      select: [
        { source: SPEED, target: '[speed]' },
        { source: '[Location]', target: '[meta][site]' },
      ],
    },
    messages: [
      [LINE, 0, { speed: 7.5, meta: { site: 'Freiburg' } }],
      [{ Location: 'Freiburg' }, 1, NONE],
    ],
  },
  {
    name: 'filter without changing the payload',
    query: { where: [{ operator: '>=', left: POWER, right: 600 }] },
    messages: [
      [LINE, 0, SAME],
      [at({ Power: 600 }), 1, SAME],
      [at({ Power: 599.9 }), 2, NONE],
      [at({}), 3, NONE],
    ],
  },
  {
    name: 'filter on a value that is not emitted',
    query: {
      select: [
        { source: SPEED, target: '[speed]' },
        { source: '[Location]', target: '', alias: 'site' },
      ],
      where: [{ operator: '==', left: 'site', right: 'Freiburg' }],
    },
    messages: [
      [LINE, 0, { speed: 7.5 }],
      [at({ Speed: 8 }, 'Berlin'), 1, NONE],
      [{ 'Machine Data': { Speed: 8 } }, 2, NONE],
    ],
  },
  {
    name: 'running aggregates per minute, from second 30 on',
    query: {
      select: [
        { source: SPEED, target: '[Data][SpeedMax]', function: 'max' },
        { source: POWER, target: '[Data][PowerSum]', function: 'sum' },
        { source: '', target: '[Data][Count]', function: 'count' },
        { source: '*', target: '', function: 'time_bucket', intervalsize: 60, intervaloffset: 30 },
        { source: 'windowstart', target: '[Data][From]' },
        { source: '[Location]', target: '[Location]' },
      ],
    },
    messages: [
      [LINE, 0, { Data: { SpeedMax: 7.5, PowerSum: 601.6, Count: 1, From: 1_700_000_010 }, Location: 'Freiburg' }],
      [
        at({ Speed: 10, Power: 601.6 }),
        20,
        { Data: { SpeedMax: 10, PowerSum: 1203.2, Count: 2, From: 1_700_000_010 }, Location: 'Freiburg' },
      ],
      [
        at({ Speed: 9, Power: 601.6 }, 'Ulm'),
        59.999,
        { Data: { SpeedMax: 10, PowerSum: 1804.8, Count: 3, From: 1_700_000_010 }, Location: 'Ulm' },
      ],
      [
        at({ Speed: 3, Power: 500 }),
        60,
        { Data: { SpeedMax: 3, PowerSum: 500, Count: 1, From: 1_700_000_070 }, Location: 'Freiburg' },
      ],
    ],
  },
  {
    name: 'add a time stamp',
    query: {
      select: [
        { source: 'timestamp', target: '[ts]' },
        { source: '[Location]', target: '[Location]' },
      ],
    },
    messages: [
      [LINE, 0, { ts: 1_700_000_010, Location: 'Freiburg' }],
      [LINE, 0.999, { ts: 1_700_000_010, Location: 'Freiburg' }],
      [LINE, 1, { ts: 1_700_000_011, Location: 'Freiburg' }],
    ],
  },
  {
    name: 'alert only when the maximum passes a limit',
    query: {
      select: [
        { source: SPEED, target: '[max]', function: 'max', alias: 'm' },
        { source: '', target: '', function: 'time_bucket', intervalsize: 300, intervaloffset: 0 },
      ],
      where: [{ operator: '>', left: 'm', right: 20 }],
    },
    messages: [
      [LINE, 0, NONE],
      [at({ Speed: 21 }), 1, { max: 21 }],
      // It is counted in, and the maximum stays.
      [at({ Speed: 5 }), 2, { max: 21 }],
      [at({ Speed: 20 }), 300, NONE],
    ],
  },
];

test.each(EXAMPLES)('$name', ({ query, messages }) => {
  const processor = compileQuery(query);
  for (const [message, after, output] of messages) {
    const processed = processor.process(received(JSON.stringify(message)), START + after * 1_000);
    const told = processed.outcome === 'PASS' ? (processed.text === null ? SAME : JSON.parse(processed.text)) : NONE;
    expect([after, told]).toEqual([after, output]);
    if (output === NONE) expect(processed.outcome).toBe('FILTERED');
  }
});

test('keys are written in the order in which the items name them, also those that look like numbers', () => {
  const select = [
    { source: '[b]', target: '[9][x]' },
    { source: '[a]', target: '[1]' },
    { source: '[c]', target: '[9][y]' },
  ];
  const processed = compileQuery({ select }).process(received('{"a":1,"b":2,"c":3}'), 0);
  expect(processed).toEqual({ outcome: 'PASS', text: '{"9":{"x":2,"y":3},"1":1}' });
});
