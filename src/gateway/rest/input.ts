import { type ParsedUrlQuery, parse as parseQueryString } from 'node:querystring';
import type { Ajv2020, ValidateFunction } from 'ajv/dist/2020.js';
import { type InputIssue, invalid, MAX_ISSUES } from '../../platform/errors.ts';
import { parseExactJson } from '../../platform/text/exact-json.ts';
import { ExactNumber, replaceExactNumbers, sameNumber } from '../../platform/text/exact-number.ts';
import { issuesOf, pointerStep } from '../../platform/text/json-schema.ts';
import { nearestName } from '../../platform/text/nearest-name.ts';
import { faultIn } from '../../platform/text/texts.ts';
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

export const NOT_UTF8 = 'is not percent-encoded UTF-8';
/** Stands for a text that cannot be decoded. No decoded text contains it. */
const UNDECODABLE = '\udfff';

/**
 * Compiles a parser of query strings. Undeclared parameters are refused, because a misspelled one would change the
 * effect of a request; those that start with `_` are ignored, because clients add them against caches. `hidden` ones
 * are undeclared. If `single` is sent, the others are ignored. Errors of the parser:
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
    const sent = search === '' ? NOTHING : parseQueryString(search, '&', '=', { decodeURIComponent: decode });
    const read = single !== undefined && sent[single] !== undefined ? readSingle : readAll;
    return read(sent, unknownNames(sent, known));
  };
}

type Sent = Readonly<ParsedUrlQuery>;

const NOTHING: Sent = Object.freeze({});

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return UNDECODABLE;
  }
}

const faultOf = (text: string): string | null => (text.isWellFormed() ? faultIn(text) : NOT_UTF8);

function unknownNames(sent: Sent, known: ReadonlySet<string>): InputIssue[] {
  const issues: InputIssue[] = [];
  for (const name in sent) {
    if (known.has(name) || name === TOKEN || name.startsWith('_')) continue;
    if (name === UNDECODABLE) {
      issues.push({ path: 'query', reason: `a name ${NOT_UTF8}` });
      continue;
    }
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
        continue;
      }
      const isRepeated = Array.isArray(value);
      const fault = isRepeated ? value.map(faultOf).find((reason) => reason !== null) : faultOf(value);
      if (fault) throw invalid([...issues, { path: name, reason: fault }]);
      if (list) query[name] = isRepeated ? value : [value];
      else if (isRepeated) throw invalid([...issues, { path: name, reason: 'must not be repeated' }]);
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

/** JSON.parse has no limit, and deeper values would exhaust the stack of functions that visit them. */
const MAX_DEPTH = 100;
/** Only an escape can be U+0000 or half of a surrogate pair: the text is decoded UTF-8. */
const SUSPECT = /\\u(?:0000|d[89a-f])/i;

/** Errors: INVALID if the text is not JSON, is nested too deeply, or contains U+0000 or half of a surrogate pair. */
export function parseJson(text: string): unknown {
  let value: unknown;
  try {
    value = parseExactJson(text);
  } catch (cause) {
    throw invalid(
      [{ path: '/', reason: parseErrorOf(cause) }],
      text.trim() === '' ? 'The request has no body: send a JSON body' : 'The body is not valid JSON',
    );
  }
  const issues: InputIssue[] = [];
  findFaults(value, { path: '', depth: 0, hasSuspects: SUSPECT.test(text) }, issues);
  if (issues.length > 0) throw invalid(issues);
  return replaceExactNumbers(value, unrounded);
}

/** A number that would be rounded remains an ExactNumber, so that no schema accepts it as a number. */
const unrounded = (number: ExactNumber) => sameNumber(number) ?? number;

/** The message of the parser, unless it quotes the body, which may contain a password. */
function parseErrorOf(cause: unknown): string {
  return cause instanceof Error && !cause.message.includes('"') ? cause.message : 'is not JSON';
}

interface Place {
  readonly path: string;
  readonly depth: number;
  readonly hasSuspects: boolean;
}

function findFaults(value: unknown, { path, depth, hasSuspects }: Place, issues: InputIssue[]): void {
  if (issues.length >= MAX_ISSUES) return;
  const refuse = (reason: string | null) => {
    if (reason !== null) issues.push({ path: path || '/', reason });
  };
  if (typeof value === 'string') {
    if (hasSuspects) refuse(faultIn(value));
  } else if (typeof value === 'object' && value !== null && !(value instanceof ExactNumber)) {
    if (depth >= MAX_DEPTH)
      throw invalid([{ path: '/', reason: `must not be nested deeper than ${MAX_DEPTH} levels` }]);
    for (const [key, entry] of Object.entries(value)) {
      const fault = hasSuspects ? faultIn(key) : null;
      if (fault !== null) refuse(`a key ${fault}`);
      findFaults(entry, { path: `${path}/${pointerStep(key)}`, depth: depth + 1, hasSuspects }, issues);
    }
  }
}
