import { getNamedType, isInputObjectType } from 'graphql';
import { describe, expect, test } from 'vitest';
import { PROJECT_ROLES, type ProjectRole } from '../../../src/platform/auth/viewer.ts';
import { startTestService } from '../../support/service.ts';
import { OWN_REFUSALS, requirementOf, rootFields, routes } from './rights-model.ts';
import { codeOf, documentFor, furnished, isWhole, startWorld, variablesFor, type World } from './rights-world.ts';

// The matrix (rights-matrix.test.ts) tries all callers on SQLite. On PostgreSQL, a caller with the required role tries
// each root field once. New fields are covered, and a field without a declared role fails.

const isProjectRole = (role: string | undefined): role is ProjectRole => PROJECT_ROLES.includes(role as ProjectRole);
const REFUSALS = ['UNAUTHORIZED', 'NOT_ALLOWED'];

describe.each(['query', 'mutation', 'subscription'] as const)('each %s of the schema', (kind) => {
  test('declares the role it needs', () => {
    const silent = rootFields(kind).filter((field) => requirementOf(field) === null);
    expect(silent.map(({ name }) => name)).toEqual([]);
  });

  test.skipIf(process.env.TEST_ENGINE !== 'postgresql')('is allowed at its role', async () => {
    const service = await startTestService();
    let ids = await furnished(service);
    for (const field of rootFields(kind)) {
      const needed = requirementOf(field)?.requires;
      // An allowed operation may delete objects and permissions that the next one needs, so each caller is new.
      if (kind === 'mutation' && !(await isWhole(ids))) ids = await furnished(service);
      const someone = await ids.person(isProjectRole(needed) ? needed : null);
      const token = needed === 'ROOT_ADMIN' ? ids.root : needed === 'PUBLIC' ? null : someone.token;
      const code = await codeOf(ids, kind, documentFor(kind, field), variablesFor(field, ids), token);
      if (field.name in OWN_REFUSALS) continue;
      expect([field.name, REFUSALS.includes(code ?? '')]).toEqual([field.name, false]);
    }
  });
});

const fill = (path: string, ids: World) =>
  path.replace(/\{(\w+)\}/g, (_, name: string) =>
    String((ids as unknown as Record<string, unknown>)[name] ?? 'unknown'),
  );

test('what a route names of another project is not there', async () => {
  const ids = await startWorld();
  const made = await ids.graphql('mutation { createProject(input: { name: "Other" }) { project { id } } }');
  const other = made.data.createProject.project.id;
  const { token } = await ids.person('ADMIN', other);
  const named = routes.filter(({ path }) => /\{(broker|cluster|certificate|token)Id\}/.test(path));
  expect(named.length).toBeGreaterThan(40);
  for (const { method, path, body } of named) {
    const elsewhere = fill(path.replace('{projectId}', other), ids);
    const [example] = (body?.examples ?? []) as readonly unknown[];
    const { status } = await ids.rest(method, elsewhere, token, body === undefined ? undefined : example);
    expect([`${method} ${path}`, status]).toEqual([`${method} ${path}`, 404]);
  }
  expect(await isWhole(ids)).toBe(true);
});

test('in a strict project a viewer may try every change of a broker, and make none', async () => {
  const ids = await furnished(await startTestService(), { isStrict: true });
  const { token } = await ids.person('VIEWER');
  const trying = rootFields('mutation').filter((field) => {
    const type = getNamedType(field.args[0]?.type);
    const isTry = isInputObjectType(type) && 'dryRun' in type.getFields();
    return isTry && requirementOf(field)?.requiresIfStrict !== undefined;
  });
  expect(trying.length).toBeGreaterThan(20);
  for (const field of trying) {
    const { input } = variablesFor(field, ids) as { input: object };
    const code = async (dryRun: boolean | null) =>
      (await codeOf(ids, 'mutation', documentFor('mutation', field), { input: { ...input, dryRun } }, token)) ?? '';
    expect([field.name, await code(false), await code(null)]).toEqual([field.name, 'NOT_ALLOWED', 'NOT_ALLOWED']);
    expect([field.name, REFUSALS.includes(await code(true))]).toEqual([field.name, false]);
  }
});

test('what began with rights that ended while it was let in ends at once', async () => {
  const { services, person } = await startTestService();
  const { token, id } = await person('VIEWER');
  const viewer = await services.auth.viewerOfSecret(token);
  await services.users.remove(id);
  const guard = services.auth.guards.guard(viewer, () => undefined);
  if (!guard.signal.aborted) {
    await new Promise((ended) => guard.signal.addEventListener('abort', ended, { once: true }));
  }
  expect(guard.signal.reason).toMatchObject({ code: 'UNAUTHORIZED' });
});
