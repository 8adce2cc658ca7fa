import { expect, test } from 'vitest';
import { startTestService } from '../support/service.ts';

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
  const viewer = await graphql('{ viewer { kind name email user { id } } }', {}, secret);
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
