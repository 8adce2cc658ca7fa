import { expect, test } from 'vitest';
import { startTestService } from '../../support/service.ts';
import { codeOf, eventsOf } from './audited-service.ts';

const RENAME = 'mutation ($input: UpdateProjectInput!) { updateProject(input: $input) { project { id } } }';
const ADD = 'mutation ($input: CreateProjectInput!) { createProject(input: $input) { project { id } } }';
const UPDATE = 'mutation ($input: UpdateBrokerInput!) { updateBroker(input: $input) { broker { id } } }';
/** Of each mutation that one caller is refused in a row so many have an entry each. */
const SINGLE = 20;

test('mutations that one person is refused in a row become one entry with their number', async () => {
  const service = await startTestService();
  const { graphql, projectId, person, services, config } = service;
  const [viewer, other] = [await person('VIEWER'), await person('VIEWER')];
  const rename = async (token: string, name = 'x') =>
    codeOf(await graphql(RENAME, { input: { projectId, name } }, token));
  for (let i = 0; i < 100; i++) expect(await rename(viewer.token)).toBe('NOT_ALLOWED');
  for (let i = 0; i < 3; i++) expect(await rename(other.token)).toBe('NOT_ALLOWED');
  // Another mutation, and what is done, have entries of their own.
  expect(codeOf(await graphql(ADD, { input: { name: 'mine' } }, viewer.token))).toBeNull();
  expect(await rename(service.root, 'renamed')).toBeNull();

  const own = await eventsOf(service, { actorId: viewer.id });
  expect(own.filter(({ operation }) => operation === 'updateProject')).toHaveLength(SINGLE);
  expect(own.filter(({ operation }) => operation === 'createProject')).toMatchObject([{ result: 'DONE' }]);
  expect(await eventsOf(service, { actorId: other.id })).toHaveLength(3);
  expect(services.audit.backlog.waiting).toBe(0);

  const { dataDir, databaseUrl } = config;
  await service.close();
  const again = await startTestService({
    dataDir,
    ...(databaseUrl === undefined ? {} : { env: { DATABASE_URL: databaseUrl } }),
  });
  const counted = (await eventsOf(again, { actorId: viewer.id })).filter(
    ({ after }) => typeof after?.count === 'number',
  );
  expect(counted).toMatchObject([
    { operation: 'updateProject', result: 'REFUSED', code: 'NOT_ALLOWED', after: { count: 80 }, targetId: projectId },
  ]);
});

test('the values in the entries of one caller are bounded per minute, and those of others are not affected', async () => {
  const service = await startTestService();
  const { graphql, projectId, person, services } = service;
  const { id: brokerId } = await services.brokers.addSelfHosted(projectId, { name: 'b', url: 'mqtt://127.0.0.1:1' });
  const [many, other] = [await person('ADMIN'), await person('ADMIN')];
  const text = (n: number) => `${n} ${'x'.repeat(3_900)}`;
  const describe = async (token: string, n: number) =>
    codeOf(await graphql(UPDATE, { input: { brokerId, description: text(n), username: text(n) } }, token));
  const begun = performance.now();
  /** What a minute allows, and what was regained since. */
  const allowed = () => 500_000 + ((performance.now() - begun) / 60_000) * 500_000;
  let count = 0;
  for (; count * 2_000 < allowed() + 50_000; count++) expect(await describe(many.token, count)).toBeNull();
  expect(await describe(other.token, 1)).toBeNull();
  const sizes = async (actorId: string) =>
    (await eventsOf(service, { actorId })).map(({ before, after }) => JSON.stringify([before, after]).length);
  const own = await sizes(many.id);
  expect(own).toHaveLength(count);
  expect(own.reduce((sum, size) => sum + size, 0)).toBeLessThan(allowed() + 100_000);
  expect(Math.min(...own)).toBeLessThan(300);
  expect((await sizes(other.id))[0]).toBeGreaterThan(2_000);
});
