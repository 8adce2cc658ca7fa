import { expect, test } from 'vitest';
import { apiRoutes } from '../../../src/app/api-routes.ts';
import { schema } from '../../../src/app/schema.ts';
import { docsPage } from '../../../src/gateway/rest/docs/docs-page.ts';
import { openApiOf } from '../../../src/gateway/rest/openapi.ts';
import { createValidator } from '../../../src/platform/text/json-schema.ts';
import { LAMP_BUILD, lampRoutes, lampSchema, startLampServer } from './rest-server.ts';

type Json = Record<string, unknown>;

const openApi = openApiOf(lampRoutes, lampSchema, LAMP_BUILD);

test('the document is public, is OpenAPI 3.1, and contains the version and the build', async () => {
  const { call } = await startLampServer();
  const { status, json, headers } = await call('GET', '/api/openapi.json');
  expect(status).toBe(200);
  expect(headers['content-type']).toBe('application/json; charset=utf-8');
  expect(json).toEqual(JSON.parse(JSON.stringify(openApi)));
  const build = { commit: 'abc1234', builtAt: '1970-01-01T00:00:00.000Z' };
  expect(json).toMatchObject({ openapi: '3.1.0', info: { version: '1.2.3', 'x-build': build } });
  expect(await call('POST', '/api/openapi.json')).toMatchObject({
    status: 405,
    headers: { allow: 'GET, HEAD, OPTIONS' },
  });
  expect(await call('HEAD', '/api/openapi.json')).toMatchObject({ status: 200, text: '' });
});

test('every reference resolves, and every schema is JSON Schema 2020-12', () => {
  const document = JSON.parse(JSON.stringify(openApi));
  const references: string[] = [];
  const schemas: Json[] = [];
  walk(document, (key, value) => {
    if (key === '$ref') references.push(String(value));
    if (key === 'schema') schemas.push(value as Json);
  });
  expect(references).toContain('#/components/schemas/Error');
  for (const reference of references) {
    const target = reference
      .slice(2)
      .split('/')
      .reduce<unknown>((node, step) => (node as Json | undefined)?.[step], document);
    expect(target, reference).toBeDefined();
  }
  const ajv = createValidator();
  ajv.addVocabulary(['openapi', 'info', 'servers', 'security', 'tags', 'paths', 'components']);
  ajv.addSchema({ ...document, $id: 'https://openapi.test/' });
  for (const schema of schemas) {
    const text = JSON.stringify(schema).replaceAll('"#/components', '"https://openapi.test/#/components');
    expect(() => ajv.compile(JSON.parse(text))).not.toThrow();
  }
});

test('operation ids are unique, and path parameters, bodies, roles and errors are described', () => {
  const { paths } = openApi as { paths: Record<string, Record<string, Json>> };
  const ids: unknown[] = [];
  for (const [path, item] of Object.entries(paths)) {
    const declared = ((item.parameters ?? []) as unknown as { name: string }[]).map(({ name }) => name);
    expect(declared).toEqual([...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name));
    for (const [method, operation] of Object.entries(item)) {
      if (method === 'parameters') continue;
      ids.push(operation.operationId);
      expect(Object.keys(operation.responses as Json).length).toBeGreaterThan(0);
    }
  }
  expect(new Set(ids).size).toBe(lampRoutes.length);
  const lamps = paths['/api/projects/{projectId}/lamps'];
  expect(lamps?.get?.parameters).toContainEqual(
    expect.objectContaining({
      name: 'count',
      in: 'query',
      required: false,
      schema: expect.objectContaining({ default: -1 }),
    }),
  );
  expect(lamps?.post).toMatchObject({ 'x-required-role': 'ADMIN', requestBody: { required: true } });
  expect(Object.keys(lamps?.post?.responses as Json)).toEqual(['200', '400', '413', '429']);
  const responses = (lamps?.get?.responses ?? {}) as Record<string, { readonly content: Json }>;
  expect(Object.keys(responses['200']?.content ?? {})).toEqual([
    'application/json',
    'application/json; charset=utf-8; version=3.3',
  ]);
});

test('operations have names, tags are described, required keys are defined where they are required, and no component is unused', () => {
  const document = JSON.parse(JSON.stringify(openApiOf(apiRoutes, schema, LAMP_BUILD)));
  const operations = Object.values<Record<string, Json>>(document.paths).flatMap(({ parameters, ...item }) =>
    Object.values(item),
  );
  const names = operations.map(({ operationId }) => operationId);
  expect(names).toHaveLength(apiRoutes.length);
  expect(new Set(names).size).toBe(names.length);
  for (const name of names) {
    expect(name).toMatch(
      /^(list|get|add|create|update|set|delete|remove|clear|deploy|undeploy|join|leave|subscribe|unsubscribe|disconnect|replay|rotate)[A-Z][A-Za-z]+$/,
    );
  }
  expect(names).toEqual(expect.arrayContaining(['listBrokers', 'updateAccount', 'disconnectClient', 'setTopicTtl']));

  const tags: readonly { readonly name: string; readonly description: string }[] = document.tags;
  for (const { description } of tags) expect(description).toMatch(/^[A-Z].+\.$/);
  expect(new Set(operations.flatMap((operation) => operation.tags))).toEqual(new Set(tags.map(({ name }) => name)));

  const undefinedKeys: string[] = [];
  const references = new Set<unknown>();
  walk(document, (key, value) => {
    if (key === '$ref') references.add(value);
    const { required, properties } = (value ?? {}) as { readonly required?: unknown; readonly properties?: Json };
    if (!Array.isArray(required)) return;
    undefinedKeys.push(...required.filter((name) => !Object.hasOwn(properties ?? {}, name)));
  });
  expect(undefinedKeys).toEqual([]);
  for (const kind of ['schemas', 'responses']) {
    for (const name of Object.keys(document.components[kind])) {
      expect(references).toContain(`#/components/${kind}/${name}`);
    }
  }
});

test('the HTML page is public, has no external resources, and shows every route', async () => {
  const { call } = await startLampServer();
  const { status, text, headers } = await call('GET', '/api/docs');
  expect(status).toBe(200);
  expect(headers['content-type']).toBe('text/html; charset=utf-8');
  expect(headers['content-security-policy']).toMatch(
    /^default-src 'none'; style-src 'sha256-[^']+'; script-src 'sha256-[^']+'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'$/,
  );
  for (const { method, path } of lampRoutes) expect(text).toContain(`id="${method}-${path}"`);
  expect(text).toContain('curl -X POST -H &quot;Authorization: Bearer $TOKEN&quot;');
  expect(text).not.toMatch(/(src|href)="(https?:)?\/\//);
  expect(text).not.toMatch(/ on\w+=| style="/);
});

test('bodies are shown with the elements of their lists, and with a valid example', () => {
  const page = unescaped(docsPage(apiRoutes, schema, LAMP_BUILD));
  expect(page).toContain(`acls?: {
    acltype: "publishClientSend" | "publishClientReceive" | "subscribeLiteral" | "subscribePattern" | "unsubscribeLiteral" | "unsubscribePattern"
    topic: string (not empty)
    priority: integer (from -100000, to 100000)
    allow: boolean
  }[] | null  // Replaces the whole list. null leaves it unchanged.`);
  expect(page).not.toMatch(/array \| null|section \d|\{ … \}' /i);
  expect(page).toContain('/roles?rolename=$rolename"');
  const ajv = createValidator();
  for (const route of apiRoutes) {
    if (route.body === undefined) continue;
    const [example] = route.body.examples as readonly unknown[];
    expect(ajv.validate(route.body, example), `${route.method} ${route.path}: ${ajv.errorsText()}`).toBe(true);
    const text = JSON.stringify(example);
    expect(text).not.toContain("'");
    expect(page).toContain(`-d '${text}'`);
  }
  expect(JSON.stringify(openApiOf(apiRoutes, schema, LAMP_BUILD))).not.toContain('section');
});

const unescaped = (html: string): string =>
  html
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&');

function walk(value: unknown, visit: (key: string, value: unknown) => void): void {
  if (typeof value !== 'object' || value === null) return;
  for (const [key, entry] of Object.entries(value)) {
    visit(key, entry);
    walk(entry, visit);
  }
}
