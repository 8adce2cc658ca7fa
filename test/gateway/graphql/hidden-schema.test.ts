import { readFileSync } from 'node:fs';
import { buildSchema, isInputObjectType, type OperationTypeNode } from 'graphql';
import { createClient } from 'graphql-ws';
import { expect, onTestFinished, test } from 'vitest';
import WebSocket from 'ws';
import { startTestService } from '../../support/service.ts';

const HIDDEN = [{ message: 'The operation is not valid: sign in to see why', extensions: { code: 'INVALID' } }];
const schema = buildSchema(readFileSync(new URL('../../../schema.graphql', import.meta.url), 'utf8'));
const namesOf = (kind: 'query' | 'mutation') =>
  Object.keys(schema.getRootType(kind as OperationTypeNode)?.getFields() ?? {});

/** Documents that guess names, whose errors would name others. */
function guesses(): string[] {
  const near = (name: string) => `${name.slice(0, -1)}x`;
  const inputs = Object.values(schema.getTypeMap()).filter(isInputObjectType);
  return [
    `mutation { ${namesOf('mutation').slice(0, 10).map(near).join(' ')} }`,
    `{ ${namesOf('query').slice(0, 10).map(near).join(' ')} }`,
    `subscription { ${near('brokerStatus')} }`,
    '{ viewer { user { emai } } }',
    'mutation { createUser(input: {}) { x } }',
    'mutation { login(input: { emai: "a" }) { token } }',
    'query ($a: CreateBroker) { __typename }',
    ...inputs.slice(0, 5).map(({ name }) => `query ($a: ${near(name)}!) { __typename }`),
    // The variables of fields that require credentials.
    'mutation ($a: AddBrokerInput!) { addBroker(input: $a) { broker { id } } }',
  ];
}

test('callers without credentials learn no names of the schema from errors, by any transport', async () => {
  const service = await startTestService();
  const variables = { a: { nam: 1 } };
  const person = await service.person('VIEWER');
  const client = createClient({
    url: `${service.url.replace('http', 'ws')}/graphql`,
    webSocketImpl: WebSocket,
    retryAttempts: 0,
  });
  onTestFinished(() => client.dispose());
  const overWebSocket = (query: string) =>
    new Promise((resolve) => {
      client.subscribe({ query, variables }, { next: resolve, error: resolve, complete: () => undefined });
    });
  for (const query of guesses()) {
    for (const _ of ['first', 'cached']) {
      expect((await service.graphql(query, variables, null)).errors).toMatchObject(HIDDEN);
      const search = new URLSearchParams({ query, variables: JSON.stringify(variables) });
      const byGet = await (await fetch(`${service.url}/graphql?${search}`)).json();
      if (query.startsWith('mutation ($a')) expect(JSON.stringify(byGet)).not.toContain('projectId');
      else expect(byGet.errors).toMatchObject(HIDDEN);
      expect(await overWebSocket(query)).toMatchObject(HIDDEN);
    }
    // The same documents are cached, and callers with credentials see the errors.
    const { errors } = await service.graphql(query, variables, person.token);
    expect(errors?.length).toBeGreaterThan(0);
    expect(errors).not.toMatchObject(HIDDEN);
  }
});

test('what callers without credentials may use is explained to them', async () => {
  const { graphql } = await startTestService();
  const login = 'mutation ($input: LoginInput!) { login(input: $input) { token } }';
  const { errors } = await graphql(login, { input: { emai: 'a' } }, null);
  expect(JSON.stringify(errors)).toContain('emai');
  expect((await graphql('{ viewer { isRootAdmin }', {}, null)).errors?.[0]?.message).toContain('Syntax Error');
});
