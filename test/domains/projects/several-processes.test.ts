import { describe, expect, test } from 'vitest';
import { databaseOfRun } from '../../support/database.ts';
import { idleSocket } from '../../support/idle-socket.ts';
import { sharedDatabase, startTestService } from '../../support/service.ts';
import { subscribe } from '../../support/subscription.ts';

// Two services on one PostgreSQL, as two processes would be: they share nothing but the database.
describe.skipIf(process.env.TEST_ENGINE !== 'postgresql')('two services on one database', () => {
  const start = async () => {
    const env = { DATABASE_URL: await sharedDatabase(), SECRET_KEY: '5e'.repeat(32) };
    const one = await startTestService({ env });
    return [one, await startTestService({ env })] as const;
  };

  test('of those that start for the first time at the same moment one makes the first project with its broker', async () => {
    const env = { DATABASE_URL: (await databaseOfRun()) ?? '', SECRET_KEY: '5e'.repeat(32) };
    const services = await Promise.all([1, 2, 3].map(() => startTestService({ env, embeddedBroker: true })));
    const db = services[0]?.storage.db;
    expect([await db?.project.count(), await db?.broker.count(), await db?.user.count()]).toEqual([1, 1, 1]);
    expect(services.filter(({ report }) => report.mqtt !== null)).toHaveLength(1);
  });

  test('what one writes the other serves', async () => {
    const [one, two] = await start();
    const { body } = await one.rest('POST', `/api/projects/${one.projectId}/brokers`, one.root, {
      name: 'shared',
      url: 'mqtt://127.0.0.1:1',
      password: 'x',
    });
    await expect
      .poll(async () => (await two.rest('GET', `/api/projects/${one.projectId}/brokers`)).body)
      .toMatchObject([{ id: body.id, name: 'shared' }]);
    await two.rest('PUT', `/api/projects/${one.projectId}/brokers/${body.id}`, two.root, { name: 'renamed' });
    await expect
      .poll(async () => (await one.rest('GET', `/api/projects/${one.projectId}/brokers/${body.id}`)).body.name)
      .toBe('renamed');
    await one.rest('DELETE', `/api/projects/${one.projectId}/brokers/${body.id}`);
    await expect.poll(async () => (await two.rest('GET', `/api/projects/${one.projectId}/brokers`)).body).toEqual([]);
  });

  test('a role that one takes away ends requests and subscriptions at the other', async () => {
    const [one, two] = await start();
    const person = await one.person('VIEWER');
    const events = subscribe(two, person.token, 'subscription ($p: ID!) { brokerStatus(projectId: $p) { kind } }', {
      p: one.projectId,
    });
    await events.until(({ brokerStatus }) => brokerStatus.kind === 'SNAPSHOT');
    await one.services.projects.removeMember(one.projectId, person.email);
    expect(await events.closed).toBe(4403);
    expect((await two.rest('GET', `/api/projects/${one.projectId}/brokers`, person.token)).status).toBe(404);
  });

  test('a session that one ends closes the WebSockets without an operation at the other', async () => {
    const [one, two] = await start();
    const [person, other] = [await one.person('VIEWER'), await one.person('VIEWER')];
    const [socket, bystander] = [await idleSocket(two, person.token), await idleSocket(two, other.token)];
    await one.graphql('mutation { logout { isLoggedOut } }', {}, person.token);
    expect(await socket.closed).toBe(4403);
    expect(bystander.isOpen()).toBe(true);
  });
});
