import { createHash } from 'node:crypto';
import type { GraphQLSchema } from 'graphql';
import type { RequiredRole } from '../../platform/auth/viewer.ts';
import { openApiOf, ROLE_WORDS } from './openapi.ts';
import { queryIn } from './prepared-route.ts';
import { DEFAULT_REVISION, existsIn } from './revisions.ts';
import type { JsonSchema, Route } from './route.ts';
import { roleOf } from './route-role.ts';

const STYLE = `
:root { color-scheme: light dark; --line: #8884; --soft: #8882; --get: #1a7f37; --post: #0969da; --put: #9a6700; --delete: #cf222e; }
* { box-sizing: border-box }
body { font: 16px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 60rem; padding: 1.5rem }
h1 { margin: 0 } h2 { margin: 2rem 0 .5rem; font-size: 1.15rem } h3 { font-size: .9rem; margin: 1rem 0 .3rem }
input { font: inherit; width: 100%; padding: .6rem .8rem; border: 1px solid var(--line); border-radius: .5rem; position: sticky; top: .5rem; background: Canvas; color: CanvasText }
details { border: 1px solid var(--line); border-radius: .5rem; margin: .4rem 0 }
summary { padding: .5rem .8rem; cursor: pointer; display: flex; gap: .7rem; align-items: baseline; flex-wrap: wrap }
details > div { padding: 0 .8rem .8rem }
.m { font: 600 .8rem/1.6 ui-monospace, monospace; min-width: 4.2rem; color: var(--c) }
.GET { --c: var(--get) } .POST { --c: var(--post) } .PUT { --c: var(--put) } .DELETE { --c: var(--delete) }
code, pre { font-family: ui-monospace, monospace; font-size: .85rem; overflow-wrap: anywhere }
pre { background: var(--soft); padding: .6rem .8rem; border-radius: .4rem; overflow-x: auto; margin: .3rem 0; white-space: pre-wrap }
.s { opacity: .75; font-size: .9rem }
table { border-collapse: collapse; width: 100%; font-size: .9rem } td, th { text-align: left; border-bottom: 1px solid var(--line); padding: .2rem .5rem .2rem 0; vertical-align: top }
[hidden] { display: none }`;

const SCRIPT = `
const input = document.querySelector('input');
const sections = [...document.querySelectorAll('section')];
function filter() {
  const words = input.value.toLowerCase().split(/\\s+/).filter(Boolean);
  for (const section of sections) {
    let shown = 0;
    for (const entry of section.querySelectorAll('details')) {
      entry.hidden = !words.every((word) => entry.dataset.text.includes(word));
      if (!entry.hidden) shown++;
    }
    section.hidden = shown === 0;
  }
}
input.addEventListener('input', filter);
filter();
if (location.hash) { const entry = document.getElementById(decodeURIComponent(location.hash.slice(1))); if (entry) { entry.open = true; entry.scrollIntoView(); } }`;

const digest = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

const DOCS_HEADERS = {
  'content-security-policy': `default-src 'none'; style-src ${digest(STYLE)}; script-src ${digest(SCRIPT)}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  'referrer-policy': 'no-referrer',
};

export interface ApiDocument {
  readonly path: string;
  readonly contentType: string;
  readonly body: () => Buffer<ArrayBuffer>;
  /** Further header fields, with names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
}

export const apiDocuments = (
  routes: readonly Route[],
  schema: GraphQLSchema,
  version: string,
): readonly ApiDocument[] => [
  {
    path: '/api/openapi.json',
    contentType: 'application/json; charset=utf-8',
    body: once(() => JSON.stringify(openApiOf(routes, schema, version))),
    headers: {},
  },
  {
    path: '/api/docs',
    contentType: 'text/html; charset=utf-8',
    body: once(() => docsPage(routes, schema, version)),
    headers: DOCS_HEADERS,
  },
];

export function docsPage(routes: readonly Route[], schema: GraphQLSchema, version: string): string {
  const groups = new Map<string, Route[]>();
  for (const route of routes.filter((one) => existsIn(DEFAULT_REVISION, one))) {
    groups.set(route.tag, [...(groups.get(route.tag) ?? []), route]);
  }
  const sections = [...groups].map(
    ([name, entries]) =>
      `<section><h2>${escapeHtml(name)}</h2>${entries.map((route) => entryHtml(route, roleOf(route, schema))).join('')}</section>`,
  );
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Brokergraph REST interface</title><style>${STYLE}</style></head><body>
<h1>Brokergraph REST interface</h1>
<p class="s">Version ${escapeHtml(version)}, revision ${DEFAULT_REVISION}. Send <code>Authorization: Bearer …</code> with a session token
of the <code>login</code> mutation or a project token. Every error has the body <code>{ message, code, status, info? }</code>.
Machine-readable: <a href="/api/openapi.json">OpenAPI 3.1</a>.</p>
<input type="search" placeholder="Search by path, method, role or text" aria-label="Search" autofocus>
${sections.join('\n')}
<script>${SCRIPT}</script></body></html>
`;
}

function entryHtml(route: Route, role: RequiredRole): string {
  const { method, path, operationId, summary, keywords, description, tag } = route;
  const text = [method, path, role, operationId, summary, keywords, description, tag].join(' ').toLowerCase();
  return `<details id="${escapeHtml(`${method}-${path}`)}" data-text="${escapeHtml(text)}">
<summary class="${method}"><span class="m">${method}</span><code>${escapeHtml(path)}</code><span class="s">${escapeHtml(summary)}</span></summary><div>
<p>${description ? `${escapeHtml(description)} ` : ''}Requires: ${ROLE_WORDS[role]}.</p>
${servedHtml(route)}
<h3>Example</h3><pre>${escapeHtml(curlOf(route, role))}</pre></div></details>`;
}

function servedHtml(route: Route): string {
  const { body, response, status = 200, errors = [], total } = route;
  const query = queryIn(DEFAULT_REVISION, route);
  const required = (query?.required ?? []) as readonly string[];
  const rows = Object.entries((query?.properties ?? {}) as Record<string, JsonSchema>).map(
    ([name, { description, ...schema }]) =>
      row(`${name}${required.includes(name) ? ' *' : ''}`, typeOf(schema, 0), String(description ?? '')),
  );
  return [
    rows.length > 0 ? `<h3>Query (* required)</h3><table>${rows.join('')}</table>` : '',
    body ? `<h3>Body (? optional)</h3><pre>${escapeHtml(typeOf(body, 0))}</pre>` : '',
    `<h3>Response ${status}</h3>`,
    response ? `<pre>${escapeHtml(typeOf(response, 0))}</pre>` : '<p>No body.</p>',
    total ? '<p>The header <code>X-Total-Count</code> is the size of the whole list.</p>' : '',
    errors.length > 0 ? `<h3>Errors</h3><p>${[...errors].sort().join(', ')}</p>` : '',
  ].join('');
}

const row = (...cells: string[]) => `<tr>${cells.map((cell) => `<td>${escapeHtml(cell)}</td>`).join('')}</tr>`;

function curlOf(route: Route, role: RequiredRole): string {
  const path = route.path.replaceAll(/\{(\w+)\}/g, '$$$1');
  const method = route.method === 'GET' ? '' : ` -X ${route.method}`;
  const auth = role === 'PUBLIC' ? '' : ` -H "Authorization: Bearer $TOKEN"`;
  const { body, query } = route;
  const sent = body ? ` -H 'Content-Type: application/json' -d '${JSON.stringify(exampleOf(body))}'` : '';
  const required = ((query?.required ?? []) as readonly string[]).map((name) => `${name}=$${name}`).join('&');
  return `curl${method}${auth}${sent} "$BASE_URL${path}${required && `?${required}`}"`;
}

const exampleOf = ({ examples }: JsonSchema): unknown => (Array.isArray(examples) ? examples[0] : {});

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (char) => ENTITIES[char] ?? char);

/** A schema in the notation of TypeScript types. `depth` is the indentation level. */
function typeOf(schema: JsonSchema, depth: number): string {
  const pad = '  '.repeat(depth + 1);
  if (Array.isArray(schema.oneOf)) return schema.oneOf.map((entry: JsonSchema) => typeOf(entry, depth)).join(' | ');
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (Array.isArray(schema.enum)) return schema.enum.map((value) => JSON.stringify(value)).join(' | ');
  if (Array.isArray(schema.type)) return schema.type.map((type) => typeOf({ ...schema, type }, depth)).join(' | ');
  if (schema.type === 'null') return 'null';
  if (schema.type === 'array') {
    const items = typeOf((schema.items ?? {}) as JsonSchema, depth);
    return items.includes(' | ') && !items.includes('\n') ? `(${items})[]` : `${items}[]`;
  }
  if (schema.type === 'object') {
    const properties = Object.entries((schema.properties ?? {}) as Record<string, JsonSchema>);
    if (properties.length === 0) return '{ … }';
    const required = (schema.required ?? []) as readonly string[];
    const lines = properties.map(([name, property]) => {
      const words = typeof property.description === 'string' ? `  // ${property.description}` : '';
      return `${pad}${name}${required.includes(name) ? '' : '?'}: ${typeOf(property, depth + 1)}${words}`;
    });
    return `{\n${lines.join('\n')}\n${'  '.repeat(depth)}}`;
  }
  const type = String(schema.type ?? 'any');
  const { minLength, minimum, maximum, default: fallback } = schema;
  const limits = [
    minLength === 1 && 'not empty',
    Number(minLength) > 1 && `at least ${minLength} characters`,
    minimum !== undefined && `from ${minimum}`,
    maximum !== undefined && `to ${maximum}`,
    fallback !== undefined && `default ${JSON.stringify(fallback)}`,
  ].filter(Boolean);
  return limits.length > 0 ? `${type} (${limits.join(', ')})` : type;
}

function once(create: () => string): () => Buffer<ArrayBuffer> {
  let created: Buffer<ArrayBuffer> | null = null;
  return () => {
    created ??= Buffer.from(create());
    return created;
  };
}
