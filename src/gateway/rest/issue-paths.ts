import type { JsonSchema, Route } from './route.ts';

/**
 * Converts a path in the arguments of the graph (`input.acls.0.aclType`) into the path in the request:
 * `/acls/0/acltype` of the body, or a query parameter. Names differ by case, by underscores, or as in `inputNames`.
 */
export function requestPathOf(
  { body, query, inputNames = {}, inputKey }: Pick<Route, 'body' | 'query' | 'inputNames' | 'inputKey'>,
  path: string,
): string {
  const [argument, ...below] = path.split('.');
  if (argument !== 'input') return inputNames[path] ?? path;
  const [first, ...rest] = below[0] === inputKey ? below.slice(1) : below;
  const steps = first === undefined ? [] : [inputNames[first] ?? first, ...rest];
  if (body === undefined || (has(query, steps) && !has(body, steps))) return namesIn(query, steps).join('.') || path;
  return `/${namesIn(body, steps).join('/')}`;
}

function namesIn(schema: JsonSchema | undefined, [step, ...rest]: readonly string[]): string[] {
  if (step === undefined) return [];
  const { properties = {}, items } = (schema ?? {}) as { properties?: Record<string, JsonSchema>; items?: JsonSchema };
  if (items !== undefined) return [step, ...namesIn(items, rest)];
  const name = Object.keys(properties).find((key) => plain(key) === plain(step)) ?? step;
  return [name, ...namesIn(properties[name], rest)];
}

const has = (schema: JsonSchema | undefined, [step = '']: readonly string[]): boolean =>
  Object.hasOwn(schema?.properties ?? {}, step);

const plain = (name: string): string => name.replaceAll('_', '').toLowerCase();
