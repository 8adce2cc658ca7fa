import { Random } from '../random.ts';
import { FuzzedBroker } from './fuzzed-broker.ts';
import { randomSequence } from './generate.ts';
import { play } from './play.ts';
import { joined, packetsOf, type Sequence } from './sequence.ts';
import { shrink } from './shrink.ts';

interface FuzzOptions {
  /** Determines the sequences of a run. */
  readonly seed: number;
  readonly seconds: number;
  /** Maximum time for shortening a failing sequence, in seconds. Default: 120. */
  readonly shrinkSeconds?: number;
}

interface FuzzReport {
  readonly sequences: number;
  readonly packets: number;
  readonly restarts: number;
  readonly roundTrips: number;
  /** Longest stall of the broker's event loop in milliseconds. */
  readonly longestStall: number;
  /** Number of stalls of more than 200 ms. */
  readonly stalls: number;
  /** Bytes. */
  readonly largestRss: number;
  readonly warnings: ReadonlyMap<string, number>;
  /** `null` if the run found no fault. */
  readonly failure: FuzzFailure | null;
}

interface FuzzFailure {
  readonly faults: readonly string[];
  readonly output: string;
  /** The shortest sequence that fails on a new broker; `null` if the failure could not be reproduced. */
  readonly shortest: Sequence | null;
  /** Seconds from the start of the run. */
  readonly after: number;
}

/** Numbers of earlier sequences that are also replayed, because a failure may depend on stored data. */
const EARLIER = [1, 4, 16, 64];

/** Plays random sequences to one embedded broker until the time is over or a fault occurs. */
export async function fuzz({ seed, seconds, shrinkSeconds = 120 }: FuzzOptions): Promise<FuzzReport> {
  const random = new Random(seed);
  const recent: Sequence[] = [];
  let sequences = 0;
  let packets = 0;
  const since = Date.now();
  const broker = await FuzzedBroker.start();
  let faults: readonly string[] = [];
  try {
    while (faults.length === 0 && Date.now() - since < seconds * 1_000) {
      const sequence = randomSequence(random);
      sequences += 1;
      packets += packetsOf(sequence);
      recent.push(sequence);
      if (recent.length > Math.max(...EARLIER)) recent.shift();
      faults = await faultsOf(sequence, broker);
    }
  } finally {
    await broker.close();
  }
  const after = (Date.now() - since) / 1_000;
  const { restarts, roundTrips, longestStall, stalls, largestRss, warnings, output } = broker;
  const shortest = faults.length > 0 ? await shortestOf(recent, faults, Date.now() + shrinkSeconds * 1_000) : null;
  const failure = faults.length > 0 ? { faults, output, shortest, after } : null;
  return { sequences, packets, restarts, roundTrips, longestStall, stalls, largestRss, warnings, failure };
}

async function faultsOf(sequence: Sequence, broker: FuzzedBroker): Promise<readonly string[]> {
  const faults = await play(sequence, broker);
  return [...broker.faults, ...faults];
}

/** What a new broker does with a sequence, and with a restart behind it. */
export async function faultsOnNewBroker(sequence: Sequence): Promise<readonly string[]> {
  const broker = await FuzzedBroker.start();
  try {
    const faults = await faultsOf(sequence, broker);
    if (faults.length > 0) return faults;
    return await faultsOf([{ do: 'restart', how: 'close' }], broker);
  } finally {
    await broker.close();
  }
}

/** Of the same kind as the failure of the run if there is one, otherwise of another kind. */
async function shortestOf(recent: readonly Sequence[], faults: readonly string[], deadline: number) {
  const kinds = new Set(faults.map(kindOf));
  for (const isSame of [true, false]) {
    const fails = async (sequence: Sequence) =>
      (await faultsOnNewBroker(sequence)).some((fault) => !isSame || kinds.has(kindOf(fault)));
    for (const count of EARLIER) {
      const sequence = joined(recent.slice(-count));
      if (Date.now() < deadline && (await fails(sequence))) return shrink(sequence, { fails, deadline });
      if (count >= recent.length) break;
    }
  }
  return null;
}

const kindOf = (fault: string): string => fault.slice(fault.lastIndexOf(': ') + 1);

/** Formats a report for a log. A failing sequence can be copied to `crashes.test.ts`. */
export function describe(report: FuzzReport, seed: number): string {
  const { sequences, packets, restarts, roundTrips, longestStall, stalls, largestRss, warnings, failure } = report;
  const lines = [
    `FUZZ_SEED=${seed}: ${sequences} sequences, ${packets} packets, ${restarts} restarts, ${roundTrips} round trips of a healthy client`,
    `longest stall ${Math.round(longestStall)} ms, ${stalls} of more than 200 ms, largest RSS ${Math.round(largestRss / 1_048_576)} MiB`,
    ...Array.from(warnings, ([text, count]) => `${count} × ${text}`),
  ];
  if (failure) {
    lines.push(`after ${failure.after} s: ${failure.faults.join('; ')}`, failure.output);
    lines.push(failure.shortest ? JSON.stringify(failure.shortest) : 'not repeated on a new broker');
  }
  return lines.join('\n');
}
