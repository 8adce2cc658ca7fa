/**
 * Plays the same sequences to an embedded broker and to Mosquitto.
 *
 * If all clients follow the specification, both brokers must return equal results for each step: the code and the
 * session flag of CONNACK, the codes of SUBACK, acknowledgements, closed connections, and the messages that a healthy
 * observer receives. `known-differences.ts` lists the permitted differences.
 *
 * Responses to a hostile sequence may differ, because Mosquitto is stricter with many malformed packets. Both brokers
 * must continue to run and to serve the observer, and must not deliver messages on topics that are empty or contain
 * wildcards.
 */
import { Random } from '../random.ts';
import { randomSequence } from './generate.ts';
import { knownDifferences } from './known-differences.ts';
import { embeddedParty, mosquittoParty, type Party } from './party.ts';
import { play } from './play.ts';
import { type Outcome, record } from './record.ts';
import { packetsOf, type Sequence } from './sequence.ts';
import { shrink } from './shrink.ts';
import { wellFormedSequence } from './well-formed.ts';

interface DifferentialReport {
  readonly wellFormed: number;
  readonly hostile: number;
  readonly packets: number;
  /** Sequences that were not played, because they may show a known difference. */
  readonly skipped: number;
  /** `null` if both brokers behave equally. */
  readonly difference: Difference | null;
}

interface Difference {
  readonly sequence: Sequence;
  readonly details: readonly string[];
}

/** Share of the time for hostile sequences, which come last because they leave different data on the brokers. */
const HOSTILE = 0.3;
/** Number of repetitions of a difference. A difference that depends on timing does not occur each time. */
const TRIES = 3;
const SHRINK_SECONDS = 120;

interface DifferentialOptions {
  readonly seed: number;
  readonly seconds: number;
}

type Parties = readonly [embedded: Party, mosquitto: Party];

/** Compares the brokers until the time is over or they differ. */
export async function compareBrokers({ seed, seconds }: DifferentialOptions): Promise<DifferentialReport> {
  const random = new Random(seed);
  const counts = { wellFormed: 0, hostile: 0, packets: 0, skipped: 0 };
  let difference: Difference | null = null;
  const parties = [await embeddedParty(), await mosquittoParty()] as const;
  try {
    const hostileFrom = Date.now() + seconds * 1_000 * (1 - HOSTILE);
    while (!difference && Date.now() < hostileFrom) {
      const sequence = wellFormedSequence(random);
      if (knownDifferences(sequence).length > 0) {
        counts.skipped += 1;
        continue;
      }
      counts.wellFormed += 1;
      counts.packets += packetsOf(sequence);
      const details = await differences(sequence, parties);
      if (details.length > 0) difference = await shortestDifference({ sequence, details }, parties);
    }
    const end = Date.now() + seconds * 1_000 * HOSTILE;
    while (!difference && Date.now() < end) {
      const sequence = randomSequence(random);
      counts.hostile += 1;
      counts.packets += packetsOf(sequence);
      const details = await hostileFaults(sequence, parties);
      if (details.length > 0) difference = { sequence, details };
    }
  } finally {
    for (const party of parties) await party.close();
  }
  return { ...counts, difference };
}

async function shortestDifference(longest: Difference, parties: Parties): Promise<Difference> {
  const fails = async (shorter: Sequence) => (await differences(shorter, parties)).length > 0;
  const shortest = await shrink(longest.sequence, { fails, deadline: Date.now() + SHRINK_SECONDS * 1_000 });
  const details = await differences(shortest, parties);
  return details.length > 0 ? { sequence: shortest, details } : longest;
}

/** The differences that occur in each repetition. */
async function differences(sequence: Sequence, parties: Parties): Promise<readonly string[]> {
  if (knownDifferences(sequence).length > 0) return [];
  let details: readonly string[] = [];
  for (let tries = 0; tries < TRIES; tries += 1) {
    const [embedded, mosquitto] = await Promise.all([record(sequence, parties[0]), record(sequence, parties[1])]);
    details = differing(embedded, mosquitto);
    if (details.length === 0) return [];
  }
  return details;
}

function differing(embedded: Outcome, mosquitto: Outcome): readonly string[] {
  const steps = embedded.steps.flatMap((outcome, index) =>
    outcome === mosquitto.steps[index]
      ? []
      : [`step ${index}: embedded: ${outcome}; Mosquitto: ${mosquitto.steps[index]}`],
  );
  const only = (one: readonly string[], other: readonly string[], name: string) =>
    one
      .filter((message, index) => one.indexOf(message) === index && count(one, message) !== count(other, message))
      .map((message) => `${name} delivers ${count(one, message)}, not ${count(other, message)} times: ${message}`);
  const received = embedded.received
    .filter((text) => !mosquitto.received.includes(text))
    .map((text) => `only embedded delivers to connection ${text}`)
    .concat(
      mosquitto.received
        .filter((text) => !embedded.received.includes(text))
        .map((text) => `only Mosquitto delivers to connection ${text}`),
    );
  return [
    ...received,
    ...steps,
    ...only(embedded.messages, mosquitto.messages, 'embedded'),
    ...only(mosquitto.messages, embedded.messages, 'Mosquitto'),
  ];
}

const count = (list: readonly string[], wanted: string): number => list.filter((one) => one === wanted).length;

async function hostileFaults(sequence: Sequence, parties: Parties): Promise<readonly string[]> {
  const faults = await Promise.all(
    parties.map(async ({ name, stage, observer, faults }) => {
      await play(sequence, stage);
      await observer.settle();
      const invalid = observer.take().filter(({ topic }) => topic === '' || /[+#]/.test(topic));
      return [...faults, ...invalid.map(({ topic }) => `${name} delivers an invalid topic: ${JSON.stringify(topic)}`)];
    }),
  );
  return faults.flat();
}

/** Formats a report for a log. */
export function describe(
  { wellFormed, hostile, skipped, packets, difference }: DifferentialReport,
  seed: number,
): string {
  const counts = `${wellFormed} well-formed and ${hostile} hostile sequences, ${packets} packets, ${skipped} sequences skipped`;
  const lines = difference ? [...difference.details, JSON.stringify(difference.sequence)] : [];
  return [`FUZZ_SEED=${seed}: ${counts}`, ...lines].join('\n');
}
