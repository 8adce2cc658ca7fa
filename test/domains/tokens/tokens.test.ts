import { expect, test } from 'vitest';
import { startTestService } from '../../support/service.ts';

const CREATE =
  'mutation ($input: CreateTokenInput!) { createToken(input: $input) { secret token { id role type hash brokerIds issuer } } }';

async function withBrokers() {
  const service = await startTestService();
  const add = async (name: string) =>
    (
      await service.rest('POST', `/api/projects/${service.projectId}/brokers`, service.root, {
        name,
        url: 'mqtt://127.0.0.1:1',
      })
    ).body.id as string;
  return { ...service, one: await add('one'), two: await add('two') };
}

test('a token acts with its own role in its project, and its secret is nowhere but in the first answer', async () => {
  const { graphql, rest, projectId, storage } = await withBrokers();
  const { data } = await graphql(CREATE, { input: { projectId, name: 'dashboard', role: 'VIEWER' } });
  const { secret, token } = data.createToken;
  expect(secret).toMatch(/^bgp_/);
  expect(JSON.stringify(await storage.db.projectToken.findMany())).not.toContain(secret);

  expect((await rest('GET', `/api/projects/${projectId}/brokers`, secret)).status).toBe(200);
  expect(
    (await rest('POST', `/api/projects/${projectId}/brokers`, secret, { name: 'x', url: 'mqtt://h' })).status,
  ).toBe(403);
  const viewer = await graphql('{ viewer { kind name email user { id projectCount } } }', {}, secret);
  expect(viewer.data.viewer).toEqual({ kind: 'TOKEN', name: 'dashboard', email: null, user: null });

  await graphql('mutation ($id: ID!) { revokeToken(input: { tokenId: $id }) { revokedTokenId } }', { id: token.id });
  expect((await rest('GET', `/api/projects/${projectId}/brokers`, secret)).status).toBe(401);
});

test('a restricted token cannot learn that other brokers exist', async () => {
  const { graphql, rest, projectId, one, two } = await withBrokers();
  const { data } = await graphql(CREATE, { input: { projectId, name: 'one', role: 'EDITOR', brokerIds: [one] } });
  const { secret } = data.createToken;
  const { body } = await rest('GET', `/api/projects/${projectId}/brokers`, secret);
  expect(body.map(({ id }: { id: string }) => id)).toEqual([one]);
  expect((await rest('GET', `/api/projects/${projectId}/brokers/${two}`, secret)).status).toBe(404);
  expect((await rest('PUT', `/api/projects/${projectId}/brokers/${two}`, secret, { name: 'x' })).status).toBe(404);
  expect((await graphql('query ($id: ID!) { node(id: $id) { id } }', { id: two }, secret)).data.node).toBeNull();
});

test('a token cannot be above its issuer, in the past, for a broker of another project, or issued by a token', async () => {
  const { graphql, person, projectId, one } = await withBrokers();
  const editor = await person('EDITOR');
  const create = async (input: object, token?: string) =>
    (await graphql(CREATE, { input: { projectId, name: 't', role: 'VIEWER', ...input } }, token)).errors?.[0]
      ?.extensions.code;
  expect(await create({}, editor.token)).toBe('NOT_ALLOWED');
  expect(await create({ validUntil: '2001-01-01T00:00:00.000Z' })).toBe('INVALID');
  const other = (await graphql('mutation { createProject(input: { name: "Other" }) { project { id } } }')).data
    .createProject.project.id;
  expect(await create({ projectId: other, brokerIds: [one] })).toBe('NOT_FOUND');
  const admin = (await graphql(CREATE, { input: { projectId, name: 'a', role: 'ADMIN' } })).data.createToken.secret;
  expect(await create({}, admin)).toBe('NOT_ALLOWED');
});

test('a token remains valid when its issuer is demoted and deleted, and still shows the issuer', async () => {
  const { graphql, rest, person, services, projectId, root } = await withBrokers();
  const issuer = await person('ADMIN');
  const input = { projectId, name: 'dashboard', role: 'ADMIN' };
  const { secret } = (await graphql(CREATE, { input }, issuer.token)).data.createToken;
  await services.projects.setMember(projectId, issuer.email, 'VIEWER');
  const add = { name: 'three', url: 'mqtt://127.0.0.1:1' };
  expect((await rest('POST', `/api/projects/${projectId}/brokers`, secret, add)).status).toBe(200);
  await services.users.remove(issuer.id);
  expect((await rest('GET', `/api/projects/${projectId}/brokers`, secret)).body).toHaveLength(3);
  const [listed] = (await rest('GET', `/api/projects/${projectId}/tokens`, root)).body;
  expect(listed.issuer).toBe(issuer.email);
});

test('a restricted administrator token has no say in the project beyond its brokers', async () => {
  const { graphql, rest, projectId, one, two, person } = await withBrokers();
  const outsider = await person(null);
  const { data } = await graphql(CREATE, { input: { projectId, name: 'one', role: 'ADMIN', brokerIds: [one] } });
  const { secret, token } = data.createToken;
  const other = (await graphql(CREATE, { input: { projectId, name: 'all', role: 'ADMIN' } })).data.createToken.token;

  const codeOf = async (document: string, variables: object) =>
    (await graphql(document, { ...variables }, secret)).errors?.[0]?.extensions.code;
  const input = { projectId };
  expect(
    await codeOf('mutation ($input: SetProjectMemberInput!) { setProjectMember(input: $input) { member { role } } }', {
      input: { ...input, email: outsider.email, role: 'ADMIN' },
    }),
  ).toBe('NOT_ALLOWED');
  expect(
    await codeOf('mutation ($input: DeleteProjectInput!) { deleteProject(input: $input) { deletedProjectId } }', {
      input,
    }),
  ).toBe('NOT_ALLOWED');
  expect(
    await codeOf('mutation ($input: UpdateProjectInput!) { updateProject(input: $input) { project { id } } }', {
      input: { ...input, name: 'mine' },
    }),
  ).toBe('NOT_ALLOWED');
  expect((await rest('POST', `/api/projects/${projectId}/brokers`, secret, { url: 'mqtt://h' })).status).toBe(403);
  expect(
    await codeOf('mutation ($id: ID!) { revokeToken(input: { tokenId: $id }) { revokedTokenId } }', { id: other.id }),
  ).toBe('NOT_FOUND');
  expect(
    await codeOf('query ($id: ID!) { project(id: $id) { members { nodes { user { email } } } } }', { id: projectId }),
  ).toBe('NOT_ALLOWED');
  const seen = await graphql('query ($id: ID!) { project(id: $id) { tokens { id } } }', { id: projectId }, secret);
  expect(seen.data.project.tokens).toEqual([{ id: token.id }]);
  expect((await graphql('query ($id: ID!) { node(id: $id) { id } }', { id: other.id }, secret)).data.node).toBeNull();

  expect((await rest('PUT', `/api/projects/${projectId}/brokers/${one}`, secret, { name: 'x' })).status).toBe(204);
  expect((await rest('DELETE', `/api/projects/${projectId}/brokers/${two}`, secret)).status).toBe(404);
});
