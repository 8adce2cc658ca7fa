/** The protocols of all transports, by the audits and clients of their specifications. */
import { serverAudits } from 'graphql-http';
import { createClient as createSseClient } from 'graphql-sse';
import { createClient } from 'graphql-ws';
import { describe, expect, onTestFinished, test } from 'vitest';
import WebSocket from 'ws';
import { createTicks } from './live/subscribers.ts';
import { startGraphqlServer, type TestServer } from './server.ts';

const authorization = 'Bearer ann';

test('the GraphQL over HTTP audits pass when Yoga serves JSON POST, without a socket', async () => {
  const { fetch } = await startGraphqlServer();
  const fetchFn = (url: string, init: RequestInit = {}) =>
    fetch(new Request(url, { ...init, headers: { ...init.headers, authorization } }));
  for (const audit of serverAudits({ url: 'http://localhost/graphql', fetchFn })) {
    expect([audit.id, audit.name, await audit.fn()]).toMatchObject([audit.id, audit.name, { status: 'ok' }]);
  }
});

interface Client {
  iterate(operation: { query: string; variables?: Record<string, unknown> }): AsyncIterableIterator<unknown>;
}

const CLIENTS: Record<string, (server: TestServer) => Client> = {
  'graphql-transport-ws': ({ url }) => {
    const client = createClient({
      url: url.replace('http', 'ws'),
      webSocketImpl: WebSocket,
      connectionParams: { authorization },
      retryAttempts: 0,
    });
    onTestFinished(() => void client.dispose());
    return client;
  },
  'the distinct connections mode of graphql-sse': ({ url }) => {
    const client = createSseClient({ url, headers: { authorization }, retryAttempts: 0 });
    onTestFinished(() => client.dispose());
    return client;
  },
  'graphql-sse without a socket': ({ fetch, url }) => {
    const fetchFn = (input: string, init: RequestInit) => fetch(new Request(input, init));
    const client = createSseClient({ url, headers: { authorization }, retryAttempts: 0, fetchFn });
    onTestFinished(() => client.dispose());
    return client;
  },
};

const all = async (results: AsyncIterable<unknown>): Promise<unknown[]> => {
  const list: unknown[] = [];
  for await (const result of results) list.push(result);
  return list;
};

/** Errors that refuse an operation are a result by SSE, and end the iterator of graphql-ws. */
const refusal = async (results: AsyncIterable<unknown>): Promise<unknown> =>
  all(results).then(
    ([result]) => (result as { readonly errors: unknown }).errors,
    (errors) => errors,
  );

describe.each(Object.keys(CLIENTS))('%s', (name) => {
  const start = async (parts: Parameters<typeof startGraphqlServer>[0] = {}) => {
    const server = await startGraphqlServer(parts);
    const open = CLIENTS[name];
    if (open === undefined) throw new Error('the table has all names');
    return { server, client: open(server) };
  };

  test('a query and a mutation have one result and end', async () => {
    const { client } = await start();
    const query = 'query ($name: String) { hello(name: $name) whoami }';
    expect(await all(client.iterate({ query, variables: { name: 'ü\n🏃' } }))).toEqual([
      { data: { hello: 'hello ü\n🏃', whoami: 'ann' } },
    ]);
    expect(await all(client.iterate({ query: 'mutation { add(n: 2) }' }))).toEqual([{ data: { add: 2 } }]);
  });

  test('errors of fields come with the data', async () => {
    const { client } = await start();
    expect(
      await all(client.iterate({ query: '{ hello broker(id: "brk_1") { fault(kind: SERVICE) } }' })),
    ).toMatchObject([
      { data: { hello: 'hello you', broker: { fault: null } }, errors: [{ path: ['broker', 'fault'] }] },
    ]);
  });

  test.each([
    ['{', 'INVALID'],
    ['{ nothing }', 'INVALID'],
    ['subscription { ticks { n } again: ticks { n } }', 'INVALID'],
    ['subscription { refused { n } }', 'NOT_ALLOWED'],
  ])('%s is refused with its code', async (query, code) => {
    const { client } = await start();
    expect(await refusal(client.iterate({ query }))).toMatchObject([{ extensions: { code } }]);
  });

  test('a subscription ends with its source', async () => {
    const { ticks, tick } = createTicks();
    const { client } = await start({ ticks });
    const seen: unknown[] = [];
    for await (const result of client.iterate({ query: 'subscription { ticks { n } }' })) {
      seen.push(result);
      if (seen.length < 3) tick();
      else ticks.close();
    }
    expect(seen).toEqual([0, 1, 2].map((n) => ({ data: { ticks: { n } } })));
  });

  test('two subscriptions run at the same time, and each ends alone', async () => {
    const { ticks, tick } = createTicks();
    const { client } = await start({ ticks });
    const [first, second] = [1, 2].map(() => client.iterate({ query: 'subscription { ticks { n } }' }));
    await Promise.all([first?.next(), second?.next()]);
    await first?.return?.();
    await expect.poll(() => ticks.subscriberCount).toBe(1);
    tick();
    expect((await second?.next())?.value).toEqual({ data: { ticks: { n: 1 } } });
    await second?.return?.();
    await expect.poll(() => ticks.subscriberCount).toBe(0);
  });
});

/** Rules of https://github.com/enisdenjo/graphql-ws/blob/master/PROTOCOL.md: what a client sends and receives. */
const INIT = { type: 'connection_init' };
const subscribe = (query: string, id = '1') => ({ id, type: 'subscribe', payload: { query } });
const LIVE = subscribe('subscription { ticks { n } }');
const FRAMES: readonly (readonly [rule: string, sent: readonly object[], received: readonly (object | number)[]])[] = [
  ['connection_init is acknowledged', [INIT], [{ type: 'connection_ack' }]],
  ['a second connection_init closes the socket with 4429', [INIT, INIT], [{ type: 'connection_ack' }, 4429]],
  ['subscribe before connection_ack closes the socket with 4401', [LIVE], [4401]],
  ['a ping is answered before connection_init', [{ type: 'ping' }], [{ type: 'pong' }]],
  ['a pong is ignored', [{ type: 'pong' }, INIT], [{ type: 'connection_ack' }]],
  ['an unknown type closes the socket with 4400', [INIT, { type: 'start' }], [{ type: 'connection_ack' }, 4400]],
  ['a message without type closes the socket with 4400', [{}], [4400]],
  [
    'subscribe without id closes the socket with 4400',
    [INIT, { type: 'subscribe', payload: { query: '{ hello }' } }],
    [{ type: 'connection_ack' }, 4400],
  ],
  [
    'an id in use closes the socket with 4409',
    [INIT, LIVE, LIVE],
    [{ type: 'connection_ack' }, { id: '1', type: 'next', payload: { data: { ticks: { n: 0 } } } }, 4409],
  ],
  [
    'a query has one result, then complete',
    [INIT, subscribe('{ hello }')],
    [
      { type: 'connection_ack' },
      { id: '1', type: 'next', payload: { data: { hello: 'hello you' } } },
      { id: '1', type: 'complete' },
    ],
  ],
  [
    'error is the last message of an operation, and leaves the socket open',
    [INIT, subscribe('{ nothing }'), { type: 'ping' }],
    [{ type: 'connection_ack' }, { id: '1', type: 'error' }, { type: 'pong' }],
  ],
  [
    'complete ends an operation, and its id can be used again',
    [INIT, LIVE, { id: '1', type: 'complete' }, subscribe('{ hello }')],
    [
      { type: 'connection_ack' },
      { id: '1', type: 'next', payload: { data: { ticks: { n: 0 } } } },
      { id: '1', type: 'next', payload: { data: { hello: 'hello you' } } },
      { id: '1', type: 'complete' },
    ],
  ],
  [
    'complete of an unknown id is ignored',
    [INIT, { id: '9', type: 'complete' }, { type: 'ping' }],
    [{ type: 'connection_ack' }, { type: 'pong' }],
  ],
];

test.each(FRAMES)('graphql-transport-ws: %s', async (_rule, sent, received) => {
  const server = await startGraphqlServer(createTicks());
  const socket = new WebSocket(server.url.replace('http', 'ws'), 'graphql-transport-ws');
  onTestFinished(() => socket.terminate());
  await new Promise((resolve) => socket.once('open', resolve));
  const seen: unknown[] = [];
  const left = [...sent];
  // The next message is sent after the response to the previous one, if that has a response.
  const send = (): void => {
    const message = left.shift();
    if (message !== undefined) socket.send(JSON.stringify(message));
    if (message !== undefined && 'type' in message && ['pong', 'complete'].includes(String(message.type))) send();
  };
  const done = new Promise<void>((resolve) => {
    const add = (one: unknown) => {
      seen.push(one);
      if (seen.length === received.length) resolve();
      else send();
    };
    socket.on('message', (data) => add(JSON.parse(String(data))));
    socket.once('close', add);
  });
  send();
  await done;
  expect(seen).toMatchObject(received);
  expect(server.logged).toEqual([]);
});

test('a WebSocket without the subprotocol is closed with 4406', async () => {
  const { url } = await startGraphqlServer();
  for (const protocol of ['graphql-ws', undefined]) {
    const socket = new WebSocket(url.replace('http', 'ws'), protocol);
    socket.on('error', () => undefined);
    expect([4406, 1006]).toContain(await new Promise((resolve) => socket.once('close', resolve)));
  }
});
