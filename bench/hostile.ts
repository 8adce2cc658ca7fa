/**
 * Effects of hostile inputs on a healthy client. Each input runs once and then repeatedly against the product, while a
 * healthy client reads and publishes. Linux only.
 *
 * `node bench/run.mjs hostile [input…] [--runs 100] [--list]`. Limits for each input: 99 % of the healthy requests take
 * less than MAX_P99_MS, no healthy request fails, no stall of the event loop of any thread reaches MAX_STALL_MS,
 * resident memory is below MAX_RSS_MB, and no process, thread or broker restarts. Other load of the machine does not
 * count: a stall is measured by the processor time of its thread, a request without the longest time that a thread
 * waited for a processor. After an input that exceeds a limit or leaves memory allocated, a new product is started. The
 * exit code is 1 if an input exceeds a limit.
 */
import { loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { type Attacker, GROUPS, type Results, startAttacker } from './support/hostile/attacker.ts';
import type { Input } from './support/hostile/input.ts';
import { kindOf } from './support/hostile/thread-watch.ts';
import { type Observed, startWorld, type World } from './support/hostile/world.ts';

const MAX_P99_MS = 250;
const MAX_STALL_MS = 200;
const MAX_RSS_MB = 700;
/** Deadline of repeated runs. Runs that have not ended then are aborted. */
const DEADLINE_MS = 8_000;
const ALONE_DEADLINE_MS = 60_000;
/** Minimum time for which healthy requests are observed. */
const MIN_MS = 1_000;
/** Maximum memory above that of a new product. Beyond it a new product is started. */
const MAX_LEFT_MB = 120;
const AT_ONCE = 4;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { runs: { type: 'string', default: '100' }, list: { type: 'boolean', default: false } },
});
const chosen = GROUPS.flatMap(({ who, inputs }) => inputs.map((input) => ({ who, input }))).filter(
  ({ who, input }) => positionals.length === 0 || positionals.includes(input.name) || positionals.includes(who),
);

interface Row {
  readonly name: string;
  readonly observed: Observed;
  readonly missed: readonly string[];
}

if (values.list) {
  for (const { who, input } of chosen) console.log(`${who.padEnd(17)} ${input.name.padEnd(24)} ${input.what}`);
} else {
  const rows = await runAll();
  process.exitCode = summary(rows) ? 0 : 1;
}

async function runAll(): Promise<Row[]> {
  const rows: Row[] = [];
  let world = await startWorld();
  let newMb = world.rssMb();
  console.log(
    `input ${' '.repeat(19)} runs  p99 ms (own)  max ms  RSS MB  stalls ms (own), result; load ${loadavg()[0]}`,
  );
  try {
    await world.reset();
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    rows.push(printed('no attack', 0, await world.observed(), new Map()));
    for (const { input } of chosen) {
      if (world.rssMb() > newMb + MAX_LEFT_MB) {
        await world.close();
        world = await startWorld();
        newMb = world.rssMb();
      }
      const attacker = await startAttacker(input.name);
      try {
        for (const runs of [1, Number(values.runs)]) {
          const row = await attacked(world, attacker, input, runs);
          rows.push(row);
          if (row.missed.length === 0) continue;
          await world.close();
          world = await startWorld();
        }
      } finally {
        attacker.close();
      }
    }
  } finally {
    await world.close();
  }
  return rows;
}

async function attacked(world: World, attacker: Attacker, input: Input, runs: number): Promise<Row> {
  await world.reset();
  const atLeast = new Promise((resolve) => setTimeout(resolve, MIN_MS));
  const atOnce = runs === 1 ? 1 : (input.atOnce ?? AT_ONCE);
  const order = { target: world.target, runs, atOnce, first: runs === 1 ? 0 : 1 };
  const results = await attacker.attack(order, runs === 1 ? ALONE_DEADLINE_MS : DEADLINE_MS);
  // Closing the attacker aborts its unfinished runs.
  if (runs > 1) attacker.close();
  await atLeast;
  return printed(input.name, runs, await world.observed(), results);
}

function printed(name: string, runs: number, observed: Observed, results: Results): Row {
  const { health, stalls, peakMb } = observed;
  const missed = missedBars(observed);
  const came = [...results].map(([result, count]) => (count === 1 ? result : `${count} × ${result}`)).join(', ');
  const ofThreads = stalls.map(({ thread, ms, ownMs }) => `${thread} ${ms} (${ownMs})`).join(', ');
  console.log(
    [
      `${missed.length > 0 ? 'FAIL' : 'ok  '} ${name.padEnd(20)}`,
      String(runs).padStart(4),
      `${health.p99Ms.toFixed(0)} (${health.ownP99Ms.toFixed(0)})`.padStart(13),
      health.maxMs.toFixed(0).padStart(7),
      peakMb.toFixed(0).padStart(7),
      ` ${ofThreads}; ${came}${missed.length > 0 ? `; MISSED: ${missed.join(', ')}` : ''}`,
    ].join(' '),
  );
  return { name: `${name} × ${runs}`, observed, missed };
}

function missedBars({ health, stalls, failed, peakMb, hasEnded }: Observed): string[] {
  const late = stalls.filter(({ ownMs }) => ownMs >= MAX_STALL_MS);
  return [
    ...(hasEnded ? ['the process exited'] : []),
    ...failed.map((thread) => `the thread ${thread} failed`),
    ...(health.disconnects > 0 ? [`the broker closed a healthy connection ${health.disconnects} times`] : []),
    ...(health.failures.length > 0
      ? [`${health.failures.length} healthy requests failed (${health.failures[0]?.slice(0, 100)})`]
      : []),
    ...(health.ownP99Ms >= MAX_P99_MS ? [`p99 of ${health.worst} ${health.ownP99Ms.toFixed(0)} ms`] : []),
    ...late.map(({ thread, ownMs }) => `stall of ${thread} ${ownMs} ms`),
    ...(peakMb >= MAX_RSS_MB ? [`${peakMb.toFixed(0)} MB`] : []),
  ];
}

/** Prints the worst row of each figure. Returns whether all rows are within the limits. */
function summary(rows: readonly Row[]): boolean {
  const worst = (unit: string, figure: (row: Row) => number, bar: number) => {
    const row = rows.reduce((one, other) => (figure(other) > figure(one) ? other : one));
    console.log(`  ${unit.padEnd(28)} ${figure(row).toFixed(0).padStart(7)} (bar ${bar})  ${row.name}`);
  };
  console.log(`\nThe worst of ${rows.length} rows`);
  worst('healthy p99, ms', ({ observed }) => observed.health.ownP99Ms, MAX_P99_MS);
  for (const kind of new Set(rows.flatMap(({ observed }) => observed.stalls.map(({ thread }) => kindOf(thread)))))
    worst(`stall of ${kind}, ms`, ({ observed }) => longestOf(observed, kind), MAX_STALL_MS);
  worst('resident memory, MB', ({ observed }) => observed.peakMb, MAX_RSS_MB);
  const failed = rows.filter(({ missed }) => missed.length > 0);
  for (const { name, missed } of failed) console.log(`  FAIL ${name}: ${missed.join(', ')}`);
  return failed.length === 0;
}

function longestOf({ stalls }: Observed, kind: string): number {
  return Math.max(0, ...stalls.filter(({ thread }) => kindOf(thread) === kind).map(({ ownMs }) => ownMs));
}
