import { createHash } from 'node:crypto';
import type { GraphQLSchema } from 'graphql';
import type { RequiredRole } from '../../../platform/auth/viewer.ts';
import type { Build } from '../../../platform/build.ts';
import { ROLE_WORDS } from '../openapi.ts';
import { queryIn } from '../prepared-route.ts';
import { DEFAULT_REVISION, existsIn } from '../revisions.ts';
import type { JsonSchema, Route } from '../route.ts';
import { roleOf } from '../route-role.ts';
import { TAGS, type Tag } from '../tags.ts';
import { escapeHtml } from './html.ts';
import { SCRIPT } from './script.ts';
import { STYLE } from './style.ts';
import { exampleOf, tryForm } from './try-form.ts';
import { typeOf } from './type-notation.ts';

const digest = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

export const DOCS_HEADERS = {
  'content-security-policy': `default-src 'none'; style-src ${digest(STYLE)}; script-src ${digest(SCRIPT)}; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  'referrer-policy': 'no-referrer',
};

export function docsPage(routes: readonly Route[], schema: GraphQLSchema, { version }: Build): string {
  const groups = new Map<Tag, Route[]>();
  for (const route of routes.filter((one) => existsIn(DEFAULT_REVISION, one))) {
    groups.set(route.tag, [...(groups.get(route.tag) ?? []), route]);
  }
  const sections = [...groups].map(
    ([tag, entries]) =>
      `<section><h2>${tag}</h2><p class="s">${escapeHtml(TAGS[tag])}</p>${entries.map((route) => entryHtml(route, roleOf(route, schema))).join('')}</section>`,
  );
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Brokergraph REST interface</title><link rel="icon" href="data:,"><style>${STYLE}</style></head><body>
<h1>Brokergraph REST interface</h1>
<p class="s">Version ${escapeHtml(version)}, revision ${DEFAULT_REVISION}. Send <code>Authorization: Bearer …</code> with a session token
of the <code>login</code> mutation or a project token. Every error has the body <code>{ message, code, status, info? }</code>.
Machine-readable: <a href="openapi.json">OpenAPI 3.1</a>.</p>
<label>Token for “Try it” <input id="token" type="password" autocomplete="off" placeholder="bgs_… or bgp_…"></label>
<p class="s">The token stays in the memory of this page until the page is closed or reloaded.</p>
<input id="search" type="search" placeholder="Search by path, method, role or text" aria-label="Search" autofocus>
<p id="found" class="s" role="status"></p>
${sections.join('\n')}
<dialog aria-labelledby="question"><p id="question">Send this request?</p><pre id="request"></pre>
<button type="button" id="cancel">Cancel</button> <button type="button" id="confirm" class="DELETE">Send DELETE</button></dialog>
<script>${SCRIPT}</script></body></html>
`;
}

function entryHtml(route: Route, role: RequiredRole): string {
  const { method, path, operationId, summary, keywords, description, tag } = route;
  const text = [method, path, role, operationId, summary, keywords, description, tag].join(' ').toLowerCase();
  return `<details id="${escapeHtml(`${method}-${path}`)}" data-text="${escapeHtml(text)}">
<summary class="${method}"><span class="m">${method}</span><code>${escapeHtml(path)}</code><span class="s">${escapeHtml(summary)}</span></summary><div>
<p>${description ? `${escapeHtml(description)} ` : ''}Requires: ${ROLE_WORDS[role]}. Name: <code>${operationId}</code>.</p>
${servedHtml(route)}
<h3>Example</h3><pre>${escapeHtml(curlOf(route, role))}</pre>
${tryForm(route)}</div></details>`;
}

function servedHtml(route: Route): string {
  const { body, response, status = 200, errors = [], total } = route;
  const query = queryIn(DEFAULT_REVISION, route);
  const required = (query?.required ?? []) as readonly string[];
  const rows = Object.entries((query?.properties ?? {}) as Record<string, JsonSchema>).map(
    ([name, { description, ...schema }]) =>
      row(`${name}${required.includes(name) ? ' *' : ''}`, typeOf(schema), String(description ?? '')),
  );
  return [
    rows.length > 0 ? `<h3>Query (* required)</h3><table>${rows.join('')}</table>` : '',
    body ? `<h3>Body (? optional)</h3><pre>${escapeHtml(typeOf(body))}</pre>` : '',
    `<h3>Response ${status}</h3>`,
    response ? `<pre>${escapeHtml(typeOf(response))}</pre>` : '<p>No body.</p>',
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
