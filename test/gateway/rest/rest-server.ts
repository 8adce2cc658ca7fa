import { createServer, type IncomingHttpHeaders, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import SchemaBuilder from '@pothos/core';
import { onTestFinished } from 'vitest';
import type { RequestContext } from '../../../src/gateway/context.ts';
import { compressed } from '../../../src/gateway/http/compressed-handler.ts';
import { Compression } from '../../../src/gateway/http/compression.ts';
import { onNode } from '../../../src/gateway/http/fetch-handler.ts';
import { apiDocuments } from '../../../src/gateway/rest/docs/api-documents.ts';
import type { JsonSchema, Route } from '../../../src/gateway/rest/route.ts';
import { createRestServer, type RestServerOptions } from '../../../src/gateway/rest/router.ts';
import { closed, FILTER_QUERY, PAGE_QUERY, STRING } from '../../../src/gateway/rest/schemas.ts';
import {
  requirePerson,
  requireProjectRole,
  requireRootAdmin,
  requireSignedIn,
  type Viewer,
} from '../../../src/platform/auth/viewer.ts';
import { ServiceError } from '../../../src/platform/errors.ts';

interface LampContext {
  readonly viewer: Viewer | null;
  readonly address: string;
  readonly lamps: Lamp[];
}

interface Lamp {
  readonly id: string;
  readonly name: string;
  readonly state: 'ON' | 'OFF';
  readonly room: { readonly floor: number | null; readonly owner: string | null };
}

const builder = new SchemaBuilder<{ Context: LampContext; DefaultFieldNullability: false }>({
  defaultFieldNullability: false,
  // Types of plugins that the product loads and this graph does not.
  prisma: undefined as never,
  scopeAuth: undefined as never,
});

const LampState = builder.enumType('LampState', { values: ['ON', 'OFF'] as const });
const LampMode = builder.enumType('LampMode', { values: ['CONTAINS', 'EQUALS', 'STARTS_WITH', 'ENDS_WITH'] as const });

const Room = builder.objectRef<Lamp['room']>('Room').implement({
  fields: (t) => ({
    floor: t.exposeInt('floor', { nullable: true }),
    owner: t.exposeString('owner', { nullable: true }),
  }),
});

const LampType = builder.objectRef<Lamp>('Lamp').implement({
  fields: (t) => ({
    id: t.exposeID('id'),
    name: t.exposeString('name'),
    state: t.expose('state', { type: LampState }),
    room: t.field({ type: Room, resolve: ({ room }) => ({ ...room }) }),
    broken: t.string({
      resolve: () => {
        throw new Error('the wire is cut: password=hunter2');
      },
    }),
    dark: t.string({
      nullable: true,
      resolve: async () => {
        throw new ServiceError('BROKER_UNREACHABLE', 'The lamp does not answer', { info: { retryAfterSeconds: 7 } });
      },
    }),
  }),
});

interface Page {
  readonly nodes: Lamp[];
  readonly total: number;
  readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null };
}

const PageInfo = builder.objectRef<Page['pageInfo']>('PageInfo').implement({
  fields: (t) => ({
    hasNextPage: t.exposeBoolean('hasNextPage'),
    endCursor: t.exposeString('endCursor', { nullable: true }),
  }),
});

const LampPage = builder.objectRef<Page>('LampPage').implement({
  fields: (t) => ({
    nodes: t.field({ type: [LampType], resolve: ({ nodes }) => nodes }),
    total: t.exposeInt('total'),
    pageInfo: t.field({ type: PageInfo, resolve: ({ pageInfo }) => pageInfo }),
  }),
});

builder.queryType({
  fields: (t) => ({
    lamp: t.field({
      type: LampType,
      extensions: { requires: 'VIEWER' },
      nullable: true,
      args: { id: t.arg.id({ required: true }) },
      resolve: (_root, { id }, { lamps }) => lamps.find((lamp) => lamp.id === id) ?? null,
    }),
    lamps: t.field({
      type: LampPage,
      extensions: { requires: 'VIEWER' },
      args: {
        first: t.arg.int(),
        after: t.arg.string(),
        offset: t.arg.int(),
        text: t.arg.string(),
        mode: t.arg({ type: LampMode }),
      },
      resolve: (_root, { first, after, offset, text }, { lamps }) => {
        const wanted = lamps.filter(({ name }) => name.includes(text ?? ''));
        const start = (after ? wanted.findIndex(({ id }) => id === after) + 1 : 0) + (offset ?? 0);
        const end = start + (first ?? 50);
        const nodes = wanted.slice(start, end);
        if (nodes.some(({ name }) => name === 'trap'))
          throw new ServiceError('BROKER_TIMEOUT', 'Half of it is missing');
        return {
          nodes,
          total: wanted.length,
          pageInfo: { hasNextPage: end < wanted.length, endCursor: nodes.at(-1)?.id ?? null },
        };
      },
    }),
  }),
});

const AddLamp = builder.inputType('AddLamp', {
  fields: (t) => ({ name: t.string({ required: true }), state: t.field({ type: LampState }) }),
});

async function addLamp({ name, state }: typeof AddLamp.$inferInput, lamps: Lamp[]): Promise<Lamp> {
  if (lamps.some((lamp) => lamp.name === name)) throw new ServiceError('ALREADY_EXISTS', `There is a lamp "${name}"`);
  const lamp: Lamp = { id: `l${lamps.length}`, name, state: state ?? 'OFF', room: { floor: null, owner: null } };
  lamps.push(lamp);
  return lamp;
}

builder.mutationType({
  fields: (t) => ({
    addLamp: t.field({
      type: LampType,
      extensions: { requires: 'ADMIN' },
      args: { input: t.arg({ type: AddLamp, required: true }) },
      resolve: (_root, { input }, { lamps }) => addLamp(input, lamps),
    }),
    changeLamp: t.field({
      type: LampType,
      extensions: { requires: 'EDITOR' },
      args: { input: t.arg({ type: AddLamp, required: true }) },
      resolve: (_root, { input }, { lamps }) => addLamp(input, lamps),
    }),
  }),
});

export const LAMP_BUILD = { version: '1.2.3', commit: 'abc1234', builtAt: new Date(0) };

export const lampSchema = builder.toSchema();

const LAMP: JsonSchema = closed(
  { id: STRING, title: STRING, state: { type: 'string', enum: ['on', 'off'] } },
  { title: 'Lamp' },
);
const LAMPS = '/api/projects/{projectId}/lamps';
const spell = { LampState: { ON: 'on', OFF: 'off' } } as const;

export const lampRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: LAMPS,
    operationId: 'listLamps',
    summary: 'List the lamps',
    tag: 'Brokers',
    query: { type: 'object', properties: { ...PAGE_QUERY, ...FILTER_QUERY, ratio: { type: 'number' } } },
    operation: `query ($first: Int, $after: String, $offset: Int, $text: String) {
      lamps(first: $first, after: $after, offset: $offset, text: $text) {
        total nodes { id title: name state room { floor owner } } pageInfo { hasNextPage endCursor }
      } }`,
    variables: ({ query }) => ({ first: query.count, offset: query.offset, text: query.filterValue }),
    pick: 'lamps.nodes',
    total: 'lamps.total',
    omitNull: ['room.*', '!room.owner'],
    nameKey: 'title',
    spell,
    stream: { when: ({ query }) => query.count === -1, pageInfo: 'lamps.pageInfo', pageSize: 1_000 },
    revisions: { query: { filterValue: { since: '3.3' } }, response: { 'room.owner': { since: '3.3' } } },
    errors: [401, 403, 404, 405, 500],
  },
  {
    method: 'POST',
    path: LAMPS,
    operationId: 'addLamp',
    summary: 'Add a lamp',
    tag: 'Brokers',
    body: closed(
      {
        name: { type: 'string', minLength: 1 },
        state: { type: 'string', enum: ['on', 'off'] },
        colours: { type: 'array', items: { type: 'integer' } },
      },
      { required: ['name'] },
    ),
    operation: 'mutation ($input: AddLamp!) { addLamp(input: $input) { id } }',
    variables: ({ body }) => ({ input: { name: body.name } }),
    pick: 'addLamp',
    response: closed({ id: STRING }),
  },
  {
    method: 'GET',
    path: `${LAMPS}/{lampId}`,
    operationId: 'getLamp',
    summary: 'Read a lamp',
    tag: 'Brokers',
    operation: 'query ($lampId: ID!) { lamp(id: $lampId) { id title: name state } }',
    variables: ({ params }) => ({ lampId: params.lampId }),
    pick: 'lamp',
    spell,
    response: LAMP,
  },
  {
    method: 'PUT',
    path: `${LAMPS}/{lampId}`,
    operationId: 'updateLamp',
    summary: 'Change a lamp',
    tag: 'Brokers',
    body: closed({ name: { type: 'string', minLength: 1 } }, { required: [] }),
    operation: 'mutation ($input: AddLamp!) { changeLamp(input: $input) { id } }',
    variables: ({ body }) => ({ input: body }),
    status: 204,
  },
  {
    method: 'GET',
    path: `${LAMPS}/{lampId}/broken`,
    operationId: 'getBrokenLamp',
    summary: 'Read what cannot be read',
    tag: 'Brokers',
    operation: 'query ($lampId: ID!) { lamp(id: $lampId) { broken } }',
    variables: ({ params }) => ({ lampId: params.lampId }),
    pick: 'lamp.broken',
  },
  {
    method: 'GET',
    path: `${LAMPS}/{lampId}/dark`,
    operationId: 'getDarkLamp',
    summary: 'Read what does not answer',
    tag: 'Brokers',
    operation: 'query ($lampId: ID!) { lamp(id: $lampId) { dark } }',
    variables: ({ params }) => ({ lampId: params.lampId }),
    pick: 'lamp.dark',
    since: '3.3',
  },
];

const ROLES: Readonly<Record<string, Viewer['projectRoles']>> = {
  viewer: new Map([['p1', 'VIEWER']]),
  editor: new Map([['p1', 'EDITOR']]),
  admin: new Map([['p1', 'ADMIN']]),
  root: new Map(),
};

export const makeLamps = (count: number): Lamp[] =>
  Array.from({ length: count }, (_, i) => ({
    id: `l${i}`,
    name: `lamp ${i}`,
    state: i % 2 === 0 ? 'ON' : 'OFF',
    room: { floor: i === 0 ? null : i, owner: null },
  }));

interface RestAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** `undefined` if there is no body, or it is not JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: tests read bodies of any shape
  readonly json: any;
}

interface RestCall {
  readonly as?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** A string is sent unchanged. */
  readonly body?: unknown;
}

/** The resolvers of lamps use nothing else of a context. */
function contextOf(viewer: Viewer | null, lamps: Lamp[]): RequestContext {
  const context: LampContext = { viewer, address: '', lamps };
  return context as unknown as RequestContext;
}

/** The REST server of a schema of lamps, on a free port. */
export async function startLampServer(options: Partial<RestServerOptions> & { readonly lamps?: Lamp[] } = {}) {
  const { lamps = makeLamps(3), routes = lampRoutes, ...rest } = options;
  const logged: { readonly fields: object; readonly message: string }[] = [];
  const handler = createRestServer({
    routes,
    schema: lampSchema,
    contextFor: ({ headers }) => {
      const name = headers.authorization?.replace('Bearer ', '');
      if (name === undefined) return contextOf(null, lamps);
      const projectRoles = ROLES[name];
      if (!projectRoles) throw new ServiceError('UNAUTHORIZED', 'Unknown token');
      const credential = { kind: 'USER', id: name, name, credentialId: name, expiresAt: Infinity } as const;
      return contextOf({ ...credential, projectRoles, isRootAdmin: name === 'root', brokers: null }, lamps);
    },
    authorize: ({ viewer }, role, { projectId }) => {
      if (role === 'PUBLIC') return;
      if (role === 'SIGNED_IN') requireSignedIn(viewer);
      else if (role === 'PERSON') requirePerson(viewer);
      else if (role === 'ROOT_ADMIN') requireRootAdmin(viewer);
      else requireProjectRole(viewer, projectId ?? '', role);
    },
    log: { error: (fields, message) => logged.push({ fields, message }) },
    maxBodyBytes: 10_000,
    documents: apiDocuments(routes, lampSchema, LAMP_BUILD),
    ...rest,
  });
  const server = createServer(onNode(compressed(handler, new Compression())));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  /** Sends the path unchanged. */
  const call = (method: string, path: string, { as, headers = {}, body }: RestCall = {}): Promise<RestAnswer> =>
    callRest(port, method, path, {
      headers: { ...(as ? { authorization: `Bearer ${as}` } : {}), ...headers },
      body,
    });
  return { call, handler, port, logged, lamps };
}

function callRest(port: number, method: string, path: string, { headers = {}, body }: RestCall): Promise<RestAnswer> {
  const text = body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body);
  return new Promise((resolve, reject) => {
    const req = request({
      port,
      host: '127.0.0.1',
      method,
      path,
      headers: {
        ...(text === undefined
          ? {}
          : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
        ...headers,
      },
    });
    req.on('error', reject);
    req.on('response', (res) => {
      const chunks: Buffer[] = [];
      res.on('data', (chunk: Buffer) => chunks.push(chunk));
      res.on('error', reject);
      res.on('end', () => {
        const received = Buffer.concat(chunks).toString();
        let json: unknown;
        try {
          json = JSON.parse(received);
        } catch {
          json = undefined;
        }
        resolve({ status: res.statusCode ?? 0, headers: res.headers, text: received, json });
      });
    });
    req.end(text);
  });
}
