import { expect, onTestFinished, test, vi } from 'vitest';
import { SysBridges } from '../../../src/domains/bridges/sys-bridges.ts';
import { SysTopics } from '../../../src/domains/brokers/sys-topics.ts';
import { startScriptedBroker } from '../../support/aedes-broker.ts';
import { connectedLink, reached } from '../../support/link.ts';

test('a disconnected bridge that the log does not name counts as removed, but not while the broker is not connected', async () => {
  const broker = await startScriptedBroker(() => []);
  const link = await connectedLink({ url: broker.url });
  const sys = new SysTopics(link);
  const bridges = new SysBridges(sys, link);
  onTestFinished(() => {
    bridges.close();
    sys.close();
  });
  await expect.poll(() => broker.filters).toContain('$SYS/broker/connection/#');
  await broker.publish('$SYS/broker/connection/old/state', '0');
  await expect.poll(() => broker.filters).toContain('$SYS/broker/log/#');
  await broker.publish('$SYS/broker/log/N', 'a line of something else');
  // Comes after the line.
  await broker.publish('$SYS/broker/connection/other/state', '1');
  await expect.poll(() => bridges.get('other')).not.toBeNull();
  const isLeft = () => bridges.all().map((bridge) => bridges.isLeft(bridge));
  expect(isLeft()).toEqual([false, false]);
  const now = performance.now.bind(performance);
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now() + 200_000);
  onTestFinished(() => clock.mockRestore());
  expect(isLeft()).toEqual([true, false]);
  await broker.stop();
  await reached(link, 'UNREACHABLE');
  expect(isLeft()).toEqual([false, false]);
});
