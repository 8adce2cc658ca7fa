import { apiRoutes } from '../../../src/app/api-routes.ts';
import type { JsonSchema } from '../../../src/gateway/rest/route.ts';
import type { Random } from '../random.ts';
import type { KnownValues } from './fuzz-world.ts';
import { hostileJson, hostileNumber, hostileText } from './hostile-values.ts';

export interface RestRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'];
const ACCEPT = [
  '*/*',
  'application/json',
  'application/json;version=3.0',
  'application/json;version=9',
  'text/html',
  ',;=',
];

/** A request to one of the documented paths, mostly with the documented method and body. */
export function restRequest(random: Random, known: KnownValues, nth: number): RestRequest {
  const route = apiRoutes[nth % apiRoutes.length] as (typeof apiRoutes)[number];
  const method = random.chance(0.9) ? route.method : random.pick(METHODS);
  const path = route.path.replaceAll(/\{(\w+)\}/g, (_whole, name: string) =>
    encode(random.chance(0.8) ? String(known.pick(random, name)) : hostileText(random)),
  );
  const query = new URLSearchParams();
  for (const name of propertiesOf(route.query)) {
    if (random.chance(0.4))
      query.append(name, random.chance(0.5) ? String(random.int(0, 20)) : wellFormed(hostileText(random)));
  }
  if (random.chance(0.05)) query.append(wellFormed(hostileText(random)), wellFormed(hostileText(random)));
  const hasBody = !['GET', 'HEAD'].includes(method) && (route.body !== undefined || random.chance(0.2));
  return {
    method,
    path: `${path}${query.size > 0 ? `?${query}` : ''}`,
    headers: {
      accept: random.pick(ACCEPT),
      ...(hasBody && { 'content-type': random.chance(0.95) ? 'application/json' : 'text/plain' }),
    },
    body: hasBody ? bodyText(random, known, route.body) : undefined,
  };
}

/** Mostly JSON by the schema, sometimes other JSON, sometimes text that is cut off. */
function bodyText(random: Random, known: KnownValues, schema: JsonSchema | undefined): string {
  const text = JSON.stringify(
    random.chance(0.9) && schema ? bodyFor(random, known, schema, '', 5) : hostileJson(random),
  );
  return random.chance(0.03) ? text.slice(0, random.int(0, text.length)) : text;
}

function bodyFor(random: Random, known: KnownValues, schema: JsonSchema, name: string, depth: number): unknown {
  if (depth === 0 || random.chance(0.04)) return hostileJson(random, 2);
  const choices = [schema.oneOf, schema.anyOf, schema.allOf].find(Array.isArray) as readonly JsonSchema[] | undefined;
  if (choices !== undefined && choices.length > 0) return bodyFor(random, known, random.pick(choices), name, depth);
  if (Array.isArray(schema.enum)) return random.pick(schema.enum);
  if ('const' in schema) return schema.const;
  const type = Array.isArray(schema.type) ? random.pick(schema.type) : schema.type;
  if (type === 'object' || schema.properties !== undefined) {
    const required = new Set(Array.isArray(schema.required) ? schema.required : []);
    const names = propertiesOf(schema).filter((one) => required.has(one) || random.chance(0.4));
    const entries = names.map((one): [string, unknown] => [
      one,
      bodyFor(random, known, (schema.properties as Record<string, JsonSchema>)[one] ?? {}, one, depth - 1),
    ]);
    if (random.chance(0.03)) entries.push([hostileText(random), hostileJson(random)]);
    return Object.fromEntries(entries);
  }
  if (type === 'array') {
    const length = random.chance(0.02) ? 300 : random.int(0, 3);
    return Array.from({ length }, () => bodyFor(random, known, (schema.items ?? {}) as JsonSchema, name, depth - 1));
  }
  if (type === 'boolean') return random.chance(0.5);
  if (type === 'integer' || type === 'number') return random.chance(0.6) ? random.int(0, 50) : hostileNumber(random);
  return random.chance(0.5) ? known.pick(random, name) : hostileText(random);
}

const propertiesOf = (schema: JsonSchema | undefined): string[] => Object.keys((schema?.properties ?? {}) as object);

const wellFormed = (text: string): string => Buffer.from(text).toString();

/** One segment of a path; an empty one would be another path. */
const encode = (text: string): string => encodeURIComponent(wellFormed(text)) || '%20';
