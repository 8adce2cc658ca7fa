import { describe, expect, test } from 'vitest';
import { useNetwork } from '../../support/hosts/network.ts';
import type { ServiceOnHost } from '../../support/hosts/service-on-host.ts';
import { report, startWorld } from './hosts-world.ts';

const hosts = useNetwork();

/** Rounds with a take-over of each kind, of about half of the streams. A round takes half a minute. */
const ROUNDS = Number(process.env.TAKE_OVERS ?? 20);
/** Seconds. Without load it is 5 s after kill -9, and 15 s after the loss of the database. */
const TAKEN_OVER = 30;

const percentile = (values: readonly number[], share: number): number =>
  [...values].sort((a, b) => a - b)[Math.min(values.length - 1, Math.ceil(values.length * share) - 1)] ?? Number.NaN;

const figures = (name: string, values: readonly number[]) => {
  const [median, high, most] = [0.5, 0.99, 1].map((share) => percentile(values, share).toFixed(1));
  report(`${name}: ${values.length} times; median ${median} s, p99 ${high} s, most ${most} s`);
};

describe.skipIf(hosts.unavailable !== null)('take-over of streams, repeated', { timeout: 3_600_000 }, () => {
  test('after kill -9, and after the loss of the database, never in two processes', async () => {
    const { network } = hosts;
    const world = await startWorld(network);
    const killed: number[] = [];
    const cutOff: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const process = round % 2 === 0 ? world.holder : world.other;
      killed.push(...(await takenOver(process, () => process.kill())));
      await process.start();
      await world.converged();
      await world.settled();

      cutOff.push(...(await takenOver(process, () => network.cut(process.host, [world.database]))));
      network.healAll();
      await world.converged();
      await world.settled();
    }
    figures('killed', killed);
    figures('cut off from the database', cutOff);
    const pauses = world.pauses();
    figures('pause between the connections of the two processes', pauses);
    report(`${await world.complete()} messages came twice, none was lost`);
    for (const seconds of [killed, cutOff]) expect(percentile(seconds, 0.99)).toBeLessThan(TAKEN_OVER);
    expect(Math.min(...pauses)).toBeGreaterThan(0);

    async function takenOver(process: ServiceOnHost, fault: () => unknown): Promise<number[]> {
      const times = world.takenOverEach(process);
      await fault();
      return times;
    }
  });
});
