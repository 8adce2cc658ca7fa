import { expect, test } from 'vitest';
import { temporaryFolder } from '../../support/database.ts';
import { startTestService } from '../../support/service.ts';

const CREATE =
  'mutation ($input: CreateProjectInput!) { createProject(input: $input) { project { id name description viewerRole owner { name userId } } } }';
const SET_MEMBER =
  'mutation ($input: SetProjectMemberInput!) { setProjectMember(input: $input) { member { role user { email } } } }';

const ORGANIZATION =
  'mutation ($input: CreateOrganizationInput!) { createOrganization(input: $input) { organization { id } } }';
const ADD = 'mutation ($input: AddBrokerInput!) { addBroker(input: $input) { broker { id } } }';

test('the creator of a project owns it, and sees it in the graph and by REST', async () => {
  const { graphql, rest, person } = await startTestService();
  const { token } = await person(null);
  const { project } = (await graphql(CREATE, { input: { name: 'Plant', description: 'Line 1' } }, token)).data
    .createProject;
  expect(project).toMatchObject({ name: 'Plant', description: 'Line 1', viewerRole: 'ADMIN' });

  const { status, body, headers } = await rest('GET', '/api/projects', token);
  expect(status).toBe(200);
  expect(headers.get('x-total-count')).toBe('1');
  expect(body).toEqual([
    {
      id: project.id,
      name: 'Plant',
      description: 'Line 1',
      owner: { userId: project.owner.userId, name: project.owner.name },
      role: 'admin',
    },
  ]);
});

test('requests that add a member at the same time all succeed', async () => {
  const { graphql, person, projectId, root } = await startTestService();
  for (let round = 0; round < 5; round += 1) {
    const { email } = await person(null);
    const roles = ['VIEWER', 'EDITOR', 'ADMIN', 'VIEWER', 'EDITOR', 'ADMIN'];
    const set = (role: string) => graphql(SET_MEMBER, { input: { projectId, email, role } }, root);
    for (const { errors } of await Promise.all(roles.map(set))) expect(errors).toBeUndefined();
  }
});

test('members get the role they are given, and lose the project when they are removed', async () => {
  const { graphql, rest, person, projectId } = await startTestService();
  const { token, email } = await person(null);
  expect((await rest('GET', '/api/projects', token)).body).toEqual([]);

  const { data } = await graphql(SET_MEMBER, { input: { projectId, email, role: 'EDITOR' } });
  expect(data.setProjectMember.member).toEqual({ role: 'EDITOR', user: { email } });
  expect((await rest('GET', '/api/projects', token)).body).toMatchObject([{ id: projectId, role: 'editor' }]);
  const members = await graphql(
    'query ($id: ID!) { project(id: $id) { members { totalCount nodes { role user { email } } } } }',
    { id: projectId },
  );
  expect(members.data.project.members).toEqual({ totalCount: 1, nodes: [{ role: 'EDITOR', user: { email } }] });

  await graphql('mutation ($input: RemoveProjectMemberInput!) { removeProjectMember(input: $input) { user { id } } }', {
    input: { projectId, email },
  });
  expect(
    (await graphql('query ($id: ID!) { project(id: $id) { id } }', { id: projectId }, token)).errors?.[0]?.extensions
      .code,
  ).toBe('NOT_FOUND');
});

test.each([
  ['off', {}, false],
  ['on', { STRICT_ROLES: 'on' }, true],
])(
  'with STRICT_ROLES %s a new project has hasStrictRoles accordingly, and it can be switched',
  async (_, env, expected) => {
    const { graphql, projectId } = await startTestService({ dataDir: temporaryFolder(), env });
    const SETTINGS = 'query ($id: ID!) { project(id: $id) { settings { hasStrictRoles } } }';
    const isStrict = async (id: string) => (await graphql(SETTINGS, { id })).data.project.settings.hasStrictRoles;
    const { project } = (await graphql(CREATE, { input: { name: 'New' } })).data.createProject;
    expect([await isStrict(projectId), await isStrict(project.id)]).toEqual([expected, expected]);
    const UPDATE = 'mutation ($input: UpdateProjectInput!) { updateProject(input: $input) { project { id } } }';
    await graphql(UPDATE, { input: { projectId: project.id, hasStrictRoles: !expected } });
    expect(await isStrict(project.id)).toBe(!expected);
  },
);

test('projects change and go, with their brokers', async () => {
  const { graphql, storage } = await startTestService();
  const { project } = (await graphql(CREATE, { input: { name: 'Old' } })).data.createProject;
  await graphql('mutation ($input: AddBrokerInput!) { addBroker(input: $input) { broker { id } } }', {
    input: { projectId: project.id, url: 'mqtt://127.0.0.1:1' },
  });
  const updated = await graphql(
    'mutation ($input: UpdateProjectInput!) { updateProject(input: $input) { project { name settings { hasStrictRoles } } } }',
    {
      input: { projectId: project.id, name: 'New', hasStrictRoles: true },
    },
  );
  expect(updated.data.updateProject.project).toEqual({ name: 'New', settings: { hasStrictRoles: true } });

  const removed = await graphql(
    'mutation ($input: DeleteProjectInput!) { deleteProject(input: $input) { deletedProjectId } }',
    { input: { projectId: project.id } },
  );
  expect(removed.data.deleteProject.deletedProjectId).toBe(project.id);
  expect(await storage.db.broker.count({ where: { projectId: project.id } })).toBe(0);
});

test('an empty name is refused with its path, and nothing is written', async () => {
  const { graphql, storage } = await startTestService();
  const before = await storage.db.project.count();
  const { errors } = await graphql(CREATE, { input: { name: '  ' } });
  expect(errors?.[0]?.extensions).toMatchObject({ code: 'INVALID', info: { issues: [{ path: 'input.name' }] } });
  expect(await storage.db.project.count()).toBe(before);
});

test('an organization owns projects: its owners administer them, its members see them', async () => {
  const { graphql, person } = await startTestService();
  const owner = await person(null);
  const member = await person(null);
  const { organization } = (
    await graphql('mutation { createOrganization(input: { name: "ACME" }) { organization { id } } }', {}, owner.token)
  ).data.createOrganization;
  const { project } = (
    await graphql(CREATE, { input: { name: 'Theirs', organizationId: organization.id } }, owner.token)
  ).data.createProject;
  expect(project).toMatchObject({ viewerRole: 'ADMIN', owner: { name: 'ACME', userId: null } });

  const role = async (token: string) =>
    (await graphql('query ($id: ID!) { project(id: $id) { viewerRole } }', { id: project.id }, token)).data?.project
      ?.viewerRole;
  expect(await role(member.token)).toBeUndefined();
  await graphql(
    'mutation ($input: SetOrganizationMemberInput!) { setOrganizationMember(input: $input) { organization { id } } }',
    {
      input: { organizationId: organization.id, email: member.email, role: 'MEMBER' },
    },
    owner.token,
  );
  expect(await role(member.token)).toBe('VIEWER');

  const last = await graphql(
    'mutation ($input: RemoveOrganizationMemberInput!) { removeOrganizationMember(input: $input) { organization { id } } }',
    {
      input: { organizationId: organization.id, email: owner.email },
    },
    owner.token,
  );
  expect(last.errors?.[0]?.extensions.code).toBe('IN_USE');
});

test('a person can make so many projects and organizations, and add so many brokers to one; a root administrator any number', async () => {
  const { graphql, person } = await startTestService({
    env: { MAX_PROJECTS_PER_USER: '2', MAX_BROKERS_PER_PROJECT: '2' },
  });
  const [ann, bob] = [await person(null), await person(null)];
  const made = async (token?: string, organizationId?: string) => {
    const { data, errors } = await graphql(CREATE, { input: { name: 'One more', organizationId } }, token);
    return errors?.[0]?.extensions ?? data.createProject.project.id;
  };
  const refused = { code: 'INVALID', info: { limit: 2, issues: [{ path: 'input', reason: expect.any(String) }] } };
  const organization = async (name: string) => {
    const { data, errors } = await graphql(ORGANIZATION, { input: { name } }, ann.token);
    return errors?.[0]?.extensions ?? data.createOrganization.organization.id;
  };
  const own = await organization('First');
  // Also of those that come at once one is too many; one of an organization counts as one of its owner.
  const atOnce = await Promise.all([made(ann.token, own), made(ann.token), made(ann.token, own), made(ann.token)]);
  const [projectId, ...others] = atOnce.filter((id) => typeof id === 'string');
  expect(others).toHaveLength(1);
  const refusals = atOnce.filter((id) => typeof id !== 'string');
  expect(refusals).toEqual([expect.objectContaining(refused), expect.objectContaining(refused)]);
  expect([typeof (await organization('Second')), await organization('Third')]).toEqual([
    'string',
    expect.objectContaining(refused),
  ]);
  expect(typeof (await made(bob.token))).toBe('string');
  for (let n = 0; n < 3; n += 1) expect(typeof (await made())).toBe('string');

  const add = async () =>
    (await graphql(ADD, { input: { projectId, name: 'b', url: 'mqtt://127.0.0.1:1' } }, ann.token)).errors?.[0]
      ?.extensions;
  expect([await add(), await add()]).toEqual([undefined, undefined]);
  expect(await add()).toMatchObject(refused);
});

test('project settings have exactly the documented shape', async () => {
  const { rest, projectId } = await startTestService();
  const { status, body } = await rest('GET', `/api/projects/${projectId}/settings`);
  expect(status).toBe(200);
  expect(Object.keys(body).sort()).toEqual(['owner', 'project', 'services']);
  expect(body.project).toEqual({
    id: projectId,
    user_id: expect.any(String),
    name: 'Test',
    description: '',
    owner: { userId: body.project.user_id },
  });
  expect(body.owner).toEqual({ userId: body.project.user_id });
  expect(body.services).toEqual([]);
});
