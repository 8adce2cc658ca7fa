import { expect, test } from 'vitest';
import { seed, timeoutOf } from '../mqtt/budget.ts';
import { Random } from '../random.ts';
import { type PiecesWorld, startPiecesWorld } from './pieces-world.ts';
import { type PiecesTarget, TARGETS } from './targets.ts';

/** Maximum processor time, in milliseconds, for which a thread serves nothing else. */
const MAX_STALL = 200;
/**
 * Maximum resident memory in MiB. It grows slowly with the length of a run, because the allocator retains memory of
 * large buffers: after four minutes it was 430 MiB, of which the heaps of all threads with their buffers, after a
 * garbage collection, had 140 MiB.
 */
const MAX_RSS = 900;
const MAX_FAULTS = 10;
const MAX_REPEATS = 4;

/** Defines the test that sends pieces to each parser for `seconds`, to one service. Prints the seed. */
export function testPieces(seconds: number): void {
  test(
    'no input of many small pieces stalls a thread, fills the memory or ends the service',
    async () => {
      const world = await startPiecesWorld();
      const faults: string[] = [];
      console.log(`FUZZ_SEED=${seed}`);
      for (const [index, target] of TARGETS.entries()) {
        if (!isWanted(target)) continue;
        faults.push(...(await attack(world, target, new Random(seed + index), seconds)));
        if (world.faults.length > 0) break;
      }
      expect([...faults, ...world.faults]).toEqual([]);
    },
    timeoutOf(seconds * TARGETS.length),
  );
}

/** FUZZ_TARGET selects the parsers whose name contains it. */
const isWanted = ({ name }: PiecesTarget): boolean => name.includes(process.env.FUZZ_TARGET ?? '');

async function attack(world: PiecesWorld, target: PiecesTarget, random: Random, seconds: number): Promise<string[]> {
  const faults: string[] = [];
  let [runs, longest, largest] = [0, 0, 0];
  const since = Date.now();
  while (Date.now() - since < seconds * 1_000 && world.faults.length === 0 && faults.length < MAX_FAULTS) {
    const input = random.int(0, 0xffffffff);
    const { what, stall, rss } = await calmest(world, target, input);
    runs += 1;
    longest = Math.max(longest, stall);
    largest = Math.max(largest, rss);
    if (stall > MAX_STALL || rss > MAX_RSS)
      faults.push(`${target.name}: ${what}: ${Math.round(stall)} ms, ${Math.round(rss)} MiB`);
    if (world.faults.length > 0) faults.push(`${target.name}: ${what}: ${world.faults.join('; ')}`);
  }
  console.log(`${target.name}: ${runs} runs, longest stall ${longest} ms, largest RSS ${Math.round(largest)} MiB`);
  return faults;
}

interface Attempt {
  readonly what: string;
  /** Processor time in milliseconds. */
  readonly stall: number;
  /** MiB. */
  readonly rss: number;
}

/**
 * Sends the input again if it stalled a thread, and returns the attempt with the shortest stall. A stall of the service
 * repeats. Work takes up to three times the processor time while other processes use the caches and the other
 * thread of the core, and one attempt may include the garbage of earlier inputs.
 */
async function calmest(world: PiecesWorld, target: PiecesTarget, input: number): Promise<Attempt> {
  let calm = await attempt(world, target, input);
  for (let left = MAX_REPEATS; left > 0 && calm.stall > MAX_STALL && world.faults.length === 0; left -= 1) {
    const again = await attempt(world, target, input);
    if (again.stall < calm.stall) calm = again;
  }
  return calm;
}

async function attempt(world: PiecesWorld, target: PiecesTarget, input: number): Promise<Attempt> {
  let what = '';
  const known = (await world.settled()).length;
  await target.run(world, new Random(input), (description) => {
    what = description.slice(0, 500);
  });
  const stalls = await world.settled();
  const rss = world.faults.length > 0 ? 0 : world.service.rss();
  return { what, stall: Math.max(0, ...stalls.slice(known)), rss };
}
