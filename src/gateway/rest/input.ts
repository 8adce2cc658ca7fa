import { parse as parseQueryString } from 'node:querystring';
import type { Ajv2020, ValidateFunction } from 'ajv/dist/2020.js';
import { type InputIssue, invalid, MAX_ISSUES } from '../../platform/errors.ts';
import { issuesOf } from '../../platform/text/json-schema.ts';
import { nearestName } from '../../platform/text/nearest-name.ts';
import type { JsonSchema } from './route.ts';

export type ParseQuery = (search: string) => Record<string, unknown>;
type Coerce = (text: string) => unknown;

const INTEGER = /^-?(0|[1-9]\d{0,15})$/;
const NUMBER = /^-?(0|[1-9]\d{0,15})(\.\d{1,20})?$/;

/** A value that is not well-formed stays a text, which the schema refuses with a reason. */
const COERCIONS: Readonly<Record<string, Coerce>> = {
  integer: (text) => (INTEGER.test(text) ? Number(text) : text),
  number: (text) => (NUMBER.test(text) ? Number(text) : text),
  boolean: (text) => (text === 'true' ? true : text === 'false' ? false : text),
};

/** Credentials in the query string; allowed for every route. */
const TOKEN = 'token';

/**
 * Compiles a parser of query strings. Undeclared parameters are refused, because a misspelled one would change the
 * effect of a request. `hidden` ones are undeclared. If `single` is sent, the others are ignored. Errors of the parser:
 * INVALID.
 */
export function compileQuery(
  ajv: Ajv2020,
  schema: JsonSchema,
  { hidden = new Set(), single }: { readonly hidden?: ReadonlySet<string>; readonly single?: string | undefined } = {},
): ParseQuery {
  const properties = (schema.properties ?? {}) as Record<string, JsonSchema>;
  const known = new Set(Object.keys(properties).filter((name) => !hidden.has(name)));
  const readAll = compileReading(ajv, schema, known);
  const readSingle =
    single === undefined
      ? readAll
      : compileReading(ajv, { type: 'object', properties: { [single]: properties[single] } }, new Set([single]));
  return (search) => {
    const sent = search === '' ? NOTHING : parseQueryString(search);
    const read = single !== undefined && sent[single] !== undefined ? readSingle : readAll;
    return read(sent, unknownNames(sent, known));
  };
}

type Sent = Readonly<Record<string, string | string[] | undefined>>;

const NOTHING: Sent = Object.freeze({});

function unknownNames(sent: Sent, known: ReadonlySet<string>): InputIssue[] {
  const issues: InputIssue[] = [];
  for (const name in sent) {
    if (known.has(name) || name === TOKEN) continue;
    const meant = issues.length < MAX_ISSUES ? nearestName(name, known) : null;
    issues.push({
      path: name.slice(0, 200),
      reason: meant === null ? 'is not known here' : `is not known here; is "${meant}" meant?`,
    });
  }
  return issues;
}

function compileReading(
  ajv: Ajv2020,
  schema: JsonSchema,
  names: ReadonlySet<string>,
): (sent: Sent, issues: InputIssue[]) => Record<string, unknown> {
  let validate: ValidateFunction | null = null;
  const properties = (schema.properties ?? {}) as Record<string, JsonSchema>;
  const parameters = Object.entries(properties)
    .filter(([name]) => names.has(name))
    .map(([name, { type, default: fallback }]) => ({
      name,
      fallback,
      list: type === 'array',
      coerce: typeof type === 'string' ? COERCIONS[type] : undefined,
    }));
  return (sent, issues) => {
    const query: Record<string, unknown> = {};
    for (const { name, fallback, list, coerce } of parameters) {
      const value = sent[name];
      if (value === undefined) {
        if (fallback !== undefined) query[name] = fallback;
      } else if (list) query[name] = Array.isArray(value) ? value : [value];
      else if (Array.isArray(value)) throw invalid([...issues, { path: name, reason: 'must not be repeated' }]);
      else if (value.includes('\0')) throw invalid([...issues, { path: name, reason: NO_NUL }]);
      else query[name] = coerce ? coerce(value) : value;
    }
    validate ??= ajv.compile(schema);
    if (!validate(query)) {
      const broken = issuesOf(validate, (pointer) => pointer.slice(1));
      throw invalid([...issues, ...broken.issues], undefined, broken.omitted);
    }
    if (issues.length > 0) throw invalid(issues);
    return query;
  };
}

const NO_NUL = 'must not contain the character U+0000';

/** JSON.parse has no limit, and deeper values would exhaust the stack of functions that visit them. */
const MAX_DEPTH = 100;

/** Errors: INVALID if the text is not JSON, is nested too deeply, or contains U+0000. */
export function parseJson(text: string): unknown {
  if (isTooDeep(text)) throw invalid([{ path: '/', reason: `must not be nested deeper than ${MAX_DEPTH} levels` }]);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw invalid(
      [{ path: '/', reason: parseErrorOf(cause) }],
      text.trim() === '' ? 'The request has no body: send a JSON body' : 'The body is not valid JSON',
    );
  }
  if (text.includes('\\u0000')) {
    const issues: InputIssue[] = [];
    findNul(value, '', issues);
    if (issues.length > 0) throw invalid(issues);
  }
  return value;
}

/** The message of the parser, unless it quotes the body, which may contain a password. */
function parseErrorOf(cause: unknown): string {
  return cause instanceof Error && !cause.message.includes('"') ? cause.message : 'is not JSON';
}

function isTooDeep(text: string): boolean {
  if (text.length <= MAX_DEPTH) return false;
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    const char = text.charCodeAt(i);
    if (char === QUOTE) {
      for (i++; i < text.length && text.charCodeAt(i) !== QUOTE; i++) if (text.charCodeAt(i) === BACKSLASH) i++;
    } else if (char === OPEN_BRACKET || char === OPEN_BRACE) {
      if (++depth > MAX_DEPTH) return true;
    } else if (char === CLOSE_BRACKET || char === CLOSE_BRACE) depth--;
  }
  return false;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

function findNul(value: unknown, path: string, issues: InputIssue[]): void {
  if (issues.length >= MAX_ISSUES) return;
  if (typeof value === 'string') {
    if (value.includes('\0')) issues.push({ path: path || '/', reason: NO_NUL });
  } else if (typeof value === 'object' && value !== null) {
    for (const [key, entry] of Object.entries(value)) {
      if (key.includes('\0')) issues.push({ path: path || '/', reason: `a key ${NO_NUL}` });
      findNul(entry, `${path}/${key}`, issues);
    }
  }
}
