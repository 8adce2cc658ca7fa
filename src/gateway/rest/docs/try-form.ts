import { queryIn } from '../prepared-route.ts';
import { DEFAULT_REVISION } from '../revisions.ts';
import type { JsonSchema, Route } from '../route.ts';
import { escapeHtml } from './html.ts';

/** A form that sends a request of the route. The script of the page reads `data-` attributes. */
export function tryForm(route: Route): string {
  const { method, path, summary, body } = route;
  const query = queryIn(DEFAULT_REVISION, route);
  const required = (query?.required ?? []) as readonly string[];
  const fields = [
    ...[...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => label(name, true, pathField(name))),
    ...Object.entries((query?.properties ?? {}) as Record<string, JsonSchema>).map(([name, schema]) =>
      label(name, required.includes(name), queryField(name, schema, required.includes(name))),
    ),
  ];
  return `<form data-method="${method}" data-path="${escapeHtml(path)}" aria-label="${escapeHtml(`Try it: ${summary}`)}">
<h3>Try it</h3>${fields.length > 0 ? `<div class="fields">${fields.join('')}</div>` : ''}
${body ? label('Body', !route.isBodyOptional, bodyField(body, route.isBodyOptional)) : ''}
<button type="button" class="${method}">Send ${method}</button>
<p role="status"></p>${responseHtml('headers')}${responseHtml('body')}</form>`;
}

const responseHtml = (part: string): string =>
  `<pre hidden tabindex="0" role="region" aria-label="Response ${part}"></pre>`;

/** The first example of a body; an empty object if there is none. */
export const exampleOf = ({ examples }: JsonSchema): unknown => (Array.isArray(examples) ? examples[0] : {});

const label = (name: string, isRequired: boolean, field: string): string =>
  `<label>${escapeHtml(name)}${isRequired ? ' *' : ''} ${field}</label>`;

const TEXT = 'autocomplete="off" autocapitalize="off" spellcheck="false"';

/** A browser resolves the segments `.` and `..`, so that the request would have another path. */
const pathField = (name: string): string =>
  `<input name="${escapeHtml(name)}" data-in="path" required pattern="(?!\\.{1,2}$).+" ${TEXT}>`;

function queryField(name: string, { type, enum: values, default: fallback }: JsonSchema, isRequired: boolean): string {
  const attributes = `name="${escapeHtml(name)}" data-in="query"${isRequired ? ' required' : ''}`;
  const choices = Array.isArray(values) ? values.map(String) : type === 'boolean' ? ['true', 'false'] : null;
  const shown = fallback === undefined ? '' : `default: ${String(fallback)}`;
  if (choices === null) return `<input ${attributes} placeholder="${escapeHtml(shown)}" ${TEXT}>`;
  const options = choices.map((choice) => `<option>${escapeHtml(choice)}</option>`);
  return `<select ${attributes}><option value="">${escapeHtml(shown)}</option>${options.join('')}</select>`;
}

function bodyField(body: JsonSchema, isOptional = false): string {
  const text = JSON.stringify(exampleOf(body), null, 2);
  const rows = Math.min(text.split('\n').length, 20);
  return `<textarea rows="${rows}"${isOptional ? '' : ' required'} ${TEXT}>${escapeHtml(text)}</textarea>`;
}
