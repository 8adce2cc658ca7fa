import { expect, test } from 'vitest';
import { ProjectCache } from '../../../src/domains/projects/project-cache.ts';
import { newId } from '../../../src/platform/ids.ts';
import { ANYTHING } from '../../../src/platform/storage/changes/changes.ts';
import { openTestStorage, silentLog } from '../../support/database.ts';
import { ROOT, startTestService } from '../../support/service.ts';

test('a project that is written while all projects are read again remains in the cache', async () => {
  const { db, changes } = await openTestStorage();
  const cache = new ProjectCache({ db, changes, log: silentLog });
  await changes.announce('user', ANYTHING);
  const now = new Date();
  // The write ends during the read, which did not see it.
  const id = newId('project');
  const texts = {
    name: 'new',
    description: '',
    strictRoles: false,
    topicPayloads: true,
    clusterPasswords: false,
    problemThresholds: null,
  };
  const owners = { ownerUserId: null, ownerUser: null, ownerOrganizationId: null, ownerOrganization: null };
  cache.put({ id, ...texts, ...owners, createdAt: now, updatedAt: now });
  await cache.close();
  expect(cache.get(id)?.name).toBe('new');
});

test('projects are listed in order of creation, also if their writes ended in another order', async () => {
  const { services, graphql } = await startTestService();
  const { id: owner } = await services.users.byEmail(ROOT.email);
  await Promise.all(Array.from({ length: 20 }, (_, i) => services.projects.createFor({ name: `p${i}` }, owner)));
  const { data } = await graphql('{ projects(first: 100) { nodes { id } } }');
  const ids = data.projects.nodes.map(({ id }: { id: string }) => id);
  expect(ids).toEqual([...ids].sort());
});

test('removing a project and adding brokers to it at the same time leaves no broker behind', async () => {
  const { services, projectId, graphql } = await startTestService();
  const add = async (i: number) =>
    services.brokers.addSelfHosted(projectId, { name: `b${i}`, url: 'mqtt://127.0.0.1:1' });
  const outcomes = await Promise.allSettled([
    add(1),
    add(2),
    services.projects.remove(projectId),
    add(3),
    add(4),
    services.projects.remove(projectId),
  ]);
  for (const outcome of outcomes) {
    if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ code: 'NOT_FOUND' });
  }
  for (const outcome of outcomes) {
    if (outcome.status === 'fulfilled' && outcome.value) {
      const { id } = outcome.value;
      await expect
        .poll(async () => (await graphql('query ($id: ID!) { node(id: $id) { id } }', { id })).data.node)
        .toBeNull();
    }
  }
});
