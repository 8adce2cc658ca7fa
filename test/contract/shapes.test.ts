import { expect, test } from 'vitest';
import { apiRoutes } from '../../src/app/api-routes.ts';
import { schema } from '../../src/app/schema.ts';
import { openApiOf } from '../../src/gateway/rest/openapi.ts';
import type { JsonSchema } from '../../src/gateway/rest/route.ts';
import { BUILD } from '../../src/platform/build.ts';
import { SERVICES, SHAPES } from './shapes.ts';

/**
 * Keys without which an operation cannot do anything, although the document does not mark them as required. `…` stands
 * for the beginning of the path. docs/rest-compatibility.md lists them.
 */
const NEEDED: Readonly<Record<string, readonly string[]>> = {
  'POST …/certificates': ['filename', 'cert'],
  'POST …/deploy': ['brokers'],
  'POST …/undeploy': ['brokers'],
  'POST …/clusters': ['clustername', 'nodes', 'syncmode'],
  'POST …/streams': ['streamname'],
  'PUT …/streams': ['streamname'],
  'DELETE …/streams': ['streamname'],
  'DELETE …/messages': ['streamname'],
  'PUT …/replay': ['streamname'],
  'PUT …/disconnect': ['clientid'],
  'PUT …/subscribe': ['clientid', 'topic'],
  'PUT …/unsubscribe': ['clientid', 'topic'],
  'POST …/clients': ['username'],
  'PUT …/clients': ['username'],
  'DELETE …/clients': ['username'],
  'PUT …/enable': ['username', 'enable'],
  'POST …/groups': ['groupname'],
  'PUT …/groups': ['groupname', 'username', 'rolename'],
  'GET …/detail': ['clientid'],
  'PUT …/ttl': ['ttl_sec'],
  'POST …/tokens': ['name', 'role'],
  'PUT …/admins': ['email'],
  'DELETE …/admins': ['email'],
  'POST …/users': ['email'],
};

/** Keys that also accept null, as the OpenAPI document says. */
const ALSO_NULL = [
  'key',
  'textname',
  'textdescription',
  'targetTopic',
  'targettopic',
  'gte',
  'lte',
  'valid_date',
  'send_retain',
];

/** Dates of tokens that are null if there is none. */
const NONE = ['valid_date', 'last_used_date'];

interface Key {
  readonly name: string;
  readonly required: boolean;
  readonly types: string;
  readonly values: readonly string[] | null;
  readonly keys: readonly Key[] | null;
  readonly closed: boolean;
}

const TOKEN = /\{closed\}|[\w]+!?:|[[\]()]|[sinboa0*]+(?:=[\w.|-]+)?/g;

function keysOf(text: string): { readonly keys: readonly Key[]; readonly closed: boolean } {
  const tokens = text.match(TOKEN) ?? [];
  let at = 0;
  const level = () => {
    const keys: Key[] = [];
    let closed = false;
    for (let token = tokens[at]; token !== undefined && !'])'.includes(token); token = tokens[at]) {
      at += 1;
      if (token === '{closed}') {
        closed = true;
        continue;
      }
      const required = token.endsWith('!:');
      const name = token.replace(/!?:$/, '');
      const open = tokens[at++] ?? '';
      if (open !== '[' && open !== '(') {
        const [types = '', values] = open.split('=');
        keys.push({ name, required, types, values: values?.split('|') ?? null, keys: null, closed: false });
        continue;
      }
      const inner = level();
      at += 1;
      const nullable = tokens[at] === '0' ? '0' : '';
      if (nullable) at += 1;
      keys.push({ name, required, types: (open === '[' ? 'a' : 'o') + nullable, values: null, ...inner });
    }
    return { keys, closed };
  };
  return level();
}

type Json = Readonly<Record<string, unknown>>;

const document = openApiOf(apiRoutes, schema, BUILD) as {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Json>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, JsonSchema>> };
};

const resolved = (schema: unknown): JsonSchema => {
  const { $ref } = schema as { readonly $ref?: string };
  const name = $ref?.split('/').at(-1);
  return name === undefined ? (schema as JsonSchema) : (document.components.schemas[name] ?? {});
};

const TYPES = { s: 'string', i: 'integer', n: 'number', b: 'boolean', o: 'object', a: 'array', '0': 'null' } as const;
const typesOf = ({ type }: JsonSchema): readonly unknown[] => (Array.isArray(type) ? type : [type]);

interface Expectations {
  readonly place: string;
  readonly isInput: boolean;
  /** Keys that may be required although the document does not say so. */
  readonly needed: readonly string[];
}

function expectShape(
  schema: JsonSchema,
  keys: readonly Key[],
  closed: boolean,
  { place, isInput, needed }: Expectations,
) {
  const properties = (schema.properties ?? {}) as Readonly<Record<string, JsonSchema>>;
  const required = (schema.required ?? []) as readonly string[];
  const names = keys.map(({ name }) => name);
  if (closed) {
    expect(schema.additionalProperties, place).toBe(false);
    expect(
      Object.keys(properties).filter((name) => !names.includes(name)),
      place,
    ).toEqual([]);
  }
  const demanded = keys.filter((key) => key.required).map(({ name }) => name);
  if (isInput)
    expect(
      required.filter((name) => !demanded.includes(name) && !needed.includes(name)),
      place,
    ).toEqual([]);
  expect(required, place).toEqual(expect.arrayContaining(demanded));
  for (const { name, types, values, keys: inner, closed: isClosed } of keys) {
    const at = `${place} ${name}`;
    const property = properties[name];
    expect(property, at).toBeDefined();
    if (property === undefined || types === '*') continue;
    const given = resolved(property);
    const actual = typesOf(given);
    for (const letter of types as Iterable<keyof typeof TYPES>) {
      const fits = actual.includes(TYPES[letter]) || (letter === 'n' && actual.includes('integer'));
      expect(fits, `${at} is ${TYPES[letter]}`).toBe(true);
    }
    if (!types.includes('0') && actual.includes('null')) expect(isInput ? ALSO_NULL : NONE, at).toContain(name);
    if (values)
      expect(
        (given.enum as unknown[])
          .filter((value) => value !== null)
          .map(String)
          .sort(),
        at,
      ).toEqual([...values].sort());
    if (inner) expectShape(resolved(given.items ?? given), inner, isClosed, { place: at, isInput, needed });
  }
}

const operationOf = (operation: string): Json => {
  const [method = '', path = ''] = operation.split(' ');
  const found = document.paths[path]?.[method.toLowerCase()];
  if (!found) throw new Error(`${operation} is not in the OpenAPI document`);
  return found;
};

const neededBy = (operation: string) => NEEDED[operation.replace(/\/.*\//, '…/')] ?? [];

interface Content {
  readonly content?: Readonly<Record<string, { readonly schema: JsonSchema }>>;
}

const schemaIn = ({ content = {} }: Content) => resolved(Object.values(content)[0]?.schema);

/** Entries of a list, and its objects if it may also be a list of names or a single object. */
function entriesOf(schema: JsonSchema): JsonSchema {
  const { oneOf, items } = schema;
  if (Array.isArray(oneOf)) return entriesOf(resolved(oneOf[0]));
  return items === undefined ? schema : entriesOf(resolved(items));
}

test.each(Object.entries(SHAPES))('%s has the documented parameters, keys and types', (operation, shape) => {
  const { parameters = [], requestBody, responses } = operationOf(operation);
  const needed = neededBy(operation);
  const list = parameters as readonly {
    readonly name: string;
    readonly required: boolean;
    readonly schema: JsonSchema;
  }[];
  const query = {
    properties: Object.fromEntries(list.map(({ name, schema }) => [name, schema])),
    required: list.filter((parameter) => parameter.required).map(({ name }) => name),
  };
  const place = `${operation} ?`;
  expectShape(query, keysOf(shape.query ?? '').keys, false, { place, isInput: true, needed });
  if (shape.body !== undefined) {
    const isList = shape.body.startsWith('[');
    const schema = schemaIn(requestBody as Content);
    const { keys, closed } = keysOf(isList ? shape.body.slice(1, -1) : shape.body);
    expect(schema.type).toBe(isList ? 'array' : 'object');
    expectShape(isList ? resolved(schema.items) : schema, keys, closed, { place: operation, isInput: true, needed });
  }
  if (shape.result !== undefined) {
    const { keys, closed } = keysOf(shape.result);
    const schema = entriesOf(schemaIn((responses as Readonly<Record<string, Content>>)['200'] ?? {}));
    expectShape(schema, keys, closed, { place: `${operation} 200`, isInput: false, needed: [] });
  }
});

test.each(Object.entries(SERVICES))('services of the type %s have the documented keys', (type, shape) => {
  const { properties } = resolved(document.components.schemas.ProjectSettings) as { properties: Json };
  const { oneOf } = resolved(resolved(properties.services).items) as { oneOf: readonly unknown[] };
  const isOfType = ({ properties: { type: kind } }: JsonSchema & { properties: { type: { const: string } } }) =>
    kind.const === type;
  const service = oneOf.map(resolved).find((schema) => isOfType(schema as Parameters<typeof isOfType>[0]));
  const { keys, closed } = keysOf(shape);
  expectShape(service ?? {}, keys, closed, { place: type, isInput: false, needed: [] });
});

type Limit = readonly [path: string, keyword: string, value: number];

const BROKER_TEXTS = [
  'name',
  'url',
  'username',
  'password',
  ...['ca_cert', 'client_cert', 'client_key'].flatMap((key) => [key, `${key}_file`]),
];
const LIMITS: readonly Limit[] = [
  ['NewCertificate cert', 'minLength', 10],
  ['NewCertificate filename', 'minLength', 1],
  ['CertificateChange cert', 'minLength', 10],
  ['CertificateChange filename', 'minLength', 1],
  ['CertificateDeployment brokers', 'minItems', 1],
  ['CertificateDeployment brokers listeners', 'minItems', 1],
  ['NewUser password', 'minLength', 8],
  ...BROKER_TEXTS.map((key): Limit => [`BrokerConnection ${key}`, 'minLength', 1]),
  ['ClientSubscribe clientid', 'minLength', 1],
  ['ClientSubscribe topic', 'minLength', 1],
  ['ClientUnsubscribe clientid', 'minLength', 1],
  ['ClientUnsubscribe topic', 'minLength', 1],
  ['NewAccessClient groups groupname', 'minLength', 1],
  ['AccessClientChange roles rolename', 'minLength', 1],
  ['AccessGroupChange clients username', 'minLength', 1],
];

test.each(LIMITS)('%s has the documented %s', (path, keyword, value) => {
  const [name = '', ...keys] = path.split(' ');
  let schema = document.components.schemas[name] ?? {};
  for (const key of keys) {
    const { properties = {} } = resolved(schema.items ?? schema) as { readonly properties?: Json };
    schema = resolved(properties[key] ?? {});
  }
  expect(schema[keyword]).toBe(value);
});
