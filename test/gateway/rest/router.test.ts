import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Traffic } from '../../../src/gateway/http/traffic.ts';
import { routePreparer } from '../../../src/gateway/rest/prepared-route.ts';
import type { Route } from '../../../src/gateway/rest/route.ts';
import { ServiceError } from '../../../src/platform/errors.ts';
import { runs } from '../../support/suite.ts';
import { lampRoutes, lampSchema, makeLamps, startLampServer } from './rest-server.ts';

const LAMPS = '/api/projects/p1/lamps';
const ADD = { as: 'admin', body: { name: 'new' } } as const;

describe('responses', () => {
  test('have the documented keys and values of aliases and spellings, without unknown optional keys', async () => {
    const { call } = await startLampServer();
    const { status, json, headers } = await call('GET', `${LAMPS}?count=2`, { as: 'viewer' });
    expect(status).toBe(200);
    expect(json).toEqual([
      { id: 'l0', title: 'lamp 0', state: 'on', room: { owner: null } },
      { id: 'l1', title: 'lamp 1', state: 'off', room: { floor: 1, owner: null } },
    ]);
    expect(headers).toMatchObject({
      'content-type': 'application/json; charset=utf-8; version=3.3',
      'x-total-count': '3',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    });
  });

  test('have only names with verbose=false', async () => {
    const { call } = await startLampServer();
    const { json } = await call('GET', `${LAMPS}?verbose=false&offset=1`, { as: 'viewer' });
    expect(json).toEqual(['lamp 1', 'lamp 2']);
  });

  test('have the id for a created object, and 204 without a body for a change', async () => {
    const { call } = await startLampServer();
    expect(await call('POST', LAMPS, ADD)).toMatchObject({ status: 200, json: { id: 'l3' } });
    const changed = await call('PUT', `${LAMPS}/l1`, { as: 'editor', body: { name: 'other' } });
    expect(changed).toMatchObject({ status: 204, text: '' });
    expect(changed.headers['content-length']).toBeUndefined();
  });

  test('of HEAD equal those of GET without a body, and OPTIONS lists the methods without credentials', async () => {
    const { call } = await startLampServer();
    const get = await call('GET', `${LAMPS}/l1`, { as: 'viewer' });
    const head = await call('HEAD', `${LAMPS}/l1`, { as: 'viewer' });
    expect(head).toMatchObject({ status: 200, text: '' });
    expect(head.headers['content-length']).toBe(get.headers['content-length']);
    const options = await call('OPTIONS', `${LAMPS}/l1`);
    expect(options).toMatchObject({ status: 204, headers: { allow: 'GET, HEAD, PUT, OPTIONS' } });
    expect(await call('HEAD', `${LAMPS}/none`, { as: 'viewer' })).toMatchObject({ status: 404, text: '' });
  });

  test('have the request id, or a new one if it is missing or invalid', async () => {
    const { call } = await startLampServer();
    const sent = await call('GET', LAMPS, { as: 'viewer', headers: { 'x-request-id': 'abc-1' } });
    expect(sent.headers['x-request-id']).toBe('abc-1');
    for (const bad of ['with space', 'x'.repeat(200)]) {
      const { headers } = await call('GET', LAMPS, { headers: { 'x-request-id': bad } });
      expect(headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
    }
  });
});

describe('refusals', () => {
  test('unknown paths are 404: other case, trailing slash, empty, overlong or NUL parameters', async () => {
    const { call } = await startLampServer();
    const paths = [
      '/api',
      '/api/nothing',
      `${LAMPS}/`,
      '/API/projects/p1/lamps',
      '/api/projects//lamps',
      `${LAMPS}/${'x'.repeat(400)}`,
      `${LAMPS}/a%00b`,
    ];
    for (const path of paths) {
      expect(await call('GET', path, { as: 'admin' }), path).toMatchObject({
        status: 404,
        json: { code: 'NOT_FOUND', status: 404 },
      });
    }
  });

  test('parameters are decoded once: an escaped slash is part of the id', async () => {
    const { call } = await startLampServer({
      lamps: [{ id: 'a/b%20ü', name: 'x', state: 'ON', room: { floor: 1, owner: null } }],
    });
    expect(await call('GET', `${LAMPS}/a%2Fb%2520%C3%BC`, { as: 'viewer' })).toMatchObject({
      status: 200,
      json: { id: 'a/b%20ü' },
    });
  });

  test('a path that is not percent-encoded UTF-8 is 400', async () => {
    const { call } = await startLampServer();
    expect(await call('GET', `${LAMPS}/%ff`, { as: 'viewer' })).toMatchObject({
      status: 400,
      json: { code: 'INVALID' },
    });
  });

  test('another method of a known path is 405 with Allow', async () => {
    const { call } = await startLampServer();
    for (const method of ['PATCH', 'DELETE', 'TRACE', 'PROPFIND']) {
      const answer = await call(method, LAMPS, { as: 'admin' });
      expect(answer).toMatchObject({
        status: 405,
        json: { code: 'METHOD_NOT_ALLOWED', status: 405 },
        headers: { allow: 'GET, HEAD, POST, OPTIONS' },
      });
    }
  });

  test('without credentials 401, not visible 404, below the role 403, and the input is checked afterwards', async () => {
    const { call } = await startLampServer();
    const body = 'not json';
    const without = await call('POST', LAMPS, { body });
    expect(without).toMatchObject({ status: 401, json: { code: 'UNAUTHORIZED', status: 401 } });
    expect(without.headers['www-authenticate']).toBe('Bearer realm="brokergraph"');
    const wrong = await call('POST', LAMPS, { as: 'stranger', body });
    expect(wrong.headers['www-authenticate']).toBe('Bearer realm="brokergraph", error="invalid_token"');
    expect(await call('POST', '/api/projects/p2/lamps', { as: 'admin', body })).toMatchObject({
      status: 404,
      json: { code: 'NOT_FOUND' },
    });
    expect(await call('POST', LAMPS, { as: 'editor', body })).toMatchObject({
      status: 403,
      json: { code: 'NOT_ALLOWED' },
    });
    expect(await call('POST', LAMPS, { as: 'admin', body })).toMatchObject({ status: 400, json: { code: 'INVALID' } });
  });

  test('a body is refused with every issue: type, missing, unknown, empty', async () => {
    const { call } = await startLampServer();
    const { status, json } = await call('POST', LAMPS, {
      as: 'admin',
      body: { name: '', colours: [1, 'red'], extra: 1, state: 'dim' },
    });
    expect(status).toBe(400);
    expect(json).toMatchObject({ code: 'INVALID', status: 400 });
    expect(json.info.issues).toEqual(
      expect.arrayContaining([
        { path: '/name', reason: 'must not be empty' },
        { path: '/colours/1', reason: 'must be integer' },
        { path: '/extra', reason: 'is not known here' },
        { path: '/state', reason: 'must be one of ["on","off"]' },
      ]),
    );
    const missing = await call('POST', LAMPS, { as: 'admin', body: {} });
    expect(missing.json.info.issues).toEqual([{ path: '/name', reason: 'is needed' }]);
    for (const body of ['[]', 'null', '"text"', '1']) {
      expect((await call('POST', LAMPS, { as: 'admin', body })).json.info.issues).toEqual([
        { path: '/', reason: 'must be object' },
      ]);
    }
  });

  test('a body that is not JSON, not UTF-8, too deep, contains U+0000, or has another media type is 400', async () => {
    const { call } = await startLampServer();
    const bodies = [
      '',
      '{',
      '{"name":"a\\u0000b"}',
      '{"a\\u0000":1}',
      `${'['.repeat(4_000)}${']'.repeat(4_000)}`,
      '{"__proto__":{"name":"x"}}',
    ];
    for (const body of bodies) {
      expect(await call('POST', LAMPS, { as: 'admin', body }), body.slice(0, 40)).toMatchObject({
        status: 400,
        json: { code: 'INVALID' },
      });
    }
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'application/json; charset=latin1',
      'nonsense',
    ]) {
      const answer = await call('POST', LAMPS, { ...ADD, headers: { 'content-type': type } });
      expect(answer, type).toMatchObject({ status: 400, json: { code: 'INVALID' } });
    }
    const packed = await call('POST', LAMPS, { ...ADD, headers: { 'content-encoding': 'gzip' } });
    expect(packed).toMatchObject({ status: 400, json: { code: 'INVALID' } });
    const typed = await call('POST', LAMPS, {
      ...ADD,
      headers: { 'content-type': 'Application/JSON; charset="UTF-8"' },
    });
    expect(typed.status).toBe(200);
  });

  test('an escaped backslash before u0000 is text, not U+0000', async () => {
    const { call } = await startLampServer();
    expect((await call('POST', LAMPS, { as: 'admin', body: { name: 'a\\u0000' } })).status).toBe(200);
  });

  test('half of a surrogate pair is refused in values and keys of a body, and a whole pair is text', async () => {
    const { call } = await startLampServer();
    const refused = async (body: string) => (await call('POST', LAMPS, { as: 'admin', body })).json.info.issues;
    const reason = 'must not contain half of a surrogate pair (U+D800 to U+DFFF)';
    expect(await refused('{"name":"a\\ud800b"}')).toEqual([{ path: '/name', reason }]);
    expect(await refused('{"name":"\\uDC00\\uD83D"}')).toEqual([{ path: '/name', reason }]);
    expect(await refused('{"name":"a","\\udfff":1}')).toEqual([{ path: '/', reason: `a key ${reason}` }]);
    expect((await call('POST', LAMPS, { as: 'admin', body: '{"name":"\\ud83d\\ude00"}' })).status).toBe(200);
  });

  test('a query that is not percent-encoded UTF-8 is refused, also half of a surrogate pair', async () => {
    const { call } = await startLampServer();
    const issues = async (query: string) =>
      (await call('GET', `${LAMPS}?${query}`, { as: 'viewer' })).json.info?.issues;
    const reason = 'is not percent-encoded UTF-8';
    for (const text of ['%ff', '%ED%A0%80', 'a%', 'a%zz']) {
      expect(await issues(`filterValue=${text}`), text).toEqual([{ path: 'filterValue', reason }]);
      expect(await issues(`${text}=1`), text).toEqual([{ path: 'query', reason: `a name ${reason}` }]);
      expect(await call('GET', `${LAMPS}/${text}`, { as: 'viewer' }), text).toMatchObject({ status: 400 });
    }
    expect(await issues('filterValue=a%F0%9F%98%80+b')).toBeUndefined();
  });

  test('unknown parameters that start with an underscore are ignored', async () => {
    const { call } = await startLampServer();
    const plain = await call('GET', `${LAMPS}?count=2`, { as: 'viewer' });
    const busted = await call('GET', `${LAMPS}?_=1700000000&count=2&_t=a&_t=b`, { as: 'viewer' });
    expect([busted.status, busted.json]).toEqual([200, plain.json]);
    expect((await call('GET', `${LAMPS}?count_=2`, { as: 'viewer' })).status).toBe(400);
  });

  test('a body that is too large is 413, and its sender receives the response', async () => {
    const { call, lamps } = await startLampServer();
    const body = { name: 'x'.repeat(20_000) };
    expect(await call('POST', LAMPS, { as: 'admin', body })).toMatchObject({
      status: 413,
      json: { code: 'TOO_LARGE', status: 413 },
    });
    expect(lamps).toHaveLength(3);
  });

  test('a body with a huge Content-Length is refused before it is sent', async () => {
    const { port } = await startLampServer();
    const socket = connect(port, '127.0.0.1');
    socket.write(
      `POST ${LAMPS} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer admin\r\nContent-Type: application/json\r\nContent-Length: 9999999999\r\n\r\n{`,
    );
    let received = '';
    socket.on('data', (chunk) => (received += chunk));
    await once(socket, 'close');
    expect(received).toMatch(/^HTTP\/1.1 413 /);
    expect(received).toMatch(/connection: close/i);
  });

  test('invalid query parameters are refused with their names', async () => {
    const { call } = await startLampServer();
    const bad = [
      'count=ten',
      'count=1.0',
      'count=%2B1',
      'count=0x10',
      'count=',
      'count=-2',
      'count=1&count=2',
      'offset=-1',
      'verbose=1',
      'verbose=TRUE',
      'ratio=1e3',
      'filterMode=regex',
      'filterValue=%00',
      'count=99999999999999999999',
    ];
    for (const query of bad) {
      const { status, json } = await call('GET', `${LAMPS}?${query}`, { as: 'viewer' });
      expect(status, query).toBe(400);
      expect(json.info.issues[0].path).toBe(query.split('=')[0]);
    }
    expect((await call('GET', `${LAMPS}?count=1&ratio=-0.5&token=x`, { as: 'viewer' })).status).toBe(200);
  });

  test('an undeclared query parameter is refused with the most similar declared name', async () => {
    const { call, lamps } = await startLampServer();
    const issuesOf = async (method: string, path: string) => {
      const { status, json } = await call(method, path, {
        as: 'admin',
        ...(method === 'POST' ? { body: { name: 'n' } } : {}),
      });
      return [status, json.code, json.info?.issues];
    };
    const unknown = (path: string, meant?: string) => ({
      path,
      reason: `is not known here${meant === undefined ? '' : `; is "${meant}" meant?`}`,
    });
    expect(await issuesOf('GET', `${LAMPS}?filterVlaue=a&count=1`)).toEqual([
      400,
      'INVALID',
      [unknown('filterVlaue', 'filterValue')],
    ]);
    expect(await issuesOf('GET', `${LAMPS}?COUNT=1&colour=red&verbose=1`)).toEqual([
      400,
      'INVALID',
      [unknown('COUNT', 'count'), unknown('colour'), { path: 'verbose', reason: 'must be boolean' }],
    ]);
    // A route without parameters refuses them as well, before its operation runs.
    expect(await issuesOf('POST', `${LAMPS}?dryRun=true`)).toEqual([400, 'INVALID', [unknown('dryRun')]]);
    expect(lamps).toHaveLength(3);
    expect((await call('POST', `${LAMPS}?token=x`, { as: 'admin', body: { name: 'n' } })).status).toBe(200);
    const many = await call('GET', `${LAMPS}?${Array.from({ length: 900 }, (_, i) => `p${i}=`).join('&')}`, {
      as: 'viewer',
    });
    expect(many.json.info.issues).toHaveLength(100);
    expect(many.json.info.omitted).toBe(800);
    const long = await call('GET', `${LAMPS}?${'x'.repeat(5_000)}=1`, { as: 'viewer' });
    expect(long.json.info.issues[0].path).toHaveLength(200);
    expect((await call('GET', `${LAMPS}?colour=red`)).status).toBe(401);
  });

  test('an error of the operation keeps its code, status and info', async () => {
    const { call } = await startLampServer();
    expect(await call('POST', LAMPS, { as: 'admin', body: { name: 'lamp 1' } })).toMatchObject({
      status: 400,
      json: { code: 'ALREADY_EXISTS' },
    });
    const dark = await call('GET', `${LAMPS}/l1/dark`, { as: 'viewer' });
    expect(dark).toMatchObject({
      status: 503,
      json: { code: 'BROKER_UNREACHABLE', status: 503, info: { retryAfterSeconds: 7 } },
      headers: { 'retry-after': '7' },
    });
  });

  test('a bug is INTERNAL_ERROR without its text, and is logged completely with the request id', async () => {
    const { call, logged } = await startLampServer();
    const { status, text, json, headers } = await call('GET', `${LAMPS}/l1/broken`, { as: 'viewer' });
    expect(status).toBe(500);
    expect(json.code).toBe('INTERNAL_ERROR');
    expect(text).not.toContain('hunter2');
    expect(logged).toHaveLength(1);
    expect(logged[0]?.fields).toMatchObject({
      requestId: headers['x-request-id'],
      err: { message: expect.stringContaining('hunter2') },
    });
  });

  test('a null on the path to the body is 404', async () => {
    const { call } = await startLampServer();
    expect(await call('GET', `${LAMPS}/none`, { as: 'viewer' })).toMatchObject({
      status: 404,
      json: { code: 'NOT_FOUND' },
    });
  });

  test('a token in the query is used only if that is enabled and there is no header', async () => {
    const { call } = await startLampServer();
    expect((await call('GET', `${LAMPS}?token=viewer`)).status).toBe(401);
    const open = await startLampServer({ tokenInQuery: true });
    expect((await open.call('GET', `${LAMPS}?token=viewer`)).status).toBe(200);
    expect((await open.call('POST', `${LAMPS}?token=admin`, { as: 'viewer', body: {} })).status).toBe(403);
  });
});

describe('revisions', () => {
  test('Accept selects one, and Content-Type contains it', async () => {
    const { call } = await startLampServer();
    const version = async (accept: string) =>
      (await call('GET', LAMPS, { as: 'viewer', headers: { accept } })).headers['content-type']?.split('version=')[1];
    expect(await version('*/*')).toBe('3.3');
    expect(await version('text/html')).toBe('3.3');
    expect(await version('application/json;version=3.0')).toBe('3.0');
    expect(await version('application/json; version="3.1"')).toBe('3.1');
    expect(await version('text/plain, application/json; q=0.9; version=next')).toBe('next');
  });

  test('an unknown one is 400', async () => {
    const { call } = await startLampServer();
    const answer = await call('GET', LAMPS, { as: 'viewer', headers: { accept: 'application/json;version=2.9' } });
    expect(answer).toMatchObject({ status: 400, json: { code: 'INVALID' } });
  });

  test('an older one lacks the parameters, keys and paths that came later', async () => {
    const { call } = await startLampServer();
    const headers = { accept: 'application/json;version=3.0' };
    const { json } = await call('GET', LAMPS, { as: 'viewer', headers });
    expect(json).toHaveLength(3);
    expect((await call('GET', `${LAMPS}?filterValue=2`, { as: 'viewer', headers })).json.code).toBe('INVALID');
    expect(json[1].room).toEqual({ floor: 1 });
    expect((await call('GET', `${LAMPS}?filterValue=2`, { as: 'viewer' })).json).toHaveLength(1);
    expect((await call('GET', `${LAMPS}/l1/dark`, { as: 'viewer', headers })).status).toBe(404);
  });
});

describe('complete lists', () => {
  test('are written page by page without gaps', async () => {
    const lamps = makeLamps(5_500);
    const { call } = await startLampServer({ lamps });
    const { json, headers } = await call('GET', `${LAMPS}?count=-1&offset=100`, { as: 'viewer' });
    expect(headers['transfer-encoding']).toBe('chunked');
    expect(headers['x-total-count']).toBe('5500');
    expect(json.map(({ id }: { id: string }) => id)).toEqual(lamps.slice(100).map(({ id }) => id));
    const some = await call('GET', `${LAMPS}?count=2500&offset=10`, { as: 'viewer' });
    expect(some.json.map(({ id }: { id: string }) => id)).toEqual(lamps.slice(10, 2_510).map(({ id }) => id));
    const small = await call('GET', `${LAMPS}?count=-1&filterValue=77`, { as: 'viewer' });
    expect(small.headers['content-length']).toBeDefined();
    expect(await call('HEAD', LAMPS, { as: 'viewer' })).toMatchObject({ status: 200, text: '' });
  });

  test('a failure in the middle closes the connection, so that no client takes a part for the whole', async () => {
    const lamps = makeLamps(3_000);
    lamps[2_500] = { id: 'l2500', name: 'trap', state: 'ON', room: { floor: 1, owner: null } };
    const { call, logged } = await startLampServer({ lamps });
    await expect(call('GET', LAMPS, { as: 'viewer' })).rejects.toThrow();
    expect(logged).toHaveLength(1);
    expect((await call('GET', `${LAMPS}?count=1`, { as: 'viewer' })).status).toBe(200);
  });

  test('end with an error when the permissions of the caller end while they are written', async () => {
    const lamps = makeLamps(3_000);
    let pages = 0;
    const { call, logged } = await startLampServer({
      lamps,
      // Called before each page.
      authorize: () => {
        if (pages === 2) throw new ServiceError('UNAUTHORIZED', 'The token was revoked');
        pages++;
      },
    });
    await expect(call('GET', LAMPS, { as: 'viewer' })).rejects.toThrow();
    expect(pages).toBe(2);
    expect(logged).toMatchObject([{ fields: { err: { code: 'UNAUTHORIZED' } } }]);
  });

  test('are not read ahead of a client that does not read', async () => {
    const lamps = makeLamps(100_000);
    let pages = 0;
    const { port } = await startLampServer({
      lamps,
      // Called before each page.
      authorize: () => {
        pages++;
      },
    });
    const socket = connect(port, '127.0.0.1').pause();
    socket.write(`GET ${LAMPS} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer viewer\r\n\r\n`);
    // Until the sockets' buffers are full.
    for (let before = -1; pages === 0 || pages !== before; ) {
      before = pages;
      await setTimeout(100);
    }
    expect(pages).toBeGreaterThan(0);
    expect(pages).toBeLessThan(100);
    socket.destroy();
  });
});

test('a request whose caller left while it waited is not executed, and nothing is logged', async () => {
  const traffic = new Traffic();
  const { handler, logged, lamps } = await startLampServer({ traffic });
  const add = (signal: AbortSignal) => {
    const headers = { authorization: 'Bearer admin', 'content-type': 'application/json' };
    return handler(
      new Request(`http://localhost${LAMPS}`, { method: 'POST', headers, signal, body: '{"name":"new"}' }),
      {},
    );
  };
  const stop = new AbortController();
  const occupied = traffic.starts.run({ viewer: null, address: '' }, () => undefined);
  const response = add(stop.signal);
  stop.abort();
  expect((await response).status).toBe(429);
  await occupied;
  expect([logged, lamps.length]).toEqual([[], 3]);
  expect((await add(new AbortController().signal)).status).toBe(200);
});

describe('complete lists without a socket', () => {
  const list = () => new Request(`http://localhost${LAMPS}`, { headers: { authorization: 'Bearer viewer' } });

  test('are read no further than their reader, who may cancel', async () => {
    let pages = 0;
    const { handler } = await startLampServer({
      lamps: makeLamps(10_000),
      authorize: () => {
        pages++;
      },
    });
    const response = await handler(list(), {});
    const reader = response.body?.getReader();
    expect(pages).toBe(1);
    expect((await reader?.read())?.done).toBe(false);
    expect((await reader?.read())?.done).toBe(false);
    const taken = pages;
    expect(taken).toBeLessThanOrEqual(4);
    await reader?.cancel();
    expect((await (await handler(list(), {})).json()).length).toBe(10_000);
    expect(pages).toBe(taken + 10);
  });

  test('reject their reader after a failure in the middle', async () => {
    const lamps = makeLamps(3_000);
    lamps[2_500] = { id: 'l2500', name: 'trap', state: 'ON', room: { floor: 1, owner: null } };
    const { handler, logged } = await startLampServer({ lamps });
    const response = await handler(list(), {});
    expect(response.status).toBe(200);
    await expect(response.text()).rejects.toThrow('Half of it is missing');
    expect(logged).toHaveLength(1);
  });
});

test('an invalid route is an Error with its path and the reason', () => {
  const prepare = (change: Partial<Route>) => {
    const list = lampRoutes.find(({ path, method }) => path.endsWith('/lamps') && method === 'GET');
    return () => routePreparer(lampSchema)({ ...list, ...change } as Route);
  };
  expect(prepare({})).not.toThrow();
  expect(prepare({ operation: '{ lamps { nodes { colour } } }' })).toThrow(/GET .*lamps cannot be served: .*colour/);
  expect(prepare({ operation: '{ lamps' })).toThrow(/cannot be served/);
  expect(prepare({ pick: 'lamps.items' })).toThrow(/"items"/);
  expect(prepare({ total: 'lamps.count' })).toThrow(/"count"/);
  expect(prepare({ omitNull: ['room.colour'] })).toThrow(/"colour"/);
  expect(prepare({ spell: { LampState: { ON: 'on' } } })).toThrow(/LampState.OFF/);
  expect(prepare({ spell: { Colour: {} } })).toThrow(/not an enum/);
  expect(prepare({ stream: { when: () => true, pageInfo: 'lamps.page', pageSize: 10 } })).toThrow(/"page"/);
});

test('any request gets a response with the error body and the right status, and the process survives', async () => {
  const { call, logged } = await startLampServer();
  const segment = fc.oneof(
    fc.constantFrom('api', 'projects', 'p1', 'lamps', 'l1', '', '.', '..', '%2e%2e', '%', '%ff', '%00'),
    fc.webSegment(),
  );
  const path = fc.oneof(
    fc.constantFrom(LAMPS, `${LAMPS}/l1`),
    fc.array(segment, { maxLength: 7 }).map((parts) => `/${parts.join('/')}`),
  );
  const visible = fc.string({
    unit: fc.integer({ min: 0x20, max: 0x7e }).map((code) => String.fromCharCode(code)),
    maxLength: 30,
  });
  const query = fc.oneof(
    fc.constant(''),
    fc.webQueryParameters().map((text) => `?${text}`),
    fc
      .dictionary(fc.constantFrom('count', 'offset', 'verbose', 'filterMode', 'token'), visible)
      .map((entries) => `?${new URLSearchParams(entries)}`),
  );
  const headers = fc.record(
    {
      accept: visible,
      'x-request-id': visible,
      'content-type': fc.oneof(fc.constant('application/json'), visible),
      authorization: fc.oneof(fc.constantFrom('Bearer admin', 'Bearer viewer'), visible),
    },
    { requiredKeys: [] },
  );
  const body = fc.option(fc.oneof(fc.json(), fc.string(), fc.constant('{"name":""}')), { nil: undefined });
  const request = fc.record({
    method: fc.constantFrom('GET', 'PUT', 'POST', 'DELETE', 'PATCH', 'OPTIONS'),
    path,
    query,
    headers,
    body,
  });
  await fc.assert(
    fc.asyncProperty(request, async (sent) => {
      const { status, json, headers } = await call(sent.method, sent.path + sent.query, sent);
      expect(status).not.toBe(500);
      expect(headers['x-request-id']).toBeTruthy();
      if (status >= 400) {
        expect(json).toMatchObject({ message: expect.any(String), code: expect.any(String), status });
        expect(Object.keys(json).every((key) => ['message', 'code', 'status', 'info'].includes(key))).toBe(true);
      }
      if (status === 401) expect(headers['www-authenticate']).toContain('Bearer');
      if (status === 405) expect(headers.allow).toContain('OPTIONS');
    }),
    { numRuns: runs(500) },
  );
  expect(logged).toEqual([]);
  expect((await call('GET', `${LAMPS}/l1`, { as: 'viewer' })).status).toBe(200);
});
