import { expect, test } from 'vitest';
import { startTestService } from '../../support/service.ts';

const QUERY = 'query ($n: Int) { projects(first: $n) { nodes { id name } } }';

test('a response states the cost of its operation if the request asks for it', async () => {
  const service = await startTestService();
  const ask = async (first: number, extensions?: object) => {
    const response = await fetch(`${service.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${service.root}` },
      body: JSON.stringify({ query: QUERY, variables: { n: first }, extensions }),
    });
    return response.json();
  };
  const plain = await ask(10);
  expect(plain.extensions).toBeUndefined();
  const small = await ask(10, { cost: true });
  expect(small.data).toEqual(plain.data);
  const { actual, limit } = small.extensions.cost;
  expect(limit).toBe(50_000);
  expect((await ask(20, { cost: true })).extensions.cost.actual).toBeGreaterThan(actual);
  const refused = await ask(20_000, { cost: true });
  expect(refused.errors[0].extensions.code).toMatch(/INVALID|TOO_COMPLEX/);

  const search = new URLSearchParams({ query: '{ projects(first: 1) { nodes { id } } }', extensions: '{"cost":true}' });
  const response = await fetch(`${service.url}/graphql?${search}`, {
    headers: { authorization: `Bearer ${service.root}`, accept: 'application/json' },
  });
  expect((await response.json()).extensions).toMatchObject({ cost: { limit: 50_000 } });
});
