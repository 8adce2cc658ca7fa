import { createClient } from 'graphql-sse';
import { expect, test } from 'vitest';
import { post, startGraphqlServer } from '../server.ts';

test('the client of graphql-sse gets the reason of a refused subscription immediately', async () => {
  const { url } = await startGraphqlServer();
  const client = createClient({ url });
  const seen: unknown[] = [];
  for await (const result of client.iterate({ query: 'subscription { refused { n } }' })) seen.push(result);
  expect(seen).toMatchObject([{ errors: [{ extensions: { code: 'NOT_ALLOWED' } }] }]);
});

test('a refused subscription is one event with 200; an invalid request keeps its status', async () => {
  const server = await startGraphqlServer();
  const accept = { accept: 'text/event-stream' };
  const query = 'subscription { refused { n } }';
  const refused = await post(server, { query }, accept);
  expect([refused.status, refused.headers['content-type']]).toEqual([200, 'text/event-stream']);
  expect(refused.text).toMatch(/^event: next\ndata: {"errors":.*}\n\nevent: complete\ndata:\n\n$/);
  expect((await post(server, '{', accept)).status).toBe(400);
  expect((await post(server, { query }, { ...accept, authorization: 'Bearer bad' })).status).toBe(401);
});
