import { expect, onTestFinished, test, vi } from 'vitest';
import { SysBridges } from '../../../src/domains/bridges/sys-bridges.ts';
import { SysTopics } from '../../../src/domains/brokers/sys-topics.ts';
import { dynsecDone } from '../../data-plane/broker/dynsec.ts';
import { startScriptedBroker } from '../../support/aedes-broker.ts';
import { connectedLink, reached } from '../../support/link.ts';
import { ADMIN, startMosquitto } from '../../support/mosquitto.ts';

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

test('a log that the account may not read is read when the permission comes', async () => {
  const broker = await startMosquitto({ access: 'dynsec', logTypes: ['notice'] });
  const admin = await broker.client(ADMIN);
  const topic = '$SYS/broker/connection/#';
  const acls = ['subscribePattern', 'publishClientSend'].map((acltype) => ({ acltype, topic, allow: true }));
  await dynsecDone(
    admin,
    { command: 'createRole', rolename: 'states', acls },
    { command: 'createClient', username: 'weak', password: 'weak', roles: [{ rolename: 'states' }] },
  );
  const link = await connectedLink({ url: broker.url, username: 'weak', password: 'weak' });
  await link.publish('$SYS/broker/connection/old/state', '0', { qos: 1, retain: true });
  const sys = new SysTopics(link, { refusedMs: 50, burstMs: 5 });
  const bridges = new SysBridges(sys, link);
  onTestFinished(() => {
    bridges.close();
    sys.close();
  });
  await expect.poll(() => bridges.get('old')).not.toBeNull();
  await dynsecDone(admin, { command: 'setDefaultACLAccess', acls: [{ acltype: 'subscribe', allow: true }] });
  const now = performance.now.bind(performance);
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now() + 200_000);
  onTestFinished(() => clock.mockRestore());
  await expect
    .poll(async () => {
      const isLeft = bridges.all().map((bridge) => bridges.isLeft(bridge));
      clock.mockImplementation(now);
      // Writes a line to the log.
      await (await broker.client(ADMIN)).endAsync();
      clock.mockImplementation(() => now() + 200_000);
      return isLeft;
    })
    .toEqual([true]);
});
