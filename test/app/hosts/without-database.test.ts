import { describe, expect, test } from 'vitest';
import { useNetwork } from '../../support/hosts/network.ts';
import { startPostgres } from '../../support/hosts/postgres-server.ts';
import { startServiceOn } from '../../support/hosts/service-on-host.ts';
import { subscribe } from '../../support/subscription.ts';
import { isLong } from '../../support/suite.ts';
import { PATIENCE_MS, report, TEST_TIMEOUT_MS } from './hosts-world.ts';

const hosts = useNetwork();

const CREATE = 'mutation { createProject(input: { name: "P" }) { project { id } } }';
const STATUS = 'subscription ($p: ID!) { brokerStatus(projectId: $p) { kind } }';

async function twoProcesses() {
  const { network } = hosts;
  const database = network.host('database');
  const databaseUrl = (await startPostgres(database)).url();
  const one = await startServiceOn(network.host('one'), { databaseUrl });
  const two = await startServiceOn(network.host('two'), { databaseUrl });
  for (const service of [one, two]) await service.signIn();
  return { network, database, one, two };
}

describe.skipIf(hosts.unavailable !== null)('a process without a database', { timeout: TEST_TIMEOUT_MS }, () => {
  test('refuses requests within a bound, and serves them soon after the network is back', async () => {
    const { network, database, two } = await twoProcesses();
    await two.graphql(CREATE);
    network.cut(two.host, [database]);
    // More requests than the pool has connections.
    const from = performance.now();
    const failures = await Promise.all(
      Array.from({ length: 30 }, async () => {
        const { message } = await two.graphql(CREATE).catch((error: Error) => error);
        return { message, seconds: (performance.now() - from) / 1_000 };
      }),
    );
    for (const { message } of failures) expect(message).toContain('DATABASE_UNAVAILABLE');
    report(`30 requests failed within ${Math.max(...failures.map(({ seconds }) => seconds)).toFixed(1)} s`);
    report(failures[0]?.message ?? '');
    network.healAll();
    const healed = performance.now();
    const created = () =>
      two.graphql(CREATE).then(
        () => true,
        () => false,
      );
    await expect.poll(created, { timeout: PATIENCE_MS, interval: 250 }).toBe(true);
    report(`served ${((performance.now() - healed) / 1_000).toFixed(1)} s after the network was back`);
  });

  test.runIf(isLong)(
    'ends the subscriptions of a user whose session was ended meanwhile in another process',
    async () => {
      const { network, database, one, two } = await twoProcesses();
      const { id } = (await one.graphql(CREATE)).createProject.project;
      const token = await two.signIn();
      const subscription = subscribe(two, token, STATUS, { p: id });
      await subscription.until(() => true);
      network.cut(two.host, [database]);
      const from = performance.now();
      await one.graphql('mutation { logout { __typename } }', {}, token);
      await expect(subscription.until(() => false)).rejects.toThrow('DATABASE_UNAVAILABLE');
      report(`ended ${((performance.now() - from) / 1_000).toFixed(1)} s after the session`);
      await expect(two.graphql(CREATE, {}, token)).rejects.toThrow();
      network.healAll();
      const unauthorized = () =>
        two.graphql(CREATE, {}, token).then(
          () => '',
          (error: Error) => error.message,
        );
      await expect.poll(unauthorized, { timeout: PATIENCE_MS }).toContain('UNAUTHORIZED');
    },
  );
});
