import { describe, expect, test } from 'vitest';
import { useNetwork } from '../../support/hosts/network.ts';
import { hostOf, statesOf } from '../../support/hosts/stream-traffic.ts';
import { isLong } from '../../support/suite.ts';
import { PATIENCE_MS, range, report, startWorld, TEST_TIMEOUT_MS } from './hosts-world.ts';

const hosts = useNetwork();

describe.skipIf(hosts.unavailable !== null)(
  'the streams of a process that cannot run them',
  { timeout: TEST_TIMEOUT_MS },
  () => {
    test('run in another process soon after the process was killed, and no message is lost', async () => {
      const world = await startWorld(hosts.network, {});
      await world.holder.kill();
      report(`streams of a killed process run again after ${(await world.takenOver(world.holder)).toFixed(1)} s`);
      await world.holder.start();
      await world.converged();
      report(`${await world.complete()} messages came twice`);
      expect(Math.min(...world.pauses())).toBeGreaterThan(0);
    });

    test.runIf(isLong)(
      'run in another process soon after the supervisor stopped the process, and no message is lost',
      async () => {
        const world = await startWorld(hosts.network, {});
        const takenOver = world.takenOver(world.holder);
        await world.holder.stop();
        report(`streams of a process that ended run again ${(await takenOver).toFixed(1)} s after SIGTERM`);
        report(`paused for ${range(world.pauses())}`);
        await world.complete();
        expect(Math.min(...world.pauses())).toBeGreaterThan(0);
      },
    );

    test.runIf(isLong).each(['LOST', 'REFUSED'] as const)(
      'run in another process after its packets to the database are %s, and never in both',
      async (cut) => {
        const { network } = hosts;
        const world = await startWorld(network, {});
        network.cut(world.holder.host, [world.database], cut);
        report(
          `streams of a process without a database run again after ${(await world.takenOver(world.holder)).toFixed(1)} s`,
        );
        network.healAll();
        await world.converged();
        await world.passed();
        report(`${await world.complete()} messages came twice, paused for ${range(world.pauses())}`);
        // The first process has disconnected before the second one connects.
        expect(Math.min(...world.pauses())).toBeGreaterThan(0);
      },
    );

    test.runIf(isLong)(
      'run in another process after the process was stopped, and not in both when it continues',
      async () => {
        const world = await startWorld(hosts.network, {});
        world.holder.suspend();
        report(`streams of a stopped process run again after ${(await world.takenOver(world.holder)).toFixed(1)} s`);
        world.holder.resume();
        await world.converged();
        await world.passed();
        report(`${await world.complete()} messages came twice`);
      },
    );

    test.runIf(isLong)(
      'stay there if its clock is five minutes ahead, and run in another process after it was cut off',
      async () => {
        const { network } = hosts;
        const world = await startWorld(network, { clockAheadSeconds: 300 });
        const { headers } = await fetch(`${world.holder.url}/healthz`);
        expect(Date.parse(headers.get('date') ?? '') - Date.now()).toBeGreaterThan(200_000);
        await world.converged();
        expect(world.pauses()).toEqual([]);
        network.cut(world.holder.host, [world.database]);
        report(
          `streams of a process with a wrong clock run again after ${(await world.takenOver(world.holder)).toFixed(1)} s`,
        );
        network.healAll();
        await world.converged();
        expect(await world.complete()).toBe(0);
        expect(Math.min(...world.pauses())).toBeGreaterThan(0);
      },
    );

    test.runIf(isLong)('stay there if the network of the database is slow', async () => {
      const world = await startWorld(hosts.network, {});
      world.database.limit(200);
      for (let round = 0; round < 3; round++) await world.converged();
      world.database.unlimit();
      await world.complete();
      expect(world.pauses()).toEqual([]);
    });

    test.runIf(isLong)('wait while the process is cut off from the brokers only, and continue there', async () => {
      const { network } = hosts;
      const world = await startWorld(network, {});
      const own = world.streamed.filter((each) => hostOf(each) === world.holder.host.address);
      expect(own).not.toEqual([]);
      network.cut(world.holder.host, [world.brokers]);
      const states = () => statesOf(world.other, own);
      await expect.poll(states, { timeout: PATIENCE_MS }).toEqual(own.map(() => 'WAITING'));
      network.healAll();
      report(`streams run again ${(await world.passed()).toFixed(1)} s after the brokers can be reached`);
      await world.converged();
      await world.complete();
      expect(world.pauses()).toEqual([]);
    });
  },
);
