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

/** Nine times, which nine aliases do for an attacker. `n` makes each document a new one. */
const nine = (n: number, field: string) => Array.from({ length: 9 }, (_, i) => `a${i}x${n}: ${field}`).join(' ');
/** Documents with a name that exists, and with one that does not. */
const PAIRS: Readonly<Record<string, readonly [(n: number) => string, (n: number) => string]>> = {
  'a query': [(n) => `{ ${nine(n, 'projects { x }')} }`, (n) => `{ ${nine(n, 'projectz { x }')} }`],
  'a mutation': [
    (n) => `mutation { ${nine(n, 'createUser { x }')} }`,
    (n) => `mutation { ${nine(n, 'createUzer { x }')} }`,
  ],
  'a field': [(n) => `{ viewer { ${nine(n, 'user { x }')} } }`, (n) => `{ viewer { ${nine(n, 'uzer { x }')} } }`],
};
const ROUNDS = 150;
/** Processor time of this thread, which other load of the machine hardly changes. */
const processorMs = () => Number(readFileSync('/proc/thread-self/schedstat', 'latin1').split(' ')[0]) / 1e6;

/** Probability that the first of two kinds of work takes longer, by ranks. */
function slower(first: readonly number[], second: readonly number[]): number {
  const wins = first.flatMap((one) => second.map((other): number => (one === other ? 0.5 : Number(one > other))));
  return wins.reduce((sum, win) => sum + win, 0) / wins.length;
}

test('callers without credentials learn no names of the schema from the time of errors', async () => {
  const service = await startTestService({ env: { RATE_REQUESTS: 'off', QUERY_PREPARATION_MS: '1000000' } });
  let number = 0;
  const measured = async (send: (query: string) => Promise<unknown>, kinds: (typeof PAIRS)[string]) => {
    const times = [[], []] as readonly [number[], number[]];
    for (let round = 0; round < ROUNDS; round += 1)
      // In turns, so that other load of the machine changes both kinds alike.
      for (const kind of round % 2 === 0 ? ([0, 1] as const) : ([1, 0] as const)) {
        number += 1;
        const document = kinds[kind](1_000_000 + number);
        const start = processorMs();
        await send(document);
        times[kind].push(processorMs() - start);
      }
    return slower(...times);
  };
  const check = async (transport: string, send: (query: string) => Promise<unknown>) => {
    for (const [name, kinds] of Object.entries(PAIRS)) {
      let probability = await measured(send, kinds);
      // A difference repeats, noise does not.
      if (!isEqual(probability)) probability = await measured(send, kinds);
      expect([transport, name, probability]).toEqual([transport, name, expect.toSatisfy(isEqual)]);
    }
  };
  await check('HTTP', (query) => service.graphql(query, {}, null));
  // The service closes a socket that had no operation for 30 s.
  const socket = new WebSocket(`${service.url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws');
  onTestFinished(() => socket.terminate());
  const received = () => new Promise<unknown>((resolve) => socket.once('message', resolve));
  await new Promise((resolve) => socket.once('open', resolve));
  socket.send('{"type":"connection_init"}');
  await received();
  await check('WebSocket', (query) => {
    socket.send(JSON.stringify({ id: `${number}`, type: 'subscribe', payload: { query } }));
    return received();
  });
});

const isEqual = (probability: number): boolean => probability > 0.4 && probability < 0.6;
