import type { GraphQLSchema } from 'graphql';
import type { RequiredRole } from '../../platform/auth/viewer.ts';
import type { Build } from '../../platform/build.ts';
import { ERROR_STATUS } from '../../platform/errors.ts';
import { queryIn } from './prepared-route.ts';
import { contentTypeOf, DEFAULT_REVISION, existsIn, REVISIONS } from './revisions.ts';
import type { JsonSchema, Route } from './route.ts';
import { roleOf } from './route-role.ts';
import { ERROR } from './schemas.ts';
import { TAGS } from './tags.ts';

type Json = Record<string, unknown>;

export const ROLE_WORDS: Readonly<Record<RequiredRole, string>> = {
  PUBLIC: 'no credentials',
  SIGNED_IN: 'valid credentials',
  PERSON: 'a signed-in user',
  VIEWER: 'viewer',
  EDITOR: 'editor',
  ADMIN: 'admin',
  ROOT_ADMIN: 'root administrator',
};

const STATUS_WORDS: Readonly<Record<number, string>> = {
  400: 'The input is invalid.',
  401: 'No valid credentials.',
  403: 'The role does not allow this.',
  404: 'The resource does not exist, or the caller may not see it.',
  405: 'Not possible for this resource.',
  413: 'The body is too large.',
  429: 'Too many requests.',
  500: 'An internal error of this service.',
  503: 'The broker cannot be reached.',
};

export function openApiOf(routes: readonly Route[], schema: GraphQLSchema, { version, commit, builtAt }: Build): Json {
  const components = new Components();
  const paths: Record<string, Json> = {};
  for (const route of routes) {
    if (!existsIn(DEFAULT_REVISION, route)) continue;
    const path = paths[route.path] ?? pathItem(route);
    paths[route.path] = path;
    path[route.method.toLowerCase()] = operation(route, roleOf(route, schema), components);
  }
  const error = components.use(ERROR);
  return {
    openapi: '3.1.0',
    info: {
      title: 'Brokergraph REST interface',
      version,
      'x-build': { commit, builtAt },
      description: [
        'Every operation runs on the GraphQL graph under `/graphql`, so both interfaces always agree.',
        `Revisions: send \`Accept: application/json;version=${REVISIONS.join('|')}\`. The default is revision ${DEFAULT_REVISION}, which this document describes.`,
        'Unknown query parameters are refused, unless their name starts with `_`.',
        `Every error has the same body; \`code\` is one of ${Object.keys(ERROR_STATUS).join(', ')}.`,
      ].join('\n\n'),
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    // Relative to the address of the document: a proxy may serve the service below a path.
    servers: [{ url: '..' }],
    security: [{ bearer: [] }],
    tags: [...new Set(routes.map(({ tag }) => tag))].map((name) => ({ name, description: TAGS[name] })),
    paths,
    components: {
      securitySchemes: {
        bearer: {
          type: 'http',
          scheme: 'bearer',
          description: 'A session token of the `login` mutation, or a project token.',
        },
      },
      responses: Object.fromEntries(
        Object.entries(STATUS_WORDS).map(([status, description]) => [
          `Error${status}`,
          { description, headers: errorHeaders(Number(status)), content: { 'application/json': { schema: error } } },
        ]),
      ),
      schemas: components.schemas,
    },
  };
}

const header = (type: string, description: string): Json => ({ description, schema: { type } });

function errorHeaders(status: number): Json {
  return {
    'X-Request-Id': header('string', 'Id of the request in the log.'),
    ...(status === 401 && { 'WWW-Authenticate': header('string', 'How to send credentials.') }),
    ...(status === 405 && { Allow: header('string', 'Allowed methods.') }),
    ...((status === 429 || status === 503) && { 'Retry-After': header('integer', 'Seconds until the next attempt.') }),
  };
}

function pathItem(route: Route): Json {
  const names = [...route.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name ?? '');
  if (names.length === 0) return {};
  const parameters = names.map((name) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string', minLength: 1 },
    ...(route.params?.[name] && { description: route.params[name] }),
  }));
  return { parameters };
}

function operation(route: Route, role: RequiredRole, components: Components): Json {
  const { operationId, tag, summary, description, status = 200, response = {}, body, errors = [], total } = route;
  const parameters = queryParameters(route, components);
  const content = { schema: components.use(response) };
  const success: Json = {
    description: status === 204 ? 'Done.' : 'The response.',
    headers: {
      'X-Request-Id': header('string', 'Id of the request, or a new one.'),
      ...(total && { 'X-Total-Count': header('integer', 'Size of the whole list.') }),
    },
    // Generators of clients look for the plain key.
    ...(status !== 204 && { content: { 'application/json': content, [contentTypeOf(DEFAULT_REVISION)]: content } }),
  };
  const refusals = new Set([400, ...errors, ...(body ? [413] : []), 429]);
  return {
    operationId,
    summary,
    tags: [tag],
    ...(role === 'PUBLIC' && { security: [] }),
    'x-required-role': role,
    description: [description, `Requires: ${ROLE_WORDS[role]}.`].filter(Boolean).join('\n\n'),
    ...(parameters.length > 0 && { parameters }),
    ...(body && {
      requestBody: {
        required: !route.isBodyOptional,
        content: { 'application/json': { schema: components.use(body) } },
      },
    }),
    responses: { [status]: success, ...responsesOf([...refusals].sort()) },
  };
}

function queryParameters(route: Route, components: Components): Json[] {
  const query = queryIn(DEFAULT_REVISION, route);
  const required = (query?.required ?? []) as readonly string[];
  return Object.entries((query?.properties ?? {}) as Record<string, JsonSchema>).map(
    ([name, { description, ...schema }]) => ({
      name,
      in: 'query',
      required: required.includes(name),
      ...(description !== undefined && { description }),
      schema: components.use(schema),
    }),
  );
}

const responsesOf = (statuses: readonly number[]): Json =>
  Object.fromEntries(statuses.map((status) => [status, { $ref: `#/components/responses/Error${status}` }]));

/** Schemas with a title become components; the others stay inline. */
class Components {
  readonly schemas: Record<string, unknown> = {};
  readonly #named = new Map<string, JsonSchema>();

  use(schema: JsonSchema): JsonSchema {
    const { title } = schema;
    if (typeof title !== 'string') return this.#inside(schema);
    const known = this.#named.get(title);
    if (known === undefined) {
      this.#named.set(title, schema);
      this.schemas[title] = this.#inside(schema);
    } else if (known !== schema) throw new Error(`Two schemas have the title "${title}"`);
    return { $ref: `#/components/schemas/${title}` };
  }

  #inside(schema: JsonSchema): JsonSchema {
    return Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, this.#value(value)]));
  }

  #value(value: unknown): unknown {
    if (Array.isArray(value)) return value.map((entry) => this.#value(entry));
    return typeof value === 'object' && value !== null ? this.use(value as JsonSchema) : value;
  }
}
