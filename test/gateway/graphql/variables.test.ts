import fc from 'fast-check';
import {
  buildSchema,
  GraphQLError,
  getVariableValues,
  Kind,
  type OperationDefinitionNode,
  parse,
  type VariableDefinitionNode,
} from 'graphql';
import { describe, expect, test } from 'vitest';
import { callOperatorSocket } from '../../../src/app/operator/operator-socket.ts';
import { VariableReader } from '../../../src/gateway/graphql/variables.ts';
import { busyMs } from '../../support/busy-time.ts';
import { startTestService, type TestService } from '../../support/service.ts';
import { shared } from '../../support/shared.ts';
import { isLong, runs } from '../../support/suite.ts';
import { type Operation, TRANSPORTS } from './transports.ts';

const LOGIN = 'mutation ($i: LoginInput!) { login(input: $i) { token } }';
const SECRET = 'hunter2-and-more';
/** Unknown keys, with a secret in the values. */
const unknownKeys = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, key) => [key.toString(36), key === 7 ? SECRET : 1]));
/** As many as the bound on shapes allows, and far longer than a refusal may be. */
const many = unknownKeys(15_000);
/** Milliseconds of processor time. A refusal takes 0.2 to 1.5 s, and the service may load code of a transport. */
const MAX_BUSY_MS = 5_000;

/** The error of a refused request; checks the common properties of all refusals. */
async function refusal(service: TestService, send: () => Promise<unknown>): Promise<string> {
  const before = busyMs();
  const [answer, health] = await Promise.all([send(), fetch(`${service.url}/healthz`)]);
  expect(busyMs() - before).toBeLessThan(MAX_BUSY_MS);
  expect(health.status).toBe(200);
  const text = JSON.stringify(answer);
  expect(text).not.toContain(SECRET);
  expect(text.length).toBeLessThan(20_000);
  return text;
}

const post = (service: TestService, body: unknown, headers: Record<string, string> = {}) =>
  fetch(`${service.url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${service.root}`, ...headers },
    body: JSON.stringify(body),
  });

const overWebSocket = (service: TestService, operation: Operation) =>
  TRANSPORTS.WebSocket(`${service.url}/graphql`, operation, service.root);

const world = shared(() => startTestService());

test('an object with 15,000 unknown keys is refused quickly on every transport', async () => {
  const service = await world();
  const payload = { query: LOGIN, variables: { i: many } };

  const overPost = await refusal(service, async () => (await post(service, payload)).json());
  expect(JSON.parse(overPost).errors).toHaveLength(5);
  expect(overPost).toContain('"code":"INVALID","info":{"issues":[{"path":"i","reason":"Field \\"0\\" is not defined');
  expect(
    await refusal(service, async () => (await post(service, payload, { accept: 'text/event-stream' })).text()),
  ).toContain('INVALID');
  expect(await refusal(service, () => overWebSocket(service, payload))).toContain('INVALID');
  expect(await refusal(service, () => callOperatorSocket(service.config.dataDir, LOGIN, { i: many }))).toContain(
    'is not defined by type',
  );
  expect(
    await refusal(
      service,
      async () => (await service.rest('POST', `/api/projects/${service.projectId}/brokers`, service.root, many)).body,
    ),
  ).toContain('INVALID');
  const anonymous = await refusal(service, () => service.graphql(LOGIN, { i: many }, null));
  expect(anonymous).toMatch(/INVALID|TOO_LARGE/);
});

test('an object with more keys is refused before it is parsed', async () => {
  const service = await world();
  const text = JSON.stringify({ query: LOGIN, variables: { i: unknownKeys(115_000) } });
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${service.root}` };
  for (const path of ['/graphql', `/api/projects/${service.projectId}/brokers`]) {
    const answer = await refusal(service, async () =>
      (await fetch(`${service.url}${path}`, { method: 'POST', headers, body: text })).json(),
    );
    expect(answer).toContain('TOO_LARGE');
  }
});

test('a subscription with such an object is refused like a query', async () => {
  const service = await world();
  const query = 'subscription ($id: ID!) { connectedClients(brokerId: $id) { __typename } }';
  for (const id of [many, [many], Array(30_000).fill(1)]) {
    const text = await refusal(service, () => overWebSocket(service, { query, variables: { id } }));
    expect(text).toContain('"reason":"ID cannot represent value"');
  }
});

test('values of the wrong kind, long names and long texts are refused without being repeated', async () => {
  const service = await world();
  const long = SECRET.repeat(5_000);
  const inputs = [
    { email: many, password: many },
    { email: [SECRET], password: 5 },
    { [`${'x'.repeat(50_000)}`]: 1 },
    long,
    [{ a: long }],
  ];
  for (const i of inputs) {
    const text = await refusal(service, async () => (await post(service, { query: LOGIN, variables: { i } })).json());
    expect(text).toContain('"code":"INVALID"');
  }
  const role =
    'mutation ($r: ProjectRole!) { setProjectMember(input: { projectId: "p", email: "e", role: $r }) { member { role } } }';
  for (const r of [SECRET, long, [SECRET], { a: SECRET }, many]) {
    const text = await refusal(service, async () => (await post(service, { query: role, variables: { r } })).json());
    expect(text).toContain('"path":"r"');
  }
});

test('half of a surrogate pair is refused in variables, values of JSON and literals', async () => {
  const service = await world();
  const reason = 'must not contain half of a surrogate pair (U+D800 to U+DFFF)';
  const answer = async (query: string, variables: object) => (await post(service, { query, variables })).json();
  const create = 'mutation ($i: CreateProjectInput!) { createProject(input: $i) { project { name } } }';
  for (const name of ['a\ud800', '\udc00\ud83d']) {
    expect(await answer(create, { i: { name } })).toMatchObject({
      errors: [{ extensions: { code: 'INVALID', info: { issues: [{ path: 'i.name', reason }] } } }],
    });
    const literal = `mutation { createProject(input: { name: "${name}" }) { project { name } } }`;
    expect(await answer(literal, {})).toMatchObject({ errors: [{ extensions: { code: 'INVALID' } }] });
  }
  const definitions = parse('query ($json: JSON) { f }').definitions as OperationDefinitionNode[];
  const schema = buildSchema('scalar JSON type Query { f: Int }');
  const reader = new VariableReader(schema, definitions[0]?.variableDefinitions);
  for (const json of [[{ a: ['\ud800'] }], { '\udfff': 1 }]) {
    expect(reader.read({ json })).toMatchObject([{ message: `json: JSON ${reason}` }]);
  }
  expect(reader.read({ json: ['\ud83d\ude00'] })).toEqual({ json: ['\ud83d\ude00'] });
  expect(await answer(create, { i: { name: 'smile \ud83d\ude00' } })).toMatchObject({
    data: { createProject: { project: { name: 'smile \ud83d\ude00' } } },
  });
});

describe('entries of lists and objects', () => {
  const PREVIEW = 'query ($q: JSON!, $s: [JSON!]!) { previewStream(query: $q, samples: $s) { results { outcome } } }';
  const preview = async (service: TestService, sample: unknown) =>
    (await post(service, { query: PREVIEW, variables: { q: {}, s: [sample] } })).json();

  test('are allowed up to the limit', async () => {
    const service = await world();
    const answer = (await preview(service, Array(199_990).fill(1))) as { data: unknown };
    expect(answer.data).toEqual({ previewStream: { results: [{ outcome: 'PASS' }] } });
  });

  test('beyond the limit are refused as TOO_LARGE', async () => {
    const service = await world();
    const text = await refusal(service, () => preview(service, Array(200_001).fill(1)));
    expect(JSON.parse(text).errors).toMatchObject([{ extensions: { code: 'TOO_LARGE', info: { limit: 200_000 } } }]);
  });
});

describe('the coerced values', () => {
  const schema = buildSchema(`
    enum State { ON OFF }
    input One @oneOf { a: Int b: String }
    input Inner { id: ID! more: [Inner!] state: State = ON one: One }
    scalar Any
    type Query {
      f(i: Int, f: Float, s: String!, b: [Boolean], l: [[Int!]], inner: Inner, state: State, any: Any, ids: [ID!]): Int
    }
  `);
  const [operation] = parse(`query (
    $i: Int = 3, $f: Float, $s: String!, $b: [Boolean], $l: [[Int!]], $inner: Inner = { id: "d" }, $state: State, $any: Any, $ids: [ID!]
  ) { f(i: $i, f: $f, s: $s, b: $b, l: $l, inner: $inner, state: $state, any: $any, ids: $ids) }`).definitions;
  const definitions = (operation as OperationDefinitionNode).variableDefinitions as readonly VariableDefinitionNode[];
  const reader = new VariableReader(schema, definitions);

  const leaf = fc.oneof(
    fc.constantFrom<unknown>(null, null, 1, 1.5, 2 ** 40, 'x', 'ON', 'OFF', true, '', [], {}),
    fc.jsonValue({ maxDepth: 2 }),
  );
  /** Mostly valid values, so that whole objects are often accepted. */
  const mostly = (fitting: fc.Arbitrary<unknown>) =>
    fc.oneof({ weight: 19, arbitrary: fitting }, { weight: 1, arbitrary: leaf });
  const { inner } = fc.letrec((tie) => ({
    inner: fc.record(
      {
        id: mostly(fc.constantFrom('a', 7)),
        more: mostly(
          fc.oneof({ maxDepth: 2 }, fc.constant(null), fc.array(tie('inner'), { maxLength: 2 }), tie('inner')),
        ),
        state: mostly(fc.constantFrom('ON', 'OFF')),
        one: mostly(fc.oneof(fc.record({ a: fc.integer({ max: 9 }) }), fc.record({ b: fc.string() }))),
      },
      { requiredKeys: ['id'] },
    ),
  }));
  const sent = fc.oneof(
    {
      weight: 9,
      arbitrary: fc.record(
        {
          i: mostly(fc.nat()),
          f: mostly(fc.double({ noNaN: true, noDefaultInfinity: true })),
          s: mostly(fc.string()),
          b: mostly(fc.oneof(fc.boolean(), fc.array(fc.boolean()))),
          l: mostly(fc.oneof(fc.nat(), fc.array(fc.array(fc.nat(9))))),
          inner: mostly(inner),
          state: mostly(fc.constantFrom('ON', 'OFF')),
          any: fc.string(),
          ids: mostly(fc.array(fc.constantFrom('a', 5))),
          undeclared: leaf,
        },
        { requiredKeys: ['s'] },
      ),
    },
    { weight: 1, arbitrary: fc.dictionary(fc.constantFrom('i', 's', 'inner', '__proto__', 'constructor'), leaf) },
  );

  const RUNS = isLong ? 3_000 : runs(500);
  test('are those of graphql-js for any variables, and so are the refusals', () => {
    let accepted = 0;
    fc.assert(
      fc.property(sent, (variables) => {
        const expected = getVariableValues(schema, definitions, variables);
        const actual = reader.read(variables);
        if (Array.isArray(actual)) {
          expect(expected.errors?.length).toBeGreaterThanOrEqual(Math.min(actual.length, 1));
          expect(actual.every((error) => error instanceof GraphQLError)).toBe(true);
        } else {
          accepted += 1;
          expect(expected.errors).toBeUndefined();
          expect(actual).toEqual(expected.coerced);
          expect(Object.keys(actual)).toEqual(Object.keys(expected.coerced ?? {}));
        }
      }),
      { numRuns: RUNS },
    );
    expect(accepted).toBeGreaterThan(RUNS / 30);
  });

  test('have a bounded depth', () => {
    const nested = (levels: number): object => (levels === 0 ? { id: 'x' } : { id: 'x', more: nested(levels - 1) });
    expect(reader.read({ s: '', inner: nested(99) })).not.toBeInstanceOf(Array);
    expect(reader.read({ s: '', inner: nested(100) })).toMatchObject([
      { message: expect.stringContaining('100 levels') },
    ]);
    expect(reader.read({ s: '', inner: nested(3_000) })).toBeInstanceOf(Array);
    expect(operation?.kind).toBe(Kind.OPERATION_DEFINITION);
  });
});
