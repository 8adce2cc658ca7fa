import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import { type InputIssue, invalid, MAX_ISSUES } from '../errors.ts';

/** Larger values are checked up to their first error: the validator collects all errors, 100,000 for 1 MB. */
const MAX_ENTRIES = 5_000;

/** Schemas are JSON Schema 2020-12. `allErrors`: whether a check reports every issue or stops at the first. */
export function createValidator(allErrors = true): Ajv2020 {
  return new Ajv2020({
    allErrors,
    strict: true,
    allowUnionTypes: true,
    strictRequired: false,
    allowMatchingProperties: false,
    // Tests validate the schemas. Compiling the meta-schema took five times as long as the first request without it.
    validateSchema: false,
    verbose: true,
  });
}

/** `at`: JSON pointer of the value in the request. */
export type CheckValue = (value: unknown, at?: string) => void;

/** Throws INVALID with all issues; paths are JSON pointers. The schema is compiled with the first value. */
export function compileCheck(ajv: Ajv2020, schema: Readonly<Record<string, unknown>>): CheckValue {
  let validate: ValidateFunction | null = null;
  let validateLarge: ValidateFunction | null = null;
  const validateFor = (value: unknown): ValidateFunction => {
    if (!hasMoreEntries(value, MAX_ENTRIES)) {
      validate ??= ajv.compile(schema);
      return validate;
    }
    validateLarge ??= createValidator(false).compile(schema);
    return validateLarge;
  };
  return (value, at = '') => {
    const check = validateFor(value);
    if (check(value)) return;
    const { issues, omitted } = issuesOf(check, (pointer) => at + pointer || '/');
    throw invalid(issues, undefined, omitted);
  };
}

function hasMoreEntries(value: unknown, limit: number): boolean {
  const open: unknown[] = [value];
  for (let entries = 0; open.length > 0; ) {
    const next = open.pop();
    if (typeof next !== 'object' || next === null) continue;
    const inner: readonly unknown[] = Array.isArray(next) ? next : Object.values(next);
    entries += inner.length;
    if (entries > limit) return true;
    for (const each of inner) if (typeof each === 'object') open.push(each);
  }
  return false;
}

interface SchemaIssues {
  readonly issues: InputIssue[];
  readonly omitted: number;
}

/** Converts errors to issues without the values. `locate` converts a JSON pointer to a path. */
export function issuesOf({ errors }: ValidateFunction, locate: (pointer: string) => string): SchemaIssues {
  const issues: InputIssue[] = [];
  for (const [index, error] of (errors ?? []).entries()) {
    if (issues.length >= MAX_ISSUES) return { issues, omitted: (errors?.length ?? 0) - index };
    // The branch that failed has its own issue.
    if (error.keyword === 'if') continue;
    const { pointer, reason } = describe(error);
    // A value that violates a union violates each branch, so issues may repeat.
    const path = locate(pointer);
    if (!issues.some((known) => known.path === path && known.reason === reason)) issues.push({ path, reason });
  }
  return { issues, omitted: 0 };
}

/** A pattern that is a list of words. Other patterns are described by the schema's first sentence. */
const CHOICE = /^\^\((\w+(?:\|\w+)*)\)\$$/;

function describe(error: ErrorObject): { pointer: string; reason: string } {
  const { keyword, instancePath, params, message } = error;
  if (keyword === 'required')
    return { pointer: `${instancePath}/${pointerStep(params.missingProperty)}`, reason: 'is needed' };
  if (keyword === 'additionalProperties' || keyword === 'unevaluatedProperties') {
    const key: unknown = params.additionalProperty ?? params.unevaluatedProperty;
    return { pointer: `${instancePath}/${pointerStep(key)}`, reason: 'is not known here' };
  }
  if (keyword === 'enum')
    return { pointer: instancePath, reason: `must be one of ${JSON.stringify(params.allowedValues)}` };
  if (keyword === 'const') return { pointer: instancePath, reason: `must be ${JSON.stringify(params.allowedValue)}` };
  if (keyword === 'minLength' && params.limit === 1) return { pointer: instancePath, reason: 'must not be empty' };
  const words = keyword === 'pattern' ? CHOICE.exec(String(params.pattern))?.[1]?.split('|') : undefined;
  if (words) return { pointer: instancePath, reason: `must be ${choice(words, error.parentSchema?.type)}` };
  const text = keyword === 'pattern' ? /^[^.]+/.exec(String(error.parentSchema?.description ?? ''))?.[0] : undefined;
  if (text) return { pointer: instancePath, reason: `must be ${text.charAt(0).toLowerCase()}${text.slice(1)}` };
  return { pointer: instancePath, reason: message?.replace('must NOT', 'must not') ?? `violates "${keyword}"` };
}

function choice(words: readonly string[], type: unknown): string {
  const others = (Array.isArray(type) ? type : [type]).filter((each) => each !== 'string').map((each) => `a ${each}`);
  return [...words.map((word) => JSON.stringify(word)), ...others].join(' or ');
}

/** Encodes a key as one token of a JSON pointer (RFC 6901), cut off after 200 characters. */
export const pointerStep = (key: unknown): string =>
  String(key).slice(0, 200).replaceAll('~', '~0').replaceAll('/', '~1');
