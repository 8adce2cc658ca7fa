import {
  GraphQLInt,
  GraphQLList,
  GraphQLNonNull,
  GraphQLObjectType,
  GraphQLScalarType,
  GraphQLSchema,
  GraphQLString,
} from 'graphql';
import { createClient } from 'graphql-ws';
import { describe, expect, onTestFinished, test } from 'vitest';
import WebSocket from 'ws';
import { isTooLarge } from '../../../src/gateway/graphql/response-limit.ts';
import { Broadcast } from '../../../src/gateway/live/broadcast.ts';
import { busyMs } from '../../support/busy-time.ts';
import { startTestService } from '../../support/service.ts';
import { isLong } from '../../support/suite.ts';
import { post, startGraphqlServer, type TestServer } from './server.ts';

const LIMIT = 16 * 1024 * 1024;
const MEGABYTE = 1024 * 1024;
/** Size of a response that is sent, where another case shows that the limit is no lower. */
const WITHIN_MIB = isLong ? 15 : 3;

/** A graph with any number of texts of 1 MiB. */
function graphOfTexts(): GraphQLSchema {
  const mib = { type: new GraphQLNonNull(GraphQLInt) };
  const anything = new GraphQLScalarType({ name: 'JSON' });
  const Item = new GraphQLObjectType({
    name: 'Item',
    fields: {
      text: { type: GraphQLString, resolve: (text) => text },
      json: { type: anything, resolve: (text) => ({ deep: [{ text }] }) },
    },
  });
  const items = {
    type: new GraphQLList(Item),
    args: { mib, character: { type: GraphQLString } },
    extensions: { complexity: 1 },
    resolve: (_root: unknown, args: { mib: number; character?: string }) =>
      Array.from({ length: args.mib }, () => (args.character ?? 'x').repeat(MEGABYTE)),
  };
  return new GraphQLSchema({
    query: new GraphQLObjectType({ name: 'Query', fields: { items } }),
    mutation: new GraphQLObjectType({ name: 'Mutation', fields: { change: items } }),
    subscription: new GraphQLObjectType({
      name: 'Subscription',
      fields: {
        items: {
          ...items,
          subscribe: () => new Broadcast(() => ({})).subscribe(),
        },
      },
    }),
  });
}

const tooLarge = {
  message: expect.stringContaining(`larger than ${LIMIT} bytes`),
  extensions: { code: 'TOO_LARGE', info: { limit: LIMIT } },
};

/** Runs twice: first graphql-js, then the compiled program with the JSON writer. */
async function twice(server: TestServer, query: string, check: (reply: { json: unknown; status: number }) => void) {
  for (let run = 0; run < 2; run++) check(await post(server, { query }));
}

describe('a response above 16 MiB is a typed error, and a smaller one is sent', () => {
  test.each([
    ['by many entries', '{ items(mib: 20) { text } }', '{ items(mib: 15) { text } }'],
    [
      'by aliases',
      `{ items(mib: 1) { ${'abcdefghijklmnopqrst'.replace(/./g, '$&: text ')} } }`,
      '{ items(mib: 1) { text } }',
    ],
    ['by values of JSON', '{ items(mib: 20) { json } }', `{ items(mib: ${WITHIN_MIB}) { json } }`],
    [
      'by escapes',
      '{ items(mib: 3, character: "\\u0007") { text } }',
      '{ items(mib: 2, character: "\\u0007") { text } }',
    ],
    ['by bytes of UTF-8', '{ items(mib: 6, character: "€") { text } }', '{ items(mib: 5, character: "€") { text } }'],
  ])('%s', async (_name, beyond, within) => {
    const server = await startGraphqlServer({ schema: graphOfTexts() });
    await twice(server, beyond, ({ status, json }) => {
      expect(status).toBe(413);
      expect(json).toEqual({ errors: [tooLarge] });
    });
    await twice(server, within, ({ status, json }) => {
      expect(status).toBe(200);
      expect(json).not.toHaveProperty('errors');
    });
  });

  test('for a mutation, with the note that it was carried out', async () => {
    const server = await startGraphqlServer({ schema: graphOfTexts() });
    await twice(server, 'mutation { change(mib: 20) { text } }', ({ json }) =>
      expect(json).toMatchObject({
        errors: [{ ...tooLarge, message: expect.stringContaining('mutation has been carried out') }],
      }),
    );
  });

  test('by GET and as an event stream', async () => {
    const server = await startGraphqlServer({ schema: graphOfTexts() });
    const ask = async (accept: string, mib: number) => {
      const url = `${server.url}?query=${encodeURIComponent(`{ items(mib: ${mib}) { text } }`)}`;
      return (await fetch(url, { headers: { accept } })).text();
    };
    for (const accept of ['application/json', 'text/event-stream']) {
      expect(await ask(accept, 40)).toContain('"code":"TOO_LARGE"');
      expect((await ask(accept, WITHIN_MIB)).length).toBeGreaterThan(WITHIN_MIB * MEGABYTE);
    }
  });

  test('for queries and events over WebSocket', async () => {
    const server = await startGraphqlServer({ schema: graphOfTexts() });
    const client = createClient({ url: server.url.replace('http', 'ws'), webSocketImpl: WebSocket, retryAttempts: 0 });
    onTestFinished(() => client.dispose());
    const first = async (query: string): Promise<unknown> => {
      for await (const result of client.iterate({ query })) return result;
      return null;
    };
    await expect(first('{ items(mib: 20) { text } }')).rejects.toMatchObject([tooLarge]);
    expect(await first('{ items(mib: 3) { text } }')).not.toHaveProperty('errors');
    expect(await first('subscription { items(mib: 20) { text } }')).toMatchObject({ errors: [tooLarge] });
    expect(await first('subscription { items(mib: 3) { text } }')).not.toHaveProperty('errors');
  });
});

test('one preview under many aliases does not exceed the limit', async () => {
  const service = await startTestService();
  const { token } = await service.person('VIEWER');
  const aliases = Array.from({ length: 12 }, (_, index) => `p${index}: payload o${index}: output`).join(' ');
  const document = `query ($q: JSON!, $s: [JSON!]!) { previewStream(query: $q, samples: $s) { results { ${aliases} } } }`;
  const select = Array.from({ length: 3 }, (_, index) => ({ source: '[a]', target: `[${index}]` }));
  for (let run = 0; run < 2; run++) {
    const before = busyMs();
    const { errors } = await service.graphql(document, { q: { select }, s: [{ a: 'x'.repeat(250_000) }] }, token);
    expect(errors).toMatchObject([tooLarge]);
    expect(busyMs() - before).toBeLessThan(3_000);
  }
});

test('the size of a result is a lower bound of its text', () => {
  const size = (value: unknown) => Buffer.byteLength(JSON.stringify(value));
  // Each entry takes 64 bytes, with quotes and a comma.
  const entries = Array(LIMIT / 64 - 1).fill('x'.repeat(61));
  for (const value of ['x'.repeat(LIMIT - 2), entries, { k: ['€'.repeat(5_000_000)] }]) {
    expect([isTooLarge(value), size(value) > LIMIT]).toEqual([false, false]);
    expect(isTooLarge([value, 'x'.repeat(5_000_000)])).toBe(true);
  }
});
