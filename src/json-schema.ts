import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import { type InputIssue, invalid } from './errors.ts';
import { pointerStep } from './json-pointer.ts';

/** More issues than this help nobody, and a hostile value could have millions. */
export const MAX_ISSUES = 50;

/** Schemas are JSON Schema 2020-12; every issue is told, not only the first. */
export function createValidator(): Ajv2020 {
  return new Ajv2020({
    allErrors: true,
    strict: true,
    allowUnionTypes: true,
    strictRequired: false,
    allowMatchingProperties: false,
    // They are all our own, and the tests check them: the program for that took five times as long as a first request takes without it.
    validateSchema: false,
    // Errors tell of the schema that was broken.
    verbose: true,
  });
}

/** `at`: where the value stands in what was sent, as a JSON pointer. */
export type CheckValue = (value: unknown, at?: string) => void;

/**
 * The returned function throws INVALID with every issue; paths are JSON pointers. The schema is compiled with the first value: most of
 * all schemas of a service are never needed.
 */
export function compileCheck(ajv: Ajv2020, schema: Readonly<Record<string, unknown>>): CheckValue {
  let validate: ValidateFunction | null = null;
  return (value, at = '') => {
    validate ??= ajv.compile(schema);
    if (!validate(value)) throw invalid(issuesOf(validate, (pointer) => at + pointer || '/'));
  };
}

/** Why the value that was checked last breaks the schema; `locate` makes a path of a JSON pointer. Values are not told. */
export function issuesOf({ errors }: ValidateFunction, locate: (pointer: string) => string): InputIssue[] {
  const issues: InputIssue[] = [];
  for (const error of errors ?? []) {
    if (issues.length >= MAX_ISSUES) break;
    // What it then asks for has an issue of its own.
    if (error.keyword === 'if') continue;
    const { pointer, reason } = describe(error);
    // A value that breaks a union breaks each of its branches: one line for each place and reason is enough.
    const path = locate(pointer);
    if (!issues.some((known) => known.path === path && known.reason === reason)) issues.push({ path, reason });
  }
  return issues;
}

/** A pattern that is a list of words. What other ones are for is told by the first sentence of the schema's description. */
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
  const told = keyword === 'pattern' ? /^[^.]+/.exec(String(error.parentSchema?.description ?? ''))?.[0] : undefined;
  if (told) return { pointer: instancePath, reason: `must be ${told.charAt(0).toLowerCase()}${told.slice(1)}` };
  return { pointer: instancePath, reason: message?.replace('must NOT', 'must not') ?? `breaks "${keyword}"` };
}

/** Words, or a value of the other types that a schema allows. */
function choice(words: readonly string[], type: unknown): string {
  const others = (Array.isArray(type) ? type : [type]).filter((each) => each !== 'string').map((each) => `a ${each}`);
  return [...words.map((word) => JSON.stringify(word)), ...others].join(' or ');
}
