import { expect, test } from 'vitest';
import { storm } from './dynsec-storm.ts';

// A failed run prints its seed. STORM_SEED repeats it.
const seed = Number(process.env.STORM_SEED ?? Math.floor(Math.random() * 1_000_000));
const writes = Number(process.env.STORM_WRITES ?? 1_000);

for (const keeps of [false, true]) {
  test(`random writes while nodes stop and start, passwords stored: ${keeps}`, { timeout: 1_800_000 }, async () => {
    const tally = await storm({ seed, writes, quietAfter: 25, keeps });
    console.log(`storm ${seed}: ${JSON.stringify(tally)}`);
    expect(tally.applied).toBeGreaterThan(writes / 4);
    expect(tally.stops).toBeGreaterThan(writes / 20);
  });
}
