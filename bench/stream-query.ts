/**
 * Processor time of a compiled query for each message, in nanoseconds. There are two peers: JSON.parse and
 * JSON.stringify of the whole message, and the same selection in JavaScript.
 */

import type { StreamQuery } from '../src/data-plane/streams/model/stream-query.ts';
import { compileQuery } from '../src/data-plane/streams/query/compile-query.ts';
import { median } from './support/figures.ts';

const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 31);
const MESSAGES = 100_000;
/** Maximum ratio to JSON.parse and JSON.stringify of the whole message. */
const MAX_TIMES = 1.25;

/** Each payload has different numbers, because formatting a new number is expensive. */
const payloads = Array.from({ length: 1_000 }, (_, index) =>
  Buffer.from(
    JSON.stringify({
      'Machine Data': { Speed: 7.5 + index / 8, 'Angle Deg': 55.3, 'Angle Rad': 0.97, Power: 601.6 + index / 10 },
      Location: 'Freiburg',
    }),
  ),
);

interface Line {
  'Machine Data': { Speed: number; Power: number };
  Location: string;
}

const SPEED = '[Machine Data][Speed]';
const POWER = '[Machine Data][Power]';

interface Task {
  readonly query: StreamQuery;
  readonly byHand: (payload: Buffer) => string | null;
}

const sums = { max: Number.NEGATIVE_INFINITY, sum: 0, count: 0 };
const TASKS: Readonly<Record<string, Task>> = {
  'reduce and rename': {
    query: {
      select: [
        { source: SPEED, target: '[speed]' },
        { source: '[Location]', target: '[meta][site]' },
      ],
    },
    byHand(payload) {
      const line = JSON.parse(payload.toString()) as Line;
      return JSON.stringify({ speed: line['Machine Data'].Speed, meta: { site: line.Location } });
    },
  },
  'filter, payload as it is': {
    query: { where: [{ operator: '>=', left: POWER, right: 650 }] },
    byHand(payload) {
      const line = JSON.parse(payload.toString()) as Line;
      return line['Machine Data'].Power >= 650 ? payload.toString() : null;
    },
  },
  'aggregates per minute': {
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
    byHand(payload) {
      const line = JSON.parse(payload.toString()) as Line;
      sums.max = Math.max(sums.max, line['Machine Data'].Speed);
      sums.sum += line['Machine Data'].Power;
      sums.count += 1;
      const Data = { SpeedMax: sums.max, PowerSum: sums.sum, Count: sums.count, From: 1_700_000_010 };
      return JSON.stringify({ Data, Location: line.Location });
    },
  },
};

type Contender = (payload: Buffer) => unknown;

let reached = true;
for (const [name, { query, byHand }] of Object.entries(TASKS)) {
  const processor = compileQuery(query);
  const contenders: Readonly<Record<string, Contender>> = {
    'compiled query': (payload) => processor.process({ payload, topic: 'plant', qos: 0 }, 1_700_000_010_000),
    'by hand': byHand,
    'parse and stringify': (payload) => JSON.stringify(JSON.parse(payload.toString())),
  };
  const times = measure(contenders);
  console.log(`\n${name}: nanoseconds for each message`);
  for (const [contender, rounds] of Object.entries(times)) {
    console.log(`  ${contender.padEnd(20)} ${median(rounds).toFixed(0).padStart(6)}`);
  }
  const [own = [], ...peers] = Object.values(times);
  for (const [index, peer] of Object.keys(times).slice(1).entries()) {
    const ratio = median(own.map((time, round) => time / (peers[index]?.[round] ?? Number.NaN)));
    const isBound = peer === 'parse and stringify';
    const good = !isBound || ratio <= MAX_TIMES;
    reached &&= good;
    const bound = isBound ? ` (at most ${MAX_TIMES})` : '';
    console.log(`  ${good ? 'ok  ' : 'FAIL'} a compiled query takes ${ratio.toFixed(2)} times ${peer}${bound}`);
  }
}
if (!reached) process.exitCode = 1;

/** Returns nanoseconds per message for each round, by contender. Rounds alternate, so that other load affects all. */
function measure(contenders: Readonly<Record<string, Contender>>): Record<string, number[]> {
  const times: Record<string, number[]> = Object.fromEntries(Object.keys(contenders).map((name) => [name, []]));
  for (let round = -3; round < ROUNDS; round++) {
    for (const [name, contender] of Object.entries(contenders)) {
      const started = process.cpuUsage();
      for (let at = 0; at < MESSAGES; at += 1) contender(payloads[at % payloads.length] as Buffer);
      const { user, system } = process.cpuUsage(started);
      if (round >= 0) times[name]?.push(((user + system) * 1_000) / MESSAGES);
    }
  }
  return times;
}
