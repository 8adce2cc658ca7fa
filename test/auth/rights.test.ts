import {
  type GraphQLField,
  type GraphQLInputType,
  getNamedType,
  isEnumType,
  isInputObjectType,
  isLeafType,
  isListType,
  isNonNullType,
} from 'graphql';
import { describe, expect, test } from 'vitest';
import type { ProjectRole, RequiredRole } from '../../src/auth/viewer.ts';
import { schema } from '../../src/graphql/schema.ts';
import { apiRoutes } from '../../src/rest/api-routes.ts';
import { createAuthority } from '../support/certificates.ts';
import { startTestService, type TestService } from '../support/service.ts';

// Every root field of the schema and every entry of the REST interface, tried by callers below the role it asks for and by one
// who has it. Nothing is listed by hand: a new field or route is covered, and one without a declared role fails.

type Field = GraphQLField<unknown, unknown>;
type Kind = 'query' | 'mutation' | 'subscription';

const fieldsOf = (kind: Kind): Field[] =>
  Object.values(
    { query: schema.getQueryType(), mutation: schema.getMutationType(), subscription: schema.getSubscriptionType() }[
      kind
    ]?.getFields() ?? {},
  );

const requiresOf = (field: Field) => field.extensions.requires as RequiredRole | undefined;

interface World extends TestService {
  readonly brokerId: string;
  readonly tokenId: string;
  readonly certificateId: string;
  readonly clusterId: string;
}

const { cert } = createAuthority();

const world = async (): Promise<World> => furnished(await startTestService());

/** Of brokers that nobody reaches, written to the database as another process would. */
async function clusterIn({ storage, rest, graphql, root }: TestService, projectId: string): Promise<string> {
  const [one, other, entry] = await Promise.all(
    ['one', 'other', 'cluster'].map(async (name) => {
      const url = 'mqtt://127.0.0.1:1';
      return (await rest('POST', `/api/projects/${projectId}/brokers`, root, { name, url })).body.id as string;
    }),
  );
  const nodes = [one, other].map((brokerId = '', index) => ({
    nodeId: index + 1,
    brokerId,
    name: 'n',
    address: '127.0.0.1',
    port: 7000,
  }));
  const id = entry ?? '';
  const cluster = { id, name: 'text@example.com', mode: 'DYNSEC', keeper: 'GATEWAY' } as const;
  await storage.db.cluster.create({ data: { ...cluster, nodes: { create: nodes } } });
  await storage.changes.announce('cluster', id);
  const seen = async () =>
    (await graphql('query ($id: ID!) { broker(id: $id) { cluster { id } } }', { id })).data.broker;
  while ((await seen()).cluster === null) await new Promise(setImmediate);
  return id;
}

/** The service with a project of its own, where there is a broker, a token, a certificate and a cluster. */
async function furnished(service: TestService): Promise<World> {
  const { data: made } = await service.graphql('mutation { createProject(input: { name: "p" }) { project { id } } }');
  const projectId = made.createProject.project.id;
  const { body } = await service.rest('POST', `/api/projects/${projectId}/brokers`, service.root, {
    name: 'b',
    url: 'mqtt://127.0.0.1:1',
  });
  const { data } = await service.graphql(
    `mutation ($p: ID!, $c: String!) {
      createToken(input: { projectId: $p, name: "t", role: VIEWER }) { token { id } }
      createCertificate(input: { projectId: $p, filename: "ca.pem", cert: $c }) { certificate { id } }
    }`,
    { p: projectId, c: cert },
  );
  return {
    ...service,
    projectId,
    person: (role, project = projectId) => service.person(role, project),
    brokerId: body.id,
    tokenId: data.createToken.token.id,
    certificateId: data.createCertificate.certificate.id,
    clusterId: await clusterIn(service, projectId),
  };
}

/** Whether what it was furnished with is still there. */
async function isWhole({ graphql, projectId, brokerId, tokenId, certificateId, clusterId }: World): Promise<boolean> {
  const { data } = await graphql(
    'query ($p: ID!, $b: ID!, $t: ID!, $c: ID!, $k: ID!) { p: node(id: $p) { id } b: node(id: $b) { id } t: node(id: $t) { id } c: node(id: $c) { id } k: node(id: $k) { id } }',
    { p: projectId, b: brokerId, t: tokenId, c: certificateId, k: clusterId },
  );
  return Object.values(data).every((found) => found !== null);
}

/** A value that the schema accepts, naming what is there. */
function valueFor(type: GraphQLInputType, name: string, parent: string, ids: World): unknown {
  if (isNonNullType(type)) return valueFor(type.ofType, name, parent, ids);
  if (isListType(type)) return [valueFor(type.ofType, name, parent, ids)];
  if (isInputObjectType(type)) {
    const fields = Object.values(type.getFields());
    const required = type.isOneOf ? fields.slice(0, 1) : fields.filter((field) => isNonNullType(field.type));
    return Object.fromEntries(required.map((field) => [field.name, valueFor(field.type, field.name, parent, ids)]));
  }
  if (isEnumType(type)) return type.getValues()[0]?.name;
  if (isLeafType(type) && type.name === 'ID') {
    if (name === 'brokerId' || (name === 'id' && parent === 'broker')) return ids.brokerId;
    if (name === 'projectId' || (name === 'id' && parent === 'project')) return ids.projectId;
    if (name === 'tokenId') return ids.tokenId;
    if (name === 'certificateId') return ids.certificateId;
    if (name === 'clusterId') return ids.clusterId;
    return 'usr_0000000000unknown';
  }
  if (type.name === 'Int') return 1;
  if (type.name === 'Boolean') return false;
  return 'text@example.com';
}

function documentFor(kind: Kind, field: Field): string {
  const required = field.args.filter((argument) => isNonNullType(argument.type));
  const variables = required.map(({ name, type }) => `$${name}: ${type}`).join(', ');
  const args = required.map(({ name }) => `${name}: $${name}`).join(', ');
  const selection = isLeafType(getNamedType(field.type)) ? '' : ' { __typename }';
  return `${kind} ${variables && `(${variables})`} { ${field.name}${args && `(${args})`}${selection} }`;
}

const variablesFor = (field: Field, ids: World): Record<string, unknown> =>
  Object.fromEntries(
    field.args
      .filter(({ type }) => isNonNullType(type))
      .map(({ name, type }) => [name, valueFor(type, name, field.name, ids)]),
  );

async function codeOf(ids: World, kind: Kind, field: Field, token: string | null): Promise<string | undefined> {
  const variables = variablesFor(field, ids);
  if (kind !== 'subscription') {
    return (await ids.graphql(documentFor(kind, field), variables, token)).errors?.[0]?.extensions.code;
  }
  const response = await fetch(`${ids.url}/graphql`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'text/event-stream',
      ...(token ? { authorization: `Bearer ${token}` } : {}),
    },
    body: JSON.stringify({ query: documentFor(kind, field), variables }),
  });
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  while (!/"(code|data)":/.test(text)) {
    const chunk = await reader?.read();
    if (!chunk || chunk.done) break;
    text += chunk.value;
  }
  await reader?.cancel();
  return /"code":"(\w+)"/.exec(text)?.[1];
}

const BELOW: Record<string, 'VIEWER' | 'EDITOR' | null> = { EDITOR: 'VIEWER', ADMIN: 'EDITOR', VIEWER: null };
/** Who is refused leaves everything as it was, so one of each role does for all fields and routes. */
const membersOf = async (ids: World) => ({
  VIEWER: await ids.person('VIEWER'),
  EDITOR: await ids.person('EDITOR'),
  ADMIN: await ids.person('ADMIN'),
});
const REFUSALS = ['UNAUTHORIZED', 'NOT_ALLOWED'];

describe.each(['query', 'mutation', 'subscription'] as const)('each %s of the schema', (kind) => {
  test('declares the role it needs', () => {
    expect(
      fieldsOf(kind)
        .filter((field) => requiresOf(field) === undefined)
        .map(({ name }) => name),
    ).toEqual([]);
  });

  test('is refused without credentials', async () => {
    const ids = await world();
    for (const field of fieldsOf(kind)) {
      if (requiresOf(field) === 'PUBLIC') continue;
      expect([field.name, await codeOf(ids, kind, field, null)]).toEqual([field.name, 'UNAUTHORIZED']);
    }
  });

  test('is refused below its role: 403 for members, 404 for those without a role in the project', async () => {
    const ids = await world();
    const outsider = await ids.person(null);
    const members = await membersOf(ids);
    for (const field of fieldsOf(kind)) {
      const needed = requiresOf(field) ?? 'PUBLIC';
      if (needed === 'ROOT_ADMIN') {
        expect([field.name, await codeOf(ids, kind, field, outsider.token)]).toEqual([field.name, 'NOT_ALLOWED']);
      }
      if (!(needed in BELOW)) continue;
      expect([field.name, await codeOf(ids, kind, field, outsider.token)]).toEqual([field.name, 'NOT_FOUND']);
      const below = BELOW[needed];
      if (!below) continue;
      expect([field.name, await codeOf(ids, kind, field, members[below].token)]).toEqual([field.name, 'NOT_ALLOWED']);
    }
  });

  test('is allowed at its role', async () => {
    const service = await startTestService();
    let ids = await furnished(service);
    for (const field of fieldsOf(kind)) {
      const needed = requiresOf(field) ?? 'PUBLIC';
      // What is allowed may remove what the next one needs, and the right to it: whoever asks is new.
      if (!(await isWhole(ids))) ids = await furnished(service);
      const token =
        needed === 'ROOT_ADMIN'
          ? ids.root
          : needed in BELOW
            ? (await ids.person(needed as 'VIEWER')).token
            : (await ids.person(null)).token;
      const code = await codeOf(ids, kind, field, needed === 'PUBLIC' ? null : token);
      // `login` with a wrong password is the one refusal that is no matter of role.
      if (field.name === 'login') continue;
      if (field.name === 'changePassword') continue;
      expect([field.name, REFUSALS.includes(code ?? '')]).toEqual([field.name, false]);
    }
  });
});

describe('each entry of the REST interface', () => {
  const pathOf = (path: string, ids: World) =>
    path
      .replace('{projectId}', ids.projectId)
      .replace('{brokerId}', ids.brokerId)
      .replace('{clusterId}', ids.clusterId)
      .replace(/\{\w+\}/g, 'unknown');

  test('is 401 without credentials, 404 without a role in the project, 403 below its role', async () => {
    const ids = await world();
    const outsider = await ids.person(null);
    const members = await membersOf(ids);
    for (const { method, path, role } of apiRoutes) {
      const at = pathOf(path, ids);
      const status = async (token: string | null) => [`${method} ${path}`, (await ids.rest(method, at, token)).status];
      if (role !== 'PUBLIC') expect(await status(null)).toEqual([`${method} ${path}`, 401]);
      if (role === 'ROOT_ADMIN') expect(await status(outsider.token)).toEqual([`${method} ${path}`, 403]);
      if (!(role in BELOW)) continue;
      expect(await status(outsider.token)).toEqual([`${method} ${path}`, 404]);
      const below = BELOW[role];
      if (below) expect(await status(members[below].token)).toEqual([`${method} ${path}`, 403]);
    }
  });

  test('is allowed at its role, and an id of another project is 404', async () => {
    const ids = await world();
    const other = (await ids.graphql('mutation { createProject(input: { name: "Other" }) { project { id } } }')).data
      .createProject.project.id;
    const { token } = await ids.person('ADMIN', other);
    const members = await membersOf(ids);
    for (const { method, path, role } of apiRoutes) {
      if (!path.includes('{brokerId}')) continue;
      const elsewhere = pathOf(path.replace('{projectId}', other), ids);
      expect([
        `${method} ${path}`,
        (await ids.rest(method, elsewhere, token, method === 'GET' ? undefined : {})).status,
      ]).toEqual([`${method} ${path}`, 404]);
      if (method === 'DELETE' && path.endsWith('{brokerId}')) continue;
      const member = members[role as ProjectRole];
      const { status } = await ids.rest(method, pathOf(path, ids), member.token, method === 'GET' ? undefined : {});
      expect([`${method} ${path}`, [401, 403].includes(status)]).toEqual([`${method} ${path}`, false]);
    }
  });
});

test('in a strict project a viewer may try every change of a broker, and make none', async () => {
  const ids = await world();
  const strict = 'mutation ($p: ID!) { updateProject(input: { projectId: $p, strictRoles: true }) { project { id } } }';
  expect((await ids.graphql(strict, { p: ids.projectId })).errors).toBeUndefined();
  const { token } = await ids.person('VIEWER');
  const trying = fieldsOf('mutation').filter((field) => {
    const type = getNamedType(field.args[0]?.type);
    return isInputObjectType(type) && 'dryRun' in type.getFields();
  });
  expect(trying.length).toBeGreaterThan(20);
  for (const field of trying) {
    const { input } = variablesFor(field, ids) as { input: object };
    const code = async (dryRun: boolean | null) =>
      (await ids.graphql(documentFor('mutation', field), { input: { ...input, dryRun } }, token)).errors?.[0]
        ?.extensions.code ?? '';
    expect([field.name, await code(false), await code(null)]).toEqual([field.name, 'NOT_ALLOWED', 'NOT_ALLOWED']);
    expect([field.name, REFUSALS.includes(await code(true))]).toEqual([field.name, false]);
  }
});

test('what began with rights that ended while it was let in ends at once', async () => {
  const { services, person } = await startTestService();
  const { token, id } = await person('VIEWER');
  const viewer = await services.auth.viewerOfSecret(token);
  await services.users.remove(id);
  const guard = services.auth.guard(viewer, () => undefined);
  if (!guard.signal.aborted) {
    await new Promise((ended) => guard.signal.addEventListener('abort', ended, { once: true }));
  }
  expect(guard.signal.reason).toMatchObject({ code: 'UNAUTHORIZED' });
});
