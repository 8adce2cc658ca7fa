import SqliteDatabase from 'better-sqlite3';
import { expect, onTestFinished, test, vi } from 'vitest';
import { useSqlite } from '../../support/database.ts';
import { startTestService } from '../../support/service.ts';

test('rules are made, listed, changed and removed by REST, by administrators of their project', async () => {
  const service = await startTestService();
  const path = `/api/projects/${service.projectId}/oidc/mapping/rules`;
  const [admin, viewer, stranger] = [
    await service.person('ADMIN'),
    await service.person('VIEWER'),
    await service.person(null),
  ];
  const rule = { role: 'editor', claimPath: 'realm_access.roles', claimRegex: 'plant-(ops|dev)' };
  const refused = await service.rest('POST', path, viewer.token, { providerId: 'sso', rule });
  expect([refused.status, refused.body.code]).toEqual([403, 'NOT_ALLOWED']);
  const made = await service.rest('POST', path, admin.token, { providerId: 'sso', rule });
  expect([made.status, made.body]).toEqual([
    200,
    [{ id: expect.stringMatching(/^rul_/), providerId: 'sso', projectId: service.projectId, ...rule }],
  ]);
  const rules = [
    { role: 'viewer', claimRegex: 'staff' },
    { role: 'admin', claimRegex: 'boss' },
  ];
  expect((await service.rest('POST', path, admin.token, { providerId: 'ldap', rules })).status).toBe(200);

  const listed = await service.rest('GET', `${path}?providerId=ldap`, viewer.token);
  expect(listed.body.map(({ role, claimPath }: Record<string, string>) => [role, claimPath])).toEqual([
    ['viewer', 'groups'],
    ['admin', 'groups'],
  ]);
  expect((await service.rest('GET', path, viewer.token)).body).toHaveLength(3);
  expect((await service.rest('GET', path, stranger.token)).status).toBe(404);

  const [{ id }] = made.body;
  expect((await service.rest('PUT', `${path}/${id}`, viewer.token, { role: 'admin' })).status).toBe(403);
  expect((await service.rest('PUT', `${path}/${id}`, admin.token, { role: 'admin' })).status).toBe(204);
  expect((await service.rest('GET', path, admin.token)).body[0]).toMatchObject({ ...rule, role: 'admin' });
  expect((await service.rest('DELETE', `${path}/${id}`, stranger.token)).status).toBe(404);
  expect((await service.rest('DELETE', `${path}/${id}`, admin.token)).status).toBe(204);
  expect((await service.rest('DELETE', `${path}/${id}`, admin.token)).status).toBe(404);
});

test('rules are read when one has changed, and not for each person who comes', async () => {
  useSqlite();
  const service = await startTestService();
  const { services, storage, projectId } = service;
  const { db, changes } = storage;
  const { id } = await services.users.create({ email: 'ada@example.com', ssoType: 'sso' });
  const claims = JSON.stringify({ groups: ['staff'] });
  await db.identity.create({ data: { provider: 'sso', subject: 'ada', userId: id, claims } });
  const { token } = await services.auth.sessions.open(id, { provider: 'sso' });
  const prepared = vi.spyOn(SqliteDatabase.prototype, 'prepare');
  onTestFinished(() => prepared.mockRestore());
  const asked = async () => {
    prepared.mockClear();
    const { projectRoles } = await services.auth.viewerOfSecret(token);
    const reads = prepared.mock.calls.filter(([text]) => /^SELECT/i.test(text));
    const ofRules = reads.filter(([text]) => text.includes('SignInRule'));
    return [projectRoles.get(projectId) ?? null, ofRules.length];
  };
  const again = async () => {
    await changes.announce('user', id);
    return asked();
  };
  expect([await asked(), await again(), await again()]).toEqual([
    [null, 1],
    [null, 0],
    [null, 0],
  ]);
  const [rule] = await services.signInRules.create(projectId, [{ provider: 'sso', pattern: 'staff', role: 'EDITOR' }]);
  expect([await asked(), await again()]).toEqual([
    ['EDITOR', 1],
    ['EDITOR', 0],
  ]);
  await services.signInRules.remove(rule?.id ?? '', await services.auth.viewerOfSecret(service.root));
  expect(await asked()).toEqual([null, 1]);
});

test('a rule of another project is invisible, with any project id in the input', async () => {
  const service = await startTestService();
  const [rule] = await service.services.signInRules.create(service.projectId, [
    { provider: 'sso', pattern: 'a', role: 'VIEWER' },
  ]);
  const create = 'mutation { createProject(input: { name: "Own" }) { project { id } } }';
  const { token } = await service.person(null);
  const own = (await service.graphql(create, {}, token)).data.createProject.project.id;
  const remove = 'mutation ($i: DeleteSignInRuleInput!) { deleteSignInRule(input: $i) { deletedRuleId } }';
  for (const input of [{ ruleId: rule?.id }, { ruleId: rule?.id, projectId: own }]) {
    const { errors } = await service.graphql(remove, { i: input }, token);
    expect(errors?.[0]?.extensions.code).toBe('NOT_FOUND');
  }
  const path = `/api/projects/${own}/oidc/mapping/rules/${rule?.id}`;
  expect((await service.rest('DELETE', path)).status).toBe(404);
});

test('what no rule can be is refused, with the place', async () => {
  const service = await startTestService();
  const create = 'mutation ($i: CreateSignInRulesInput!) { createSignInRules(input: $i) { rules { id } } }';
  const fine = { provider: 'SSO', pattern: 'a', role: 'VIEWER' };
  for (const [rules, path] of [
    [[], 'input.rules'],
    [[fine, { ...fine, pattern: '(a' }], 'input.rules.1.pattern'],
    [[{ ...fine, pattern: '(?=a)b' }], 'input.rules.0.pattern'],
    [[{ ...fine, pattern: '' }], 'input.rules.0.pattern'],
    [[{ ...fine, claimPath: '' }], 'input.rules.0.claimPath'],
    [[{ ...fine, claimPath: 'x'.repeat(201) }], 'input.rules.0.claimPath'],
  ] as const) {
    const { errors } = await service.graphql(create, { i: { projectId: service.projectId, rules } });
    const [error] = errors ?? [];
    expect([error?.extensions.code, error?.extensions.info]).toEqual([
      'INVALID',
      { issues: [{ path, reason: expect.any(String) }] },
    ]);
  }
  expect(await service.storage.db.signInRule.count()).toBe(0);
  const many = { projectId: service.projectId, rules: Array(100).fill(fine) };
  expect((await service.graphql(create, { i: many })).errors).toBeUndefined();
  const { errors } = await service.graphql(create, { i: { projectId: service.projectId, rules: [fine] } });
  expect(errors?.[0]?.extensions.code).toBe('IN_USE');
});
