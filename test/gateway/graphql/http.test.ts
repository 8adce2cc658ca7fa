import { buildClientSchema, getIntrospectionQuery } from 'graphql';
import { serverAudits } from 'graphql-http';
import { expect, test } from 'vitest';
import { ServiceError } from '../../../src/platform/errors.ts';
import { get, post, type Reply, send, startGraphqlServer } from './server.ts';

test.each(['signed-in', 'always'] as const)(
  'the GraphQL over HTTP audits pass, introspection %s',
  async (introspection) => {
    const { url } = await startGraphqlServer({ introspection });
    const fetchFn = (input: string, init: RequestInit = {}) =>
      fetch(
        input,
        introspection === 'always'
          ? init
          : {
              ...init,
              headers: { ...init.headers, authorization: 'Bearer ann' },
            },
      );
    for (const audit of serverAudits({ url, fetchFn })) {
      const result = await audit.fn();
      expect([audit.id, audit.name, result.status, 'reason' in result && result.reason]).toEqual([
        audit.id,
        audit.name,
        'ok',
        false,
      ]);
    }
  },
);

const REQUESTS: readonly (readonly [query: string, variables?: object, operationName?: string])[] = [
  ['{ hello }'],
  ['query ($n: String) { hello(name: $n) }', { n: 'ü🏃' }],
  ['query ($n: String) { hello(name: $n) }', { n: 4 }],
  ['{ brokers { id name ... on CloudBroker { ownCloudBroker } fault(kind: SERVICE) } }'],
  ['{ broker(id: "brk_1") { strictUrl } whoami }'],
  ['{ wide { strictInt } }'],
  ['{ brokers { strictUrl } }'],
  ['{ brokers(first: 60000) { id } }'],
  ['query A { hello } query B { whoami }', {}, 'B'],
  ['query A { hello } query B { whoami }'],
  ['query A { hello } query B { whoami }', {}, 'C'],
  ['{ __schema { queryType { name } } }'],
  ['{ nothing }'],
  ['{ hello'],
  ['subscription { ticks { n } }'],
];

test('JSON POST and Yoga return the same response, for both media types, with and without credentials', async () => {
  const server = await startGraphqlServer();
  const comparable = ({ status, headers, json }: Reply) => ({
    status,
    type: headers['content-type'],
    authenticate: headers['www-authenticate'],
    json,
  });
  for (const accept of [
    'application/json',
    'application/graphql-response+json',
    '*/*',
    'application/json;q=0.5, application/graphql-response+json',
  ]) {
    for (const authorization of ['', 'Bearer ann', 'Bearer bad']) {
      for (const [query, variables = {}, operationName] of REQUESTS) {
        const headers = {
          accept,
          'x-request-id': 'same',
          ...(authorization && { authorization }),
        };
        const short = await post(server, { query, variables, ...(operationName && { operationName }) }, headers);
        const yoga = await get(
          server,
          {
            query,
            variables: JSON.stringify(variables),
            ...(operationName && { operationName }),
          },
          headers,
        );
        expect(comparable(yoga), `${accept} ${authorization} ${query}`).toEqual(comparable(short));
      }
    }
  }
});

test('errors keep their code and path, and bugs are masked', async () => {
  const server = await startGraphqlServer();

  const { json, headers } = await post(server, {
    query: '{ hello broker(id: "brk_0") { s: fault(kind: SERVICE) b: fault(kind: BUG) } }',
  });

  const requestId = headers['x-request-id'];
  expect(json.data).toEqual({
    hello: 'hello you',
    broker: { s: null, b: null },
  });
  expect(json.errors).toEqual([
    {
      message: 'Silent',
      path: ['broker', 's'],
      locations: [{ line: 1, column: 31 }],
      extensions: { code: 'BROKER_TIMEOUT', info: { waitedMs: 5 } },
    },
    {
      message: 'Internal error',
      path: ['broker', 'b'],
      locations: [{ line: 1, column: 55 }],
      extensions: { code: 'INTERNAL_ERROR', info: { requestId } },
    },
  ]);
  expect(server.logged).toMatchObject([{ requestId, path: 'broker.b', err: { message: 'password=hunter2' } }]);
});

test('X-Request-Id is returned, and created if it is missing or invalid', async () => {
  const server = await startGraphqlServer();
  const idOf = async (given: string) =>
    (await post(server, { query: '{ hello }' }, { 'x-request-id': given })).headers['x-request-id'];
  expect(await idOf('req-1')).toBe('req-1');
  expect(await idOf('a b"c')).toMatch(/^[0-9a-f-]{36}$/);
});

test('unknown credentials get 401 with WWW-Authenticate on every transport', async () => {
  const server = await startGraphqlServer();
  const headers = { authorization: 'Bearer bad' };
  for (const reply of [
    await post(server, { query: '{ hello }' }, headers),
    await get(server, { query: '{ hello }' }, headers),
    await post(server, { query: 'subscription { ticks { n } }' }, { ...headers, accept: 'text/event-stream' }),
  ]) {
    expect([reply.status, reply.headers['www-authenticate']]).toEqual([401, 'Bearer realm="brokergraph"']);
    expect(reply.json.errors[0].extensions.code).toBe('UNAUTHORIZED');
  }
});

test('only signed-in callers may read the schema', async () => {
  const server = await startGraphqlServer({ introspection: 'signed-in' });
  const query = getIntrospectionQuery({
    descriptions: true,
    schemaDescription: true,
    inputValueDeprecation: true,
  });
  const anonymous = await post(server, { query });
  expect([anonymous.status, anonymous.json.errors[0].extensions.code]).toEqual([401, 'UNAUTHORIZED']);
  const { json } = await post(server, { query }, { authorization: 'Bearer ann' });
  expect(buildClientSchema(json.data).getQueryType()?.name).toBe('Query');
});

test('GraphiQL is served to browsers without external resources', async () => {
  const server = await startGraphqlServer();
  const { status, text, headers } = await send(server, 'GET', {
    headers: { accept: 'text/html,*/*' },
  });
  expect(headers['content-security-policy']).toMatch(
    /script-src 'self'; .*connect-src 'self';.*frame-ancestors 'none'/,
  );
  expect([status, headers['x-request-id'] !== undefined]).toEqual([200, true]);
  const urls = [...text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, url]) => url);
  expect(urls).toEqual([
    'data:,',
    expect.stringMatching(/^graphiql\/graphiql-\w{16}\.css$/),
    expect.stringMatching(/^graphiql\/graphiql-[\w-]{8}\.js$/),
  ]);
});

test('another site can neither send nor read, unless its origin is allowed', async () => {
  const server = await startGraphqlServer({
    corsOrigins: ['https://app.example'],
  });
  const simple = {
    'content-type': 'text/plain',
    origin: 'https://evil.example',
  };
  expect(
    (
      await send(server, 'POST', {
        headers: simple,
        body: '{"query":"{ hello }"}',
      })
    ).status,
  ).toBe(415);
  const crossSite = {
    'sec-fetch-site': 'cross-site',
    'sec-fetch-mode': 'cors',
  };
  expect((await get(server, { query: '{ hello }' }, { ...crossSite, origin: 'https://evil.example' })).status).toBe(
    403,
  );
  expect((await get(server, { query: '{ hello }' }, { ...crossSite, origin: 'https://app.example' })).status).toBe(200);
  const preflight = (origin: string) =>
    send(server, 'OPTIONS', {
      headers: { origin, 'access-control-request-method': 'POST' },
    });
  expect((await preflight('https://evil.example')).headers['access-control-allow-origin']).toBeUndefined();
  expect((await preflight('https://app.example')).headers).toMatchObject({
    'access-control-allow-origin': 'https://app.example',
    'access-control-allow-headers': 'Authorization, Content-Type, X-Request-Id',
  });
  const read = await post(server, { query: '{ hello }' }, { origin: 'https://app.example' });
  expect(read.headers).toMatchObject({
    'access-control-allow-origin': 'https://app.example',
    vary: 'Origin',
  });
});

test('unsupported requests are refused with their status', async () => {
  const server = await startGraphqlServer();
  const json = { 'content-type': 'application/json' };
  const body = '{"query":"{ hello }"}';
  const statuses = async (...replies: Promise<Reply>[]) => (await Promise.all(replies)).map(({ status }) => status);
  expect(
    await statuses(
      send(server, 'PUT', { headers: json, body }),
      send(server, 'POST', { body }),
      send(server, 'POST', {
        headers: { 'content-type': 'multipart/form-data; boundary=x' },
        body,
      }),
      send(server, 'POST', {
        headers: { ...json, 'content-encoding': 'gzip' },
        body,
      }),
      send(server, 'POST', {
        headers: { 'content-type': 'application/json; charset=latin1' },
        body,
      }),
      send(server, 'POST', {
        headers: { ...json, accept: 'text/plain' },
        body,
      }),
      get(server, { query: 'mutation { add }' }),
      get(server, {}),
      get(server, { query: '{ hello }', variables: '{' }),
    ),
  ).toEqual([405, 415, 415, 415, 415, 406, 405, 400, 400]);
});

test('a request with the hash of a query only gets the answer after which clients send the text', async () => {
  const server = await startGraphqlServer();
  const extensions = { persistedQuery: { version: 1, sha256Hash: 'a'.repeat(64) } };
  for (const { status, json } of [
    await post(server, { extensions }),
    await get(server, { extensions: JSON.stringify(extensions) }),
  ]) {
    expect([status, json]).toEqual([
      200,
      {
        errors: [{ message: 'PersistedQueryNotSupported', extensions: { code: 'PERSISTED_QUERY_NOT_SUPPORTED' } }],
      },
    ]);
  }
  expect((await post(server, { query: '{ hello }', extensions })).json).toEqual({ data: { hello: 'hello you' } });
});

test('a byte order mark and an empty operation name are ignored', async () => {
  const server = await startGraphqlServer();
  const body = `\uFEFF${JSON.stringify({ query: '{ hello }', operationName: '' })}`;
  for (const accept of ['application/json', 'text/event-stream;q=0.5, application/json']) {
    expect((await post(server, Buffer.from(body), { accept })).json).toEqual({ data: { hello: 'hello you' } });
  }
  expect((await get(server, { query: '{ hello }', operationName: '' })).json).toEqual({ data: { hello: 'hello you' } });
});

test('a Host that is no name is refused by the transports that need a URL', async () => {
  const server = await startGraphqlServer();
  for (const host of ['127.0.0.1:99999', 'a b', '[::1']) {
    const { status, json } = await get(server, { query: '{ hello }' }, { host });
    expect([status, json.errors[0].extensions.code]).toEqual([400, 'INVALID']);
  }
  expect(server.logged).toEqual([]);
});

test('a refusal is JSON with its code, its status and the request id', async () => {
  const server = await startGraphqlServer();
  for (const [method, headers, status, code] of [
    ['PUT', {}, 405, 'METHOD_NOT_ALLOWED'],
    ['POST', { 'content-type': 'application/x-www-form-urlencoded' }, 415, 'INVALID'],
    ['POST', { 'content-type': 'application/graphql' }, 415, 'INVALID'],
    ['GET', { accept: 'multipart/mixed' }, 406, 'INVALID'],
    ['GET', { 'sec-fetch-site': 'cross-site', accept: 'text/html' }, 403, 'NOT_ALLOWED'],
  ] as const) {
    const reply = await send(server, method, { headers: { ...headers, 'x-request-id': 'mine' }, body: '' });
    expect([reply.status, reply.json.errors[0].extensions, reply.headers['x-request-id']]).toEqual([
      status,
      { code },
      'mine',
    ]);
  }
  const options = await send(server, 'OPTIONS');
  expect([options.status, options.headers.allow]).toEqual([204, 'GET, POST, OPTIONS']);
});

test('a rate limit has the same Retry-After by POST and by GET', async () => {
  const body = () => {
    throw new ServiceError('RATE_LIMITED', 'Later', { info: { retryAfterSeconds: 7 } });
  };
  const server = await startGraphqlServer({ rates: { body }, contextFor: body });
  const replies = [await post(server, { query: '{ hello }' }), await get(server, { query: '{ hello }' })];
  expect(replies.map(({ status, headers }) => [status, headers['retry-after']])).toEqual([
    [429, '7'],
    [429, '7'],
  ]);
});

test('an empty Accept allows as much as none', async () => {
  const server = await startGraphqlServer();
  for (const accept of ['', ' ', ',', ' , ,']) {
    expect((await post(server, { query: '{ hello }' }, { accept })).status, JSON.stringify(accept)).toBe(200);
  }
});

test('a repeated parameter is refused', async () => {
  const server = await startGraphqlServer();
  const { status, json } = await send(server, 'GET', { path: '/graphql?query={hello}&query={whoami}', headers: {} });
  expect([status, json]).toMatchObject([400, { errors: [{ message: '"query" must not be repeated' }] }]);
});

test.each(['9007199254740993', '1e400', '-0', '18446744073709551615'])(
  'the id %s is the same in a body and in the query string',
  async (id) => {
    const service = await startGraphqlServer();
    const query = 'query ($id: ID!) { broker(id: $id) { __typename } }';
    const variables = `{"id":${id}}`;
    const inBody = await post(service, `{"query":${JSON.stringify(query)},"variables":${variables}}`);
    const inQuery = await get(service, { query, variables });
    expect([inBody.status, inQuery.text]).toEqual([200, inBody.text]);
  },
);
