import { connect } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createClient as createSseClient } from 'graphql-sse';
import { createClient } from 'graphql-ws';
import { expect, onTestFinished, test } from 'vitest';
import { WebSocket } from 'ws';
import type { RequestContext } from '../../../src/gateway/context.ts';
import type { Tick } from './graph.ts';
import { createTicks, subscriber } from './live/subscribers.ts';
import { get, post, startGraphqlServer, type TestServer } from './server.ts';

const TICKS = 'subscription { ticks { n } }';

function webSocketClient(
  { port }: TestServer,
  connectionParams?: Record<string, unknown>,
  headers: Record<string, string> = {},
) {
  let resolveClosed: (event: { code: number; reason: string }) => void = () => {};
  const closed = new Promise<{ code: number; reason: string }>((resolve) => {
    resolveClosed = resolve;
  });
  class Socket extends WebSocket {
    constructor(url: string, protocols: string | string[]) {
      super(url, protocols, { headers });
    }
  }
  const client = createClient({
    url: `ws://127.0.0.1:${port}/graphql`,
    webSocketImpl: Socket,
    retryAttempts: 0,
    ...(connectionParams && { connectionParams }),
    on: {
      closed: (event) => resolveClosed(event as { code: number; reason: string }),
    },
  });
  onTestFinished(() => client.dispose());
  return { client, closed };
}

const until = async (holds: () => boolean) => {
  while (!holds()) await new Promise(setImmediate);
};

test('a subscription over WebSocket returns the current state, then every change', async () => {
  const { ticks, tick } = createTicks();
  const server = await startGraphqlServer({ ticks });
  const { client } = webSocketClient(server);
  const seen: unknown[] = [];
  for await (const { data } of client.iterate<{ ticks: Tick }>({
    query: TICKS,
  })) {
    seen.push(data?.ticks.n);
    if (seen.length === 3) break;
    tick();
  }
  expect(seen).toEqual([0, 1, 2]);
  await until(() => ticks.subscriberCount === 0);
});

test('queries and mutations work over WebSocket, with the errors of the other transports', async () => {
  const server = await startGraphqlServer();
  const { client } = webSocketClient(server, { authorization: 'Bearer ann' });
  const one = async (query: string) => (await client.iterate({ query }).next()).value;
  expect(await one('{ whoami }')).toEqual({ data: { whoami: 'ann' } });
  expect(await one('{ broker(id: "brk_1") { fault(kind: BUG) } }')).toMatchObject({
    data: { broker: { fault: null } },
    errors: [{ message: 'Internal error', extensions: { code: 'INTERNAL_ERROR' } }],
  });
  await expect(one('{ nothing }')).rejects.toMatchObject([{ extensions: { code: 'INVALID' } }]);
  await expect(one('subscription { refused { n } }')).rejects.toMatchObject([{ extensions: { code: 'NOT_ALLOWED' } }]);
});

test.each([
  [{ authorization: 'Bearer ann' }, {}],
  [{ Authorization: 'Bearer ann' }, {}],
  [{ token: 'ann' }, {}],
  [undefined, { authorization: 'Bearer ann' }],
])('credentials come with connection_init %o or the upgrade %o', async (params, headers) => {
  const server = await startGraphqlServer();
  const { client } = webSocketClient(server, params, headers as Record<string, string>);
  expect((await client.iterate({ query: '{ whoami }' }).next()).value).toEqual({ data: { whoami: 'ann' } });
});

test('unknown credentials close the WebSocket with 4403', async () => {
  const server = await startGraphqlServer();
  const { client, closed } = webSocketClient(server, { token: 'bad' });
  await expect(client.iterate({ query: TICKS }).next()).rejects.toMatchObject({
    code: 4403,
  });
  expect(await closed).toMatchObject({ code: 4403 });
});

test('credentials that expire between two operations close the WebSocket with 4403', async () => {
  const server = await startGraphqlServer();
  const { client, closed } = webSocketClient(server, { token: 'ann' });
  const running = client.iterate({ query: TICKS });
  await running.next();
  server.revoked.add('ann');
  await expect(client.iterate({ query: '{ whoami }' }).next()).rejects.toMatchObject([
    { extensions: { code: 'UNAUTHORIZED' } },
  ]);
  expect(await closed).toMatchObject({ code: 4403 });
});

test.each(['NOT_ALLOWED', 'UNAUTHORIZED'])(
  'a subscription that ends with %s reports it and closes the WebSocket with 4403',
  async (code) => {
    const server = await startGraphqlServer();
    const { client, closed } = webSocketClient(server);
    const events = client.iterate<{ until: Tick }>({
      query: `subscription { until(n: 1, code: "${code}") { n } }`,
    });
    expect((await events.next()).value).toEqual({ data: { until: { n: 1 } } });
    expect((await events.next()).value).toMatchObject({
      errors: [{ message: 'Rights ended', extensions: { code } }],
    });
    expect(await closed).toMatchObject({ code: 4403 });
  },
);

test.each(['@skip(if: true)', '@include(if: false)'])(
  'a subscription whose field is excluded by %s is refused, and is not a bug',
  async (left) => {
    const server = await startGraphqlServer(createTicks());
    const { client } = webSocketClient(server);
    const events = client.iterate({ query: `subscription { ticks ${left} { n } }` });
    await expect(events.next()).rejects.toMatchObject([{ extensions: { code: 'INVALID' } }]);
    expect(server.logged).toEqual([]);
  },
);

test('a subscription that fails for another reason leaves the WebSocket open', async () => {
  const server = await startGraphqlServer();
  const { client } = webSocketClient(server);
  const events = client.iterate({
    query: 'subscription { until(n: 0, code: "BROKER_UNREACHABLE") { n } }',
  });
  expect((await events.next()).value).toMatchObject({
    errors: [{ extensions: { code: 'BROKER_UNREACHABLE' } }],
  });
  expect((await client.iterate({ query: '{ hello }' }).next()).value).toEqual({
    data: { hello: 'hello you' },
  });
});

test('a client that disconnects ends its subscriptions', async () => {
  const { ticks } = createTicks();
  const server = await startGraphqlServer({ ticks });
  const { client } = webSocketClient(server);
  await client.iterate({ query: TICKS }).next();
  const aborted = new AbortController();
  const response = await fetch(server.url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'text/event-stream',
    },
    body: JSON.stringify({ query: TICKS }),
    signal: aborted.signal,
  });
  const reader = response.body?.getReader();
  await reader?.read();
  await until(() => ticks.subscriberCount === 2);
  client.terminate();
  await until(() => ticks.subscriberCount === 1);
  aborted.abort();
  await until(() => ticks.subscriberCount === 0);
});

/** Sends frames of the test and collects all received messages. */
async function rawSocket({ port }: TestServer) {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/graphql`, 'graphql-transport-ws');
  onTestFinished(() => socket.terminate());
  const closed = new Promise<[number, string]>((resolve) => {
    socket.once('close', (code, reason) => resolve([code, String(reason)]));
  });
  // biome-ignore lint/suspicious/noExplicitAny: tests read results of any shape.
  const seen: any[] = [];
  socket.on('message', (data) => seen.push(JSON.parse(String(data))));
  await new Promise((resolve) => socket.once('open', resolve));
  socket.send(JSON.stringify({ type: 'connection_init' }));
  await until(() => seen.shift()?.type === 'connection_ack');
  const subscribeAs = (id: string, query = TICKS) =>
    socket.send(JSON.stringify({ id, type: 'subscribe', payload: { query } }));
  const complete = (id: string) => socket.send(JSON.stringify({ id, type: 'complete' }));
  return { socket, seen, closed, subscribeAs, complete };
}

test('an id that is completed while its operation starts, and reused, belongs to the newest operation', async () => {
  const { ticks, tick } = createTicks();
  const contextFor = async (): Promise<RequestContext> => {
    // Longer than the messages below take to arrive.
    for (let turns = 0; turns < 50; turns++) await nextTurn();
    return { viewer: null, requestId: '', address: '' } as RequestContext;
  };
  const server = await startGraphqlServer({ ticks, contextFor });
  const { seen, subscribeAs, complete, socket } = await rawSocket(server);
  for (const earlier of [TICKS, '{ hello }', '{ nothing }']) {
    subscribeAs('1', earlier);
    complete('1');
  }
  subscribeAs('1');
  await until(() => seen.length > 0);
  tick();
  await until(() => seen.length > 1);
  expect(seen.map(({ type, payload }) => [type, payload.data.ticks.n])).toEqual([
    ['next', 0],
    ['next', 1],
  ]);
  expect(ticks.subscriberCount).toBe(1);
  complete('1');
  await until(() => ticks.subscriberCount === 0);

  for (let i = 0; i < 20; i++) {
    subscribeAs('2');
    complete('2');
  }
  subscribeAs('2');
  await until(() => ticks.subscriberCount > 0);
  socket.terminate();
  await until(() => ticks.subscriberCount === 0);
});

test('a client whose connection fails by a fault of the service connects again by itself', async () => {
  let failures = 2;
  const contextFor = (): RequestContext => {
    if (failures === 0) return { viewer: null, requestId: '', address: '' } as RequestContext;
    failures -= 1;
    throw new Error('The database is closed');
  };
  const server = await startGraphqlServer({ contextFor });
  const closings: number[] = [];
  const client = createClient({
    url: server.url.replace('http', 'ws'),
    webSocketImpl: WebSocket,
    retryAttempts: 5,
    retryWait: () => nextTurn(),
    on: { closed: (event) => closings.push((event as CloseEvent).code) },
  });
  onTestFinished(() => client.dispose());
  const { value } = await client.iterate({ query: '{ hello }' }).next();
  expect([value?.errors, closings]).toEqual([undefined, [1013, 1013]]);
  expect(server.logged).toHaveLength(2);
});

test('an operation id above the limit is refused', async () => {
  const server = await startGraphqlServer(createTicks());
  const { seen, subscribeAs, closed } = await rawSocket(server);
  const long = 'i'.repeat(1_000);
  subscribeAs(long);
  await until(() => seen[0]?.id === long);
  subscribeAs(long);
  expect(await closed).toEqual([4409, expect.stringMatching(/^Subscriber for i{108}$/)]);
  const other = await rawSocket(server);
  other.subscribeAs(`${long}i`);
  expect(await other.closed).toEqual([4400, 'The id of an operation is too long']);
  expect(server.logged).toEqual([]);
});

test('connection_init has a maximum size, because its payload is stored', async () => {
  const server = await startGraphqlServer();
  const init = async (length: number) => {
    const socket = new WebSocket(`ws://127.0.0.1:${server.port}/graphql`, 'graphql-transport-ws');
    onTestFinished(() => socket.terminate());
    await new Promise((resolve) => socket.once('open', resolve));
    const answer = new Promise((resolve) => {
      socket.once('message', (data) => resolve(JSON.parse(String(data)).type));
      socket.once('close', resolve);
    });
    socket.send(JSON.stringify({ type: 'connection_init', payload: { token: 'ann', more: 'x'.repeat(length) } }));
    return answer;
  };
  expect([await init(16_000), await init(17_000)]).toEqual(['connection_ack', 4400]);
});

test('pongs without a matching ping do not keep a WebSocket open', async () => {
  const server = await startGraphqlServer({ keepAliveMs: 20 });
  const socket = new WebSocket(`ws://127.0.0.1:${server.port}/graphql`, 'graphql-transport-ws', { autoPong: false });
  await new Promise((resolve) => socket.once('open', resolve));
  socket.on('ping', () => socket.pong('unasked'));
  expect(await new Promise((resolve) => socket.once('close', resolve))).toBe(1006);
});

test('a WebSocket whose client does not read pauses its subscription', async () => {
  const server = await startGraphqlServer();
  let made = 0;
  server.onFlood = (n) => {
    made = n;
  };
  const socket = new WebSocket(`ws://127.0.0.1:${server.port}/graphql`, 'graphql-transport-ws');
  onTestFinished(() => socket.terminate());
  await new Promise((resolve) => socket.once('open', resolve));
  socket.send(JSON.stringify({ type: 'connection_init' }));
  await new Promise((resolve) => socket.once('message', resolve));
  socket.pause();
  socket.send(
    JSON.stringify({
      id: '1',
      type: 'subscribe',
      payload: { query: 'subscription { flood { n padding } }' },
    }),
  );
  await until(() => made > 10);
  // The kernel's buffers are full when nothing changes over many event loop iterations.
  for (let still = 0, last = -1; still < 2_000; still = made === last ? still + 1 : 0) {
    last = made;
    await new Promise(setImmediate);
  }
  expect(made * 10_000).toBeLessThan(50_000_000);
});

test('a connection runs a bounded number of operations', async () => {
  const server = await startGraphqlServer();
  const { client } = webSocketClient(server);
  await Promise.all(Array.from({ length: 100 }, () => client.iterate({ query: TICKS }).next()));
  await expect(client.iterate({ query: TICKS }).next()).rejects.toMatchObject([
    { extensions: { code: 'RATE_LIMITED', info: { limit: 100, actual: 101 } } },
  ]);
});

test.each([
  ['a message that is too large', 'x'.repeat(2_000), 1009],
  ['a message that is not JSON', '{', 4400],
  ['a payload that is not a GraphQL request', '{"id":"1","type":"subscribe","payload":{"query":1}}', 4400],
  ['a subscribe before connection_init', '{"id":"1","type":"subscribe","payload":{"query":"{ hello }"}}', 4401],
])('%s closes the WebSocket with its code', async (_name, message, code) => {
  const server = await startGraphqlServer({ maxBodyBytes: 1_000 });
  const socket = new WebSocket(`ws://127.0.0.1:${server.port}/graphql`, 'graphql-transport-ws');
  await new Promise((resolve) => socket.once('open', resolve));
  socket.send(message);
  expect(await new Promise((resolve) => socket.once('close', resolve))).toBe(code);
  expect(server.logged).toEqual([]);
});

test('another site cannot open a WebSocket', async () => {
  const server = await startGraphqlServer({
    corsOrigins: ['https://app.example'],
  });
  const open = (origin: string) =>
    new Promise((resolve) => {
      const socket = new WebSocket(`ws://127.0.0.1:${server.port}/graphql`, 'graphql-transport-ws', { origin });
      socket.once('open', () => {
        socket.terminate();
        resolve('open');
      });
      socket.once('unexpected-response', (_req, res) => resolve(res.statusCode));
    });
  expect(await open('https://evil.example')).toBe(403);
  expect(await open('https://app.example')).toBe('open');
  expect(await open(`http://127.0.0.1:${server.port}`)).toBe('open');
});

test('a WebSocket without pongs is terminated', async () => {
  const { ticks } = createTicks();
  const server = await startGraphqlServer({ ticks, keepAliveMs: 20 });
  const socket = new WebSocket(`ws://127.0.0.1:${server.port}/graphql`, 'graphql-transport-ws', { autoPong: false });
  await new Promise((resolve) => socket.once('open', resolve));
  expect(await new Promise((resolve) => socket.once('close', resolve))).toBe(1006);
});

test('a subscription over SSE returns the current state and changes, with keep-alive comments', async () => {
  const { ticks, tick } = createTicks();
  const server = await startGraphqlServer({ ticks });
  const client = createSseClient({ url: server.url, retryAttempts: 0 });
  const seen: unknown[] = [];
  for await (const { data } of client.iterate<{ ticks: Tick }>({
    query: TICKS,
  })) {
    seen.push(data?.ticks.n);
    if (seen.length === 3) break;
    tick();
  }
  expect(seen).toEqual([0, 1, 2]);
  await until(() => ticks.subscriberCount === 0);
});

test('SSE ends with an event that contains the reason when permissions end', async () => {
  const server = await startGraphqlServer();
  const { status, headers, text } = await post(
    server,
    { query: 'subscription { until(n: 1, code: "NOT_ALLOWED") { n } }' },
    { accept: 'text/event-stream' },
  );
  expect([status, headers['content-type']]).toEqual([200, 'text/event-stream']);
  const events = text.split('\n\n').filter((event) => event && event !== ':');
  expect(text.startsWith(':\n\n')).toBe(true);
  expect(events).toEqual([
    'event: next\ndata: {"data":{"until":{"n":1}}}',
    'event: next\ndata: {"errors":[{"message":"Rights ended","extensions":{"code":"NOT_ALLOWED"}}]}',
    'event: complete\ndata:',
  ]);
});

test('SSE reports a refused subscription by an event', async () => {
  const server = await startGraphqlServer();
  const { text } = await post(server, { query: 'subscription { refused { n } }' }, { accept: 'text/event-stream' });
  expect(text).toContain('"code":"NOT_ALLOWED"');
  expect(text).toContain('event: complete');
});

test('SSE has keep-alive comments, is not buffered by proxies, and works with HTTP/1.0', async () => {
  const { ticks, tick } = createTicks();
  const { port } = await startGraphqlServer({ ticks, keepAliveMs: 20 });
  // The default protocol of nginx towards upstream servers.
  const path = `/graphql?${new URLSearchParams({ query: TICKS, variables: '{}' })}`;
  const socket = connect(port, '127.0.0.1', () =>
    socket.write(`GET ${path} HTTP/1.0\r\nHost: localhost\r\nConnection: close\r\nAccept: text/event-stream\r\n\r\n`),
  );
  onTestFinished(() => {
    socket.destroy();
  });
  let text = '';
  socket.on('data', (chunk) => {
    text += chunk;
  });
  await until(() => text.split('\n\n:\n\n').length > 2);
  tick();
  await until(() => text.includes('{"n":1}'));
  const [head = '', body = ''] = [text.slice(0, text.indexOf('\r\n\r\n')), text.slice(text.indexOf('\r\n\r\n') + 4)];
  expect(head).toMatch(/^HTTP\/1.1 200 /);
  expect(head).toMatch(/^content-type: text\/event-stream\r$/im);
  expect(head).toMatch(/^cache-control: no-cache\r$/im);
  expect(head).toMatch(/^x-accel-buffering: no\r$/im);
  expect(head).not.toMatch(/transfer-encoding/i);
  expect(body.replaceAll(':\n\n', '')).toBe(
    'event: next\ndata: {"data":{"ticks":{"n":0}}}\n\nevent: next\ndata: {"data":{"ticks":{"n":1}}}\n\n',
  );
  const closed = new Promise((resolve) => socket.once('close', resolve));
  ticks.close();
  await closed;
  expect(text.endsWith('event: complete\ndata:\n\n')).toBe(true);
});

test('queries and mutations over SSE are one event, and GET refuses mutations', async () => {
  const server = await startGraphqlServer();
  const accept = { accept: 'text/event-stream' };
  const one = (data: string) => `event: next\ndata: ${data}\n\nevent: complete\ndata:\n\n`;
  expect((await post(server, { query: '{ hello }' }, accept)).text).toBe(one('{"data":{"hello":"hello you"}}'));
  expect((await post(server, { query: 'mutation { add(n: 2) }' }, accept)).text).toBe(one('{"data":{"add":2}}'));
  const variables = '{"name":"ann"}';
  const asked = await get(server, { query: 'query ($name: String) { hello(name: $name) }', variables }, accept);
  expect([asked.status, asked.text]).toEqual([200, one('{"data":{"hello":"hello ann"}}')]);
  const refused = await get(server, { query: 'mutation { add(n: 2) }' }, accept);
  expect([refused.status, /"code":"(\w+)"/.exec(refused.text)?.[1]]).toEqual([405, 'METHOD_NOT_ALLOWED']);
  const broken = await get(server, { query: '{ hello }', variables: '{' }, accept);
  expect([broken.status, /"code":"(\w+)"/.exec(broken.text)?.[1]]).toEqual([400, 'INVALID']);
  expect((await post(server, '{', accept)).status).toBe(400);
});

const JSON_TYPE = 'application/json; charset=utf-8';
const RESPONSE_TYPE = 'application/graphql-response+json; charset=utf-8';
const EVENTS = 'text/event-stream';

test.each([
  ['application/json, text/event-stream', JSON_TYPE, EVENTS],
  ['text/event-stream, application/json', JSON_TYPE, EVENTS],
  ['application/json, TEXT/Event-Stream;q=0.1', JSON_TYPE, EVENTS],
  ['application/json;q=0.9, text/event-stream', EVENTS, EVENTS],
  ['TEXT/EVENT-STREAM', EVENTS, EVENTS],
  ['text/event-stream;q=0.2, */*;q=0.1', EVENTS, EVENTS],
  ['text/event-stream;q=0, application/json', JSON_TYPE, JSON_TYPE],
  ['text/event-stream;q=0, */*', JSON_TYPE, JSON_TYPE],
  ['text/event-stream;q=x, application/json', JSON_TYPE, JSON_TYPE],
  ['application/json;q=0, application/*', RESPONSE_TYPE, RESPONSE_TYPE],
  ['application/*;q=0.5, application/graphql-response+json;q=0.4', JSON_TYPE, JSON_TYPE],
  // urql
  [
    'application/graphql-response+json, application/graphql+json, application/json, text/event-stream, multipart/mixed',
    RESPONSE_TYPE,
    EVENTS,
  ],
])('Accept "%s" gets queries as %s and subscriptions as %s', async (accept, ofQueries, ofSubscriptions) => {
  const server = await startGraphqlServer();
  for (const reply of [
    await post(server, { query: '{ hello }' }, { accept }),
    await get(server, { query: '{ hello }' }, { accept }),
  ]) {
    expect([reply.status, reply.headers['content-type']]).toEqual([200, ofQueries]);
  }
  const refused = await post(server, { query: 'subscription { refused { n } }' }, { accept });
  const isJson = ofQueries !== EVENTS;
  expect(refused.headers['content-type']).toBe(isJson ? ofQueries : EVENTS);
  const { port } = server;
  const query = JSON.stringify({ query: TICKS });
  const head = `POST /graphql HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: ${accept}\r\n`;
  const socket = connect(port, '127.0.0.1').setEncoding('latin1');
  onTestFinished(() => void socket.destroy());
  socket.write(`${head}Content-Length: ${query.length}\r\n\r\n${query}`);
  let text = '';
  for await (const piece of socket) {
    text += piece;
    if (text.includes('\r\n\r\n')) break;
  }
  expect(/^content-type: (.*)\r$/im.exec(text)?.[1]).toBe(ofSubscriptions);
});

test('an SSE stream whose client does not read is closed', async () => {
  const { ticks, tick } = createTicks();
  const { port } = await startGraphqlServer({ ticks, keepAliveMs: 20 });
  const stalled = await subscriber('SSE', port, 'subscription { counter { n padding } }');
  stalled.pause();
  await until(() => {
    tick();
    return ticks.subscriberCount === 0;
  });
});
