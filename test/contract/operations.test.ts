import { readFileSync } from 'node:fs';
import { type DocumentNode, getOperationAST, isObjectType, Kind, parse } from 'graphql';
import { describe, expect, test } from 'vitest';
import { apiRoutes } from '../../src/app/api-routes.ts';
import { schema } from '../../src/app/schema.ts';
import { compileOperation } from '../../src/gateway/graphql/internal-operation.ts';
import { openApiOf } from '../../src/gateway/rest/openapi.ts';
import { routePreparer } from '../../src/gateway/rest/prepared-route.ts';
import { roleOf } from '../../src/gateway/rest/route-role.ts';
import type { RequiredRole } from '../../src/platform/auth/viewer.ts';
import { BUILD } from '../../src/platform/build.ts';
import { createValidator } from '../../src/platform/text/json-schema.ts';

interface DocumentedOperation {
  readonly method: string;
  readonly path: string;
  readonly section: string;
  readonly role: 'Viewer' | 'Editor' | 'Admin' | 'RootAdmin';
  readonly success: number;
  readonly errors: readonly number[];
}

const documented: readonly DocumentedOperation[] = JSON.parse(
  readFileSync(new URL('./operations.json', import.meta.url), 'utf8'),
);
const keyOf = ({ method, path }: { readonly method: string; readonly path: string }) => `${method} ${path}`;
const routes = new Map(apiRoutes.map((route) => [keyOf(route), route]));

const ROLES: Readonly<Record<DocumentedOperation['role'], RequiredRole>> = {
  Viewer: 'VIEWER',
  Editor: 'EDITOR',
  Admin: 'ADMIN',
  RootAdmin: 'ROOT_ADMIN',
};

/** Shared by all routes, as in a service. */
const ajv = createValidator();

/** The list of projects has no project for a role: signed-in callers see the projects in which they have a role. */
const documentedRole = ({ role, path }: DocumentedOperation): RequiredRole =>
  path === '/api/projects' ? 'SIGNED_IN' : ROLES[role];

test('all 61 documented operations are served, with the documented role and section', () => {
  expect(documented).toHaveLength(61);
  expect(apiRoutes.filter(({ section }) => section !== undefined)).toHaveLength(61);
  for (const operation of documented) {
    const route = routes.get(keyOf(operation));
    expect(route, keyOf(operation)).toBeDefined();
    expect(route && [roleOf(route, schema), route.section], keyOf(operation)).toEqual([
      documentedRole(operation),
      operation.section,
    ]);
  }
});

test('no route is defined twice, and routes beyond the document have no section', () => {
  expect(routes.size).toBe(apiRoutes.length);
  const known = new Set(documented.map(keyOf));
  for (const route of apiRoutes) expect(known.has(keyOf(route)), keyOf(route)).toBe(route.section !== undefined);
});

describe.each(apiRoutes.map((route) => ({ name: keyOf(route), route })))('$name', ({ route }) => {
  const operation = documented.find((entry) => keyOf(entry) === keyOf(route));

  test('is valid: operation, picks, spellings and schemas match the graph', () => {
    expect(() => routePreparer(schema)(route)).not.toThrow();
    // Functions that are compiled at first use.
    for (const text of [route.operation, ...(route.lists ? [route.lists.next.operation] : [])]) {
      expect(() => compileOperation(schema, text, { hasRawLeaves: true }).compile()).not.toThrow();
    }
    for (const part of [route.query, route.body, route.response]) {
      if (!part) continue;
      expect(ajv.validateSchema(part), ajv.errorsText()).toBe(true);
      expect(() => ajv.compile(part)).not.toThrow();
    }
  });

  test('returns the documented statuses', () => {
    expect(route.status ?? 200).toBe(operation?.success ?? route.status ?? 200);
    if (operation) expect(route.errors).toEqual(expect.arrayContaining([...operation.errors]));
    expect(route.response === undefined).toBe(route.status === 204);
  });
});

test('every root field of a route declares its role', () => {
  for (const route of apiRoutes) expect(requiredBy(parse(route.operation)).length, keyOf(route)).toBeGreaterThan(0);
});

/** `extensions.requires` of the root fields of an operation. */
function requiredBy(document: DocumentNode): RequiredRole[] {
  const operation = getOperationAST(document);
  const type = operation && schema.getRootType(operation.operation);
  if (!operation || !isObjectType(type)) return [];
  const roles: RequiredRole[] = [];
  for (const selection of operation.selectionSet.selections) {
    if (selection.kind !== Kind.FIELD) continue;
    const { requires } = type.getFields()[selection.name.value]?.extensions ?? {};
    if (typeof requires === 'string') roles.push(requires as RequiredRole);
  }
  return roles;
}

test('the OpenAPI document contains every operation with its role and the documented statuses', () => {
  const { paths } = openApiOf(apiRoutes, schema, BUILD) as {
    paths: Record<string, Record<string, Record<string, unknown>>>;
  };
  for (const operation of documented) {
    const entry = paths[operation.path]?.[operation.method.toLowerCase()];
    expect(entry, keyOf(operation)).toBeDefined();
    const route = routes.get(keyOf(operation));
    expect(entry?.['x-required-role']).toBe(route && roleOf(route, schema));
    const statuses = [operation.success, ...operation.errors].map(String);
    expect(Object.keys(entry?.responses ?? {}), keyOf(operation)).toEqual(expect.arrayContaining(statuses));
  }
});
