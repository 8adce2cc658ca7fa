import { connect } from 'node:net';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { busyMs } from '../../support/busy-time.ts';
import { runs } from '../../support/suite.ts';
import { post, type Reply, startGraphqlServer } from './server.ts';

const accept = 'application/graphql-response+json';
const codeOf = ({ status, json }: Reply) => [status, json.errors?.[0]?.extensions?.code];

const nested = (depth: number) => `{ broker(id: "brk_1") ${'{ parent '.repeat(depth)}{ id }${' }'.repeat(depth)} }`;
const aliases = Array.from({ length: 40 }, (_, i) => `a${i}: hello`).join(' ');
const fragments = Array.from(
  { length: 12 },
  (_, i) =>
    `fragment F${i} on Broker { a: parent { ...F${i + 1} } b: parent { ...F${i + 1} } c: parent { ...F${i + 1} } }`,
).join(' ');

test.each([
  ['deep nesting', nested(200), 'TOO_COMPLEX'],
  [
    'depth through fragments',
    `{ broker(id: 1) { ...F0 } } ${fragments} fragment F12 on Broker { ${'parent { '.repeat(8)} id ${'}'.repeat(8)} }`,
    'TOO_COMPLEX',
  ],
  ['aliases', `{ ${aliases} }`, 'TOO_COMPLEX'],
  [
    'aliases in fragments',
    `{ ${Array.from({ length: 40 }, (_, i) => `... { a${i}: hello }`).join(' ')} }`,
    'TOO_COMPLEX',
  ],
  [
    'a fragment cycle',
    '{ broker(id: 1) { ...A } } fragment A on Broker { parent { ...B } } fragment B on Broker { ...A }',
    'INVALID',
  ],
  ['a fragment of itself', '{ broker(id: 1) { ...A } } fragment A on Broker { ...A }', 'INVALID'],
  ['many tokens', `{ ${'hello '.repeat(5_000)} }`, 'INVALID'],
  ['many directives', `{ hello ${'@skip(if: false) '.repeat(200)} }`, 'TOO_COMPLEX'],
  [
    'introspection that goes round',
    '{ __schema { types { fields { type { fields { type { fields { type { fields { name } } } } } } } } } }',
    'INVALID',
  ],
  ['lists in lists', '{ brokers { brokers { brokers { brokers { brokers { id } } } } } }', 'TOO_COMPLEX'],
  ['doubling fragments', `{ broker(id: 1) { ...F0 } } ${fragments} fragment F12 on Broker { id }`, 'TOO_COMPLEX'],
  ['a size as a variable', 'query { brokers(first: 100000) { id } }', 'TOO_COMPLEX'],
])('%s is refused with its code', async (_name, query, code) => {
  const server = await startGraphqlServer({ introspection: 'always' });
  const started = busyMs();
  const reply = await post(server, { query }, { accept });
  expect(codeOf(reply)).toEqual([400, code]);
  expect(busyMs() - started).toBeLessThan(500);
  expect(codeOf(await post(server, { query: '{ hello }' }))).toEqual([200, undefined]);
});

test('a refusal contains the limit and the actual number', async () => {
  const server = await startGraphqlServer();
  const { json } = await post(server, {
    query: '{ brokers(first: 100000) { id name } }',
  });
  expect(json.errors[0].extensions.info).toEqual({
    limit: 50_000,
    actual: 200_001,
  });
});

test('the worst document within the limits is validated in well under a second', async () => {
  const server = await startGraphqlServer();
  const worst = `{ ${'brokers{id name} '.repeat(28)} broker(id: 1) { ${'id name url '.repeat(300)} } }`;
  const started = busyMs();
  await post(server, { query: worst });
  expect(busyMs() - started).toBeLessThan(1_000);
});

test.each<[string, string | Buffer, number]>([
  ['no JSON', '{"query"', 400],
  ['nothing', '', 400],
  ['a number', '5', 400],
  ['null', 'null', 400],
  ['a batch', '[{"query":"{ hello }"}]', 400],
  ['no query', '{}', 400],
  ['a query that is a number', '{"query":1}', 400],
  ['variables that are a string', '{"query":"{ hello }","variables":"{}"}', 400],
  ['variables that are an array', '{"query":"{ hello }","variables":[]}', 400],
  ['an operation name that is a number', '{"query":"{ hello }","operationName":1}', 400],
  ['broken UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x7d]), 400],
  ['deep JSON', `{"query":"{ hello }","variables":${'['.repeat(50_000)}${']'.repeat(50_000)}}`, 400],
  ['too much', `{"query":"${'x'.repeat(10_000_000)}"}`, 413],
  ['a key twice: the last one counts', '{"query":1,"query":"{ hello }"}', 200],
  [
    'keys of prototypes',
    '{"query":"{ hello }","__proto__":{"query":1},"constructor":1,"variables":{"__proto__":{"a":1}}}',
    200,
  ],
  ['a huge number', '{"query":"query ($n: Int) { brokers(first: $n) { id } }","variables":{"n":1e999}}', 400],
])('a body with %s', async (_name, body, status) => {
  const server = await startGraphqlServer();
  const reply = await post(server, body, { accept, authorization: 'Bearer ann' });
  expect(reply.status).toBe(status);
  if (status !== 200) expect(reply.json.errors[0].extensions.code).toBe(status === 413 ? 'TOO_LARGE' : 'INVALID');
  expect(server.logged).toEqual([]);
  expect(codeOf(await post(server, { query: '{ hello }' }))).toEqual([200, undefined]);
});

test('a body without a length is refused at the limit', async () => {
  const server = await startGraphqlServer({ maxBodyBytes: 1_000 });
  const socket = connect(server.port, '127.0.0.1');
  socket.write(
    'POST /graphql HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n',
  );
  for (let i = 0; i < 20; i++) socket.write(`64\r\n${'x'.repeat(100)}\r\n`);
  const answer = await new Promise<string>((resolve) => socket.once('data', (data) => resolve(String(data))));
  expect(answer).toContain('413');
  socket.destroy();
});

test('a caller that disconnects in the middle of a body costs nothing', async () => {
  const server = await startGraphqlServer();
  for (let i = 0; i < 5; i++) {
    const socket = connect(server.port, '127.0.0.1');
    socket.write(
      'POST /graphql HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"query"',
    );
    await new Promise((resolve) => socket.once('connect', resolve));
    socket.destroy();
  }
  expect(codeOf(await post(server, { query: '{ hello }' }))).toEqual([200, undefined]);
  expect(server.logged).toEqual([]);
});

test('any variables and any text get a response, and nothing is logged as a bug', async () => {
  const server = await startGraphqlServer();
  const query =
    'query ($f: Filter, $n: Int, $i: [ID!], $j: JSON, $d: DateTime) { echo(filter: $f, ids: $i, json: $j, since: $d) brokers(first: $n) { id } }';
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(
        fc.record({
          query: fc.constant(query),
          variables: fc.dictionary(fc.constantFrom('f', 'n', 'i', 'j', 'd', '__proto__'), fc.jsonValue()),
        }),
        fc.jsonValue(),
        fc.record({ query: fc.string() }),
      ),
      async (body) => {
        const reply = await post(server, JSON.stringify(body) ?? '');
        expect([200, 400, 429]).toContain(reply.status);
      },
    ),
    { numRuns: runs(300) },
  );
  expect(server.logged).toEqual([]);
});
