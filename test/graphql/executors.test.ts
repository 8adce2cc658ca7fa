import fc from 'fast-check';
import { type ExecutionResult, getIntrospectionQuery } from 'graphql';
import { expect, test } from 'vitest';
import type { RequestContext } from '../../src/context.ts';
import { compileOperation, Operation, Operations } from '../../src/graphql/operations.ts';
import { type PublicResult, publicResult } from '../../src/graphql/public-error.ts';
import { createGraph } from './graph.ts';

const limits = {
  tokens: 5_000,
  depth: 40,
  aliases: 1_000,
  rootFields: 1_000,
  directives: 1_000,
  cost: 1e9,
};
const schema = createGraph();
const compiling = new Operations({ schema, limits, introspection: 'always' });
const interpreting = new Operations({
  schema,
  limits,
  introspection: 'always',
  executor: 'js',
});
const log = { error: () => {} };

const context = () => ({ viewer: null, requestId: 'r', address: '' }) as unknown as RequestContext;

async function run(operations: Operations, text: string, variables: object): Promise<PublicResult> {
  const operation = operations.find(text);
  const result: ExecutionResult =
    operation instanceof Operation ? await operation.execute(context(), { ...variables }) : { errors: operation };
  return JSON.parse(JSON.stringify(publicResult(result, { requestId: 'r', log })));
}

/** As the short road does it: the text of the data, where there is one, and otherwise the data. */
async function runToText(text: string, variables: object): Promise<PublicResult & { readonly dataText?: string }> {
  const operation = compiling.find(text);
  if (!(operation instanceof Operation)) return run(compiling, text, variables);
  const { dataText, ...result } = await operation.executeToText(context(), { ...variables });
  const { data, errors } = publicResult(result, { requestId: 'r', log });
  const shown = JSON.parse(JSON.stringify(errors ? { errors } : {}));
  if (dataText !== undefined) return { ...shown, data: JSON.parse(dataText), dataText };
  return { ...shown, ...(data !== undefined && { data: JSON.parse(JSON.stringify(data)) }) };
}

/**
 * Where several failing fields take one parent away, the executors name different ones (graphql-js itself names the first
 * in time): of such an error only the place of the null counts.
 */
function comparable({ data, errors }: PublicResult): object {
  const places = errors?.map((error) => {
    let value: unknown = data;
    const at = error.path?.findIndex((key) => {
      if (value === null) return true;
      value = Reflect.get(value as object, key);
      return false;
    });
    return at === undefined || at < 0 ? error : { nullAt: error.path?.slice(0, at) };
  });
  return { data, places };
}

/** Runs a document three times by each executor: the second and third time it is compiled. */
async function both(text: string, variables: object = {}): Promise<PublicResult> {
  const expected = await run(interpreting, text, variables);
  for (let i = 0; i < 3; i++) {
    expect(comparable(await run(compiling, text, variables)), text).toEqual(comparable(expected));
    const { dataText, ...written } = await runToText(text, variables);
    expect(comparable(written), text).toEqual(comparable(expected));
    // To the byte, keys in the same order.
    if (dataText !== undefined && !written.errors) expect(dataText, text).toBe(JSON.stringify(expected.data));
  }
  return expected;
}

const DOCUMENTS: readonly (readonly [text: string, variables?: object])[] = [
  ['{ hello }'],
  ['{ hello(name: null) a: hello(name: "x\\"y__MAGIC_DATE__") }'],
  ['query ($n: String) { hello(name: $n) }'],
  ['query ($n: String) { hello(name: $n) }', { n: null }],
  ['query ($n: String = "d") { hello(name: $n) }'],
  ['query ($n: String!) { hello(name: $n) }'],
  ['query ($n: String!) { hello(name: $n) }', { n: 3 }],
  ['query ($n: Int) { brokers(first: $n) { id } }', { n: null }],
  ['query ($n: Int) { brokers(first: $n) { id } }', { n: 2 }],
  ['query ($n: Int) { brokers(first: $n) { id } }'],
  ['query ($n: Int!) { brokers(first: $n) { id } }', { n: 1e30 }],
  ['{ brokers { __typename id name createdAt tags state url later } }'],
  ['{ brokers { id ...F } } fragment F on CloudBroker { ownCloudBroker name: id }'],
  [
    '{ brokers { ... on SelfHostedBroker { x: ownSelfHostedBroker } ... on Broker { x2: name } parent { parent { id __typename } } } }',
  ],
  [
    'query ($a: Boolean!, $b: Boolean!) { brokers { id @skip(if: $a) ...F @include(if: $b) ...F } } fragment F on Broker { name later @skip(if: $b) }',
    { a: true, b: false },
  ],
  [
    'query ($a: Boolean!, $b: Boolean!) { brokers { id @skip(if: $a) ...F @include(if: $b) } } fragment F on Broker { name later @skip(if: $b) }',
    { a: false, b: true },
  ],
  ['query ($a: Boolean!) { hello @include(if: $a) broker(id: "brk_1") @skip(if: $a) { id } }', { a: false }],
  [
    'query ($a: Boolean!) { broker(id: "brk_1") { id @skip(if: $a) } broker(id: "brk_1") @include(if: $a) { name } }',
    { a: true },
  ],
  ['query ($a: Boolean!) { hello @skip(if: $a) @include(if: $a) }', { a: true }],
  ['{ hello @skip(if: true) }'],
  ['{ brokers { strictUrl } }'],
  ['{ broker(id: "brk_1") { strictUrl later } hello }'],
  ['{ broker(id: "brk_0") { parent { id } brokers { strictUrl } } }'],
  ...['SERVICE', 'BUG', 'STRING', 'GRAPHQL', 'NULL'].flatMap((kind) =>
    ['NOW', 'LATER'].flatMap((when): (readonly [string])[] => [
      [`{ hello brokers { id fault(kind: ${kind}, when: ${when}) } }`],
      [`{ hello broker(id: "brk_2") { id strictFault(kind: ${kind}, when: ${when}) } }`],
      [`{ brokers(first: 2) { id strictFault(kind: ${kind}, when: ${when}) } }`],
    ]),
  ),
  ['{ laterBrokers { id } }'],
  ['{ laterBrokers(bad: 3) { id strictUrl } }'],
  ['{ laterBrokers(bad: 0) { id parent { strictUrl } } }'],
  ['{ untyped { id } hello }'],
  ['{ generated hello }'],
  ['{ wide { int json } }'],
  ['{ wide { strictInt } hello }'],
  [
    '{ echo(filter: { tag: "a", states: ACTIVE, more: { tag: "b" }, since: "2026-01-01T00:00:00Z" }, json: { a: [1, 2.5, null, true, {b: ENUM}] }, ids: [1, "x"]) }',
  ],
  ['query ($t: String!, $f: Filter) { echo(filter: { tag: $t, name: $t, more: $f }) }', { t: 'x' }],
  [
    'query ($t: String!, $f: Filter) { echo(filter: { tag: $t, name: $t, more: $f }) }',
    { t: 'x', f: { tag: 'y', states: ['ACTIVE'] } },
  ],
  ['query ($t: String) { echo(filter: { tag: "x", name: $t }, json: { inside: $t }) }'],
  ['query ($t: String) { hello echo(filter: { tag: "x", name: $t }, json: { inside: $t }) }', { t: null }],
  ['query ($f: Filter!) { echo(filter: $f) }', { f: { tag: 'y', since: '2026-01-01T00:00:00Z', states: 'INACTIVE' } }],
  ['query ($f: Filter!) { echo(filter: $f) }', { f: { since: 'never', states: ['NO'], other: 1 } }],
  ['query ($f: Filter!) { echo(filter: $f) }', { f: JSON.parse('{"tag":"a","__proto__":{"x":1}}') }],
  [
    'query ($j: JSON, $d: DateTime) { echo(json: $j, since: $d) }',
    { j: { deep: [{ x: null }] }, d: '2026-02-03T04:05:06Z' },
  ],
  ['query ($i: [ID!]) { echo(ids: $i) }', { i: 'one' }],
  ['query ($i: [ID!]) { echo(ids: $i) }', { i: ['one', null] }],
  ['mutation { a: add b: add(n: 5) c: add(fault: BUG) d: add }'],
  ['mutation ($n: Int) { a: add b: add(n: $n) c: add }', { n: null }],
  ['mutation ($n: Int) { a: add b: add(n: $n) c: add }'],
  ['{ __proto__: hello constructor: hello toString: hello }'],
  ['{ a_b: broker(id: "brk_1") { c: parent { id } } b: broker(id: "brk_2") { c_a: parent { id } } }'],
  ['{ z_x: broker(id: "brk_1") { y: parent { id } } x: broker(id: "brk_2") { y_z: parent { id } } }'],
  ['query ($__proto__: String) { hello(name: $__proto__) }', JSON.parse('{"__proto__":"p"}')],
  ['query ($literal__0: String) { hello(name: $literal__0) b: hello(name: "b") }', { literal__0: 'x' }],
  ['{ __schema { queryType { name } } __type(name: "Broker") { name fields { name } } }'],
  [getIntrospectionQuery()],
  ['{ nothing }'],
  ['{ hello '],
];

/** On a busy machine, in milliseconds: what takes long is the processor's work. */
const PATIENCE = 240_000;

test('both executors give one answer to every document of the list', { timeout: PATIENCE }, async () => {
  for (const [text, variables] of DOCUMENTS) await both(text, variables);
});

test('a string that looks like the compiler’s own marks stays a string', async () => {
  const mark = '__MAGIC_DATE__33a9e76d_02e0_4128_8e92_3530ad3da74d0), x: process.exit(1), y: (0';
  const { data } = await both(`{ hello(name: ${JSON.stringify(mark)}) echo(json: { a: ${JSON.stringify(mark)} }) }`);
  expect(data).toEqual({ hello: `hello ${mark}`, echo: { json: { a: mark } } });
});

// A key always names the same field with the same arguments, so that most documents are valid.
const condition = fc.constantFrom('', '', '', ' @skip(if: $p)', ' @include(if: $q)', ' @include(if: true)');
const leaf = fc.constantFrom(
  'id',
  'id_id: id',
  'name',
  'createdAt',
  'tags',
  'state',
  'url',
  'later',
  'strictUrl',
  '__typename',
  'fault(kind: $k)',
  'f1: fault(kind: BUG, when: LATER)',
  'f2: strictFault(kind: SERVICE, when: LATER)',
  'f3: strictFault(kind: NULL)',
);
const branch = fc.constantFrom(
  'parent',
  'a: parent',
  'a_b: parent',
  'b: parent',
  'brokers(first: 2)',
  'b_n: brokers(first: $n)',
);
const { selection } = fc.letrec<{ selection: string; set: string }>((tie) => ({
  set: fc.array(tie('selection'), { minLength: 1, maxLength: 4 }).map((parts) => `{ ${parts.join(' ')} }`),
  selection: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.tuple(leaf, condition).map((parts) => parts.join('')),
    fc.tuple(branch, condition, tie('set')).map((parts) => parts.join('')),
    fc
      .tuple(fc.constantFrom('... on Broker', '... on CloudBroker', '...'), condition, tie('set'))
      .map((parts) => parts.join('')),
    fc.tuple(fc.constantFrom('...F', '...G'), condition).map((parts) => parts.join('')),
  ),
}));
const document = fc
  .tuple(fc.array(selection, { minLength: 1, maxLength: 4 }), fc.array(selection, { minLength: 1, maxLength: 3 }))
  .map(
    ([root, fragment]) => `query ($p: Boolean!, $q: Boolean! = true, $n: Int, $k: Fault = SERVICE) {
      brokers(first: 3) { ${root.join(' ')} }
      broker(id: "brk_3") { ${root.join(' ')} }
      used: brokers(first: $n) { ...F fault(kind: $k) @skip(if: $p) name @include(if: $q) }
    }
    fragment F on Broker { ...G ${fragment.join(' ').replaceAll(/\.\.\.[FG]/g, '...G')} }
    fragment G on Broker { gid: id gl: later strictUrl @skip(if: $p) }`,
  );

test('both executors give one answer to generated documents', {
  timeout: PATIENCE,
}, async () => {
  let valid = 0;
  await fc.assert(
    fc.asyncProperty(document, fc.boolean(), fc.boolean(), fc.constantFrom(null, 1, 2), async (text, p, q, n) => {
      const answer = await both(text, { p, q, ...(n !== null && { n }) });
      if (answer.data !== undefined) valid += 1;
    }),
    { numRuns: 150 },
  );
  expect(valid).toBeGreaterThan(75);
});

test('an operation compiled at the start takes its own spelling of enums and dates', async () => {
  const operation = compileOperation(schema, 'query ($id: ID!) { broker(id: $id) { state created_at: createdAt } }', {
    serializers: {
      State: (value) => `is ${value}`,
      DateTime: (value) => (value as Date).getTime(),
    },
  });
  expect(await operation.execute(context(), { id: 'brk_1' })).toEqual({
    data: { broker: { state: 'is inactive', created_at: 1_700_000_001_000 } },
  });
  expect((await operation.execute(context(), {})).errors?.[0]?.message).toContain('$id');
});

test('an operation that does not fit the schema is refused when it is compiled', () => {
  expect(() => compileOperation(schema, '{ nothing }')).toThrow('nothing');
  expect(() => compileOperation(schema, '{ hello')).toThrow('Syntax');
  expect(() => compileOperation(schema, 'subscription { ticks { n } }')).toThrow('query or mutation');
});
