import { describe, expect, test } from 'vitest';
import { bridgeState, startBridge } from '../../support/hosts/bridged-brokers.ts';
import { useNetwork } from '../../support/hosts/network.ts';
import { recordTopics, topicsOf } from '../../support/hosts/recorded-topics.ts';
import { hostOf } from '../../support/hosts/stream-traffic.ts';
import { startClient } from '../../support/mosquitto.ts';
import { PATIENCE_MS, report, startWorld, TEST_TIMEOUT_MS } from './hosts-world.ts';

const hosts = useNetwork();

describe.skipIf(hosts.unavailable !== null)(
  'after kill -9 of the process that runs them',
  { timeout: TEST_TIMEOUT_MS },
  () => {
    test('a bridge and a recorder continue in the other process, and no message of the bridge is lost', async () => {
      const { holder, other, streamed } = await startWorld(hosts.network);
      const ofHolder = streamed.filter((each) => hostOf(each) === holder.host.address);
      const [from, to = streamed.find((each) => each !== from)] = ofHolder;
      if (from === undefined || to === undefined) throw new Error('The process runs no broker');
      const bridged = await startBridge(other, from, to);
      await recordTopics(other, from);
      await expect.poll(() => topicsOf(other, from), { timeout: PATIENCE_MS }).toContain('in/a');
      await bridged.pass(PATIENCE_MS);

      await holder.kill();
      report(`the bridge forwards again after ${((await bridged.pass(PATIENCE_MS)) / 1_000).toFixed(1)} s`);
      const device = await startClient(from.broker.url);
      const later = async () => {
        await device.publishAsync('plant/later', '1');
        return topicsOf(other, from);
      };
      await expect.poll(later, { timeout: PATIENCE_MS }).toContain('plant/later');
      await bridged.complete(PATIENCE_MS);
      expect(await bridgeState(other, from)).toBe('CONNECTED');
      report(`${bridged.sent.length} messages, ${bridged.duplicates} came twice`);
    });
  },
);
