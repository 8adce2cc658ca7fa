import type { JsonSchema, Route } from './route.ts';

/**
 * Where in a request that is which the graph names by a path in its arguments: `input.acls.0.aclType` came from `/acls/0/acltype`
 * of the body, or from a query parameter that the body does not have. Names are the same in both but for case and underscores, or as
 * the route says; what the schema does not have keeps the graph's name. Other paths stay as they are, where the route does not say.
 */
export function placeInRequest(
  { body, query, inputNames = {} }: Pick<Route, 'body' | 'query' | 'inputNames'>,
  path: string,
): string {
  const [argument, first, ...rest] = path.split('.');
  if (argument !== 'input') return inputNames[path] ?? path;
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
